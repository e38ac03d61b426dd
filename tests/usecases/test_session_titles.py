"""What a session is called in lists, and in what is resumed."""

from holdfast.usecases.session_titles import TITLE_CHARS, find_title


async def test_a_long_request_is_a_title_that_ends_behind_a_word(sessions):
    session = await sessions.create_session("claude", "u1")
    request = "Read the base rate from a file, " * 6 + "never hard-code it in Python"
    await sessions.append_event(session.id, "user_message", "user", request)

    title = await find_title(sessions, session)

    assert title.endswith("…")
    assert len(title) <= TITLE_CHARS
    assert request.startswith(title.removesuffix("…") + " ")
