"""The stories, in the order of the page."""

from bench.quiz.stories import backup_tool, field_sync, log_shipper, search_index, seat_booking

STORIES = (
    search_index.STORY,
    backup_tool.STORY,
    field_sync.STORY,
    seat_booking.STORY,
    log_shipper.STORY,
)
