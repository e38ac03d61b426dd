"""The stories, in the order of the page."""

from bench.quiz.stories import search_index

STORIES = (search_index.STORY,)
