"""The stories, in the order of the page."""

from bench.quiz.stories import backup_tool, field_sync, search_index

STORIES = (search_index.STORY, backup_tool.STORY, field_sync.STORY)
