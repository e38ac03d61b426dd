"""`holdfast hook CLIENT EVENT`: what a client calls while a person waits.

It appends one event, or spools it when the store is busy or down; at the end of a turn, and before
a prompt, it reads what is new in the client's transcript; and where the client takes it, it prints
the document to continue from or a notice, and nothing else. It never fails, never waits long, and
says on stderr only that an event has no data folder or could not be kept anywhere. So it imports
little, reads no more than there is, and suppresses every error after having counted it.
"""

from __future__ import annotations

import os
import select
import sys
import time

from holdfast.clients import find_client
from holdfast.clients.contract import (
    CALL,
    CHECK_ID,
    COMPACTED,
    CONTENT_BYTES,
    END,
    PROMPT,
    RESUMED,
    SESSION_ENDED,
    SESSION_RESUMED,
    START,
    SUBAGENT_END,
    TURN_END,
    HookMoment,
    cut_to_fit,
    make_change,
    make_storable,
    parse_change,
    parse_origin,
)
from holdfast.errors import HoldfastError, InvalidValueError, Unavailable
from holdfast.ground import light_json as json
from holdfast.ground.settings import Settings, is_sqlite, load_known_settings
from holdfast.storage.enrolment import Enrolment
from holdfast.storage.errors import EventDroppedError
from holdfast.usecases import capture

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from holdfast.app import App
    from holdfast.clients.contract import Client, HookEvent, HookOrigin
    from holdfast.ground.settings import LoadedSettings
    from holdfast.notices.model import NoticeIndex
    from holdfast.notices.store import IndexFile

    Handed = tuple[str, str, str]  # a document to continue from, a notice, an offer

PAYLOAD_BYTES = 16 << 20
SILENCE_SECONDS = 2.0
READ_SECONDS = 4.0  # however slowly it drips
WAIT_SECONDS = 1.0  # for the store; what takes longer is spooled
READ_TRANSCRIPTS_SECONDS = 4.0  # on a server; what is left is read with the next hook
TEXT_SECONDS = 8.0  # for the document to continue from; clients wait for ten
GIT_SECONDS = 4.0  # of which, for git
INDEX_SECONDS = 1.5  # for new indexes of notices; the plugin of OpenCode waits for two
OFFER_SECONDS = 1.0
LOOK_SECONDS = 0.4  # whether the exchange is on
PAUSE_SECONDS = 6.0
BETWEEN = "\n\n"
# How a request begins that begins a conversation, as each client has it.
CONVERSATION_COMMANDS = ("/workspace.", "$workspace-", "Conversation of type ", "<!-- Written by h")
DRAIN_LIMIT = 100
READING = (START, PROMPT, TURN_END, SUBAGENT_END, END)  # moments at which transcripts are read

BROUGHT = "--project"  # the mark of a hook that stands in a repository's file
OPTIONS = ("--json", BROUGHT)  # every command takes the first

NOTHING = ("", "", "")  # what most models are handed

FOUND_AT_HOME = ("HOLDFAST_DATABASE", "HOLDFAST_DEVELOPER")  # where they are not set


class UnreadableError(InvalidValueError):
    """A payload that cannot be read; `value` is all of it."""


def main(arguments: Sequence[str]) -> int:
    """Always 0: whatever goes wrong here, the agent goes on."""
    client = None
    started_at = time.monotonic()
    given = [argument for argument in arguments if argument not in OPTIONS]
    try:
        if len(given) == 2:
            client = find_client(given[0])
        if client is None:
            raise InvalidValueError("hook", given, "is not wired to a client that is known")
        handle(client, given[1], started_at, is_brought=BROUGHT in arguments)
    except BaseException as error:  # Ctrl-C as well: it was meant for the agent
        name = client.NAME if client else None
        _log_failure(error, name)
        _report_drop(error)
    return 0


def handle(client: Client, event_name: str, started_at: float, *, is_brought: bool = False) -> None:
    """Store the event that the client writes to stdin, and answer it where an answer is taken.

    `is_brought`: a repository has wired the hook, so the person who pulled it has not said yes.
    """
    loaded = _find_settings()
    is_wanted = not is_brought or _has_agreed(loaded)
    try:
        payload = read_payload(0)
    except UnreadableError as error:
        if not is_wanted:
            return
        reject(client, event_name, error)
        raise
    if not is_wanted:
        return
    if payload is None:
        raise InvalidValueError("payload", "", "is not a JSON object")
    payload = _place(client, payload)
    handed = take_payload(client, event_name, payload, loaded)
    if any(handed):
        _answer(client.reply(event_name, *handed))
    if loaded and event_name in list_known(client):
        home = loaded[0].home
        seconds = time.monotonic() - started_at
        _leave_mark(home, client, event_name, payload, seconds, sum(map(len, handed)))


def _place(client: Client, payload: dict[str, Any]) -> dict[str, Any]:
    """A session stays where it began, wherever its agent has changed to since."""
    project = os.environ.get(client.PROJECT_VARIABLE or "", "")
    if not os.path.isabs(project) or not isinstance(payload.get("cwd"), str):
        return payload
    return {**payload, "cwd": project}


def take_payload(
    client: Client, event_name: str, payload: dict[str, Any], loaded: LoadedSettings | None = None
) -> Handed:
    """Say which session the client is in, and store what happened there, where it is kept.

    Returns what its model is handed now.
    """
    if event_name not in list_known(client):
        from holdfast.surfaces.hook_log import log_ignored

        log_ignored(client.NAME, event_name)
    origin = parse_origin(client, event_name, payload)
    if origin is None or origin.native_id == CHECK_ID:
        return NOTHING
    event = client.parse(event_name, payload) or parse_change(client, origin, event_name, payload)
    try:
        settings, wrong = loaded or load_known_settings()
    except InvalidValueError as no_home:
        if event:
            _keep_without_home(event, no_home.message)
        return NOTHING
    if not capture.is_wanted(settings, origin):
        return NOTHING
    events = _list_events(client, origin, event, None if wrong else settings)
    records = [capture.make_record(each, settings, wrong) for each in events]
    if wrong:
        _spool_until_fixed(settings, client, records, wrong)
        return NOTHING
    moment = HookMoment(client, event_name, payload, origin)
    notice = ""
    if capture.may_notice(settings.home, moment):
        notice = _make_notice(settings, moment, event)
    if _is_edit(moment) and capture.may_exchange(settings):
        from holdfast.surfaces import hook_team

        notice = hook_team.add_to_edit(settings, moment, notice)
    if records or event_name in (client.TEXT_EVENT, *_list_reading(client)):
        return _take_records(settings, moment, event, records, notice)
    return "", notice, ""


def _is_edit(moment: HookMoment) -> bool:
    is_call = moment.kind == CALL
    return is_call and moment.payload.get("tool_name") in moment.client.EDIT_TOOLS


def _make_notice(settings: Settings, moment: HookMoment, event: HookEvent | None) -> str:
    """An agent rather goes on without it than waits for it."""
    from holdfast.ground.alarm import Alarm
    from holdfast.usecases import noticing

    deadline = time.monotonic() + INDEX_SECONDS

    def make_within(make: Callable[[], NoticeIndex]) -> NoticeIndex | None:
        try:
            with Alarm(deadline - time.monotonic()):
                return make()
        except Exception as error:
            _log_failure(error, moment.client.NAME)
            return None

    def make_index(file: IndexFile, worktree: str) -> NoticeIndex | None:
        from holdfast.app import App
        from holdfast.usecases import notice_index

        def make() -> NoticeIndex:
            with App(settings, wait_seconds=WAIT_SECONDS) as app:
                return notice_index.make_index(app, file, worktree)

        return make_within(make)

    def make_stale_index(file: IndexFile, *given: Any) -> NoticeIndex | None:
        from holdfast.usecases import stale_index

        return make_within(lambda: stale_index.make_index(file, *given))

    try:
        return noticing.make_notice(settings, moment, event, make_index, make_stale_index)
    except Exception as error:
        _log_failure(error, moment.client.NAME)
        return ""


def _take_records(
    settings: Settings,
    moment: HookMoment,
    event: HookEvent | None,
    records: Sequence[dict[str, Any]],
    notice: str,
) -> Handed:
    from holdfast.app import App  # not where a hook has nothing to do

    if not is_sqlite(settings.database):
        from holdfast.surfaces.hook_log import silence

        silence()
    client, event_name = moment.client, moment.event_name
    payload, origin = moment.payload, moment.origin
    text, offer = None, ""
    with App(settings, wait_seconds=WAIT_SECONDS) as app:
        if not os.path.isdir(origin.cwd) and not _has_consent(app, origin):
            return "", notice, ""
        can_store = True
        if event_name in _list_reading(client):
            can_store = _read_transcripts(app, client, event_name, payload, origin)
        is_asked = event_name == client.TEXT_EVENT or payload.get("source") == COMPACTED
        if is_asked and os.path.isdir(origin.cwd):
            # Before a request is stored: it is about what came before it.
            text = _make_text(app, client, origin, payload)
        if can_store:
            text, notice = _add_team(app, moment, text, notice)
        if moment.kind == PROMPT and event is not None and can_store:
            can_store, offer = _offer_save(app, moment, event, notice)
        if can_store:
            _store_records(app, moment, records)
        else:  # a person has waited for the store once
            for record in records:
                app.spool.add(record)
    handed = text or "", notice, offer
    if app.left_behind:
        _leave_at_once(client, event_name, handed)
    return handed


def _store_records(app: App, moment: HookMoment, records: Sequence[dict[str, Any]]) -> None:
    if moment.kind == END:
        _pause_as_asked(app, moment)
        if app.has_server and capture.may_exchange(app.settings):
            from holdfast.surfaces import hook_team

            # As long as the session is found by its client's own id.
            hook_team.end_session(app, moment)
    for record in records:
        _store_or_spool(app, record)
        _begin_conversation(app, moment.origin, record)
    if moment.kind == TURN_END and app.is_opened:  # else there is nothing new
        _pause_as_asked(app, moment)
        if capture.may_exchange(app.settings):
            from holdfast.surfaces import hook_team

            hook_team.end_turn(app, moment)


def _add_team(
    app: App, moment: HookMoment, text: str | None, notice: str
) -> tuple[str | None, str]:
    """While the exchange is off, nothing of the team is loaded."""
    is_start = moment.kind == START and _look_for_exchange(app, moment)
    is_prompt = moment.kind == PROMPT and capture.may_exchange(app.settings)
    if not is_start and not is_prompt:
        return text, notice
    from holdfast.surfaces import hook_team

    return hook_team.add_to_start(app, moment, text, notice)


def _look_for_exchange(app: App, moment: HookMoment) -> bool:
    try:
        return app.run(capture.look_for_exchange(app), LOOK_SECONDS)
    except Exception as error:
        _log_failure(error, moment.client.NAME)
        return False


def _offer_save(app: App, moment: HookMoment, event: HookEvent, notice: str) -> tuple[bool, str]:
    """Whether the store can be asked, and what is offered: before this prompt is stored in it."""
    try:
        if not app.run(capture.may_have_conversation(app, moment.origin)):
            return True, ""
        from holdfast.notices.model import NOTICE_CHARS
        from holdfast.usecases import offering

        room = NOTICE_CHARS - (len(notice) + len(BETWEEN) if notice else 0)
        found = offering.offer_save(app, moment, event, room)
        return True, app.run(found, OFFER_SECONDS)
    except Exception as error:
        _log_failure(error, moment.client.NAME)
        return not isinstance(error, Unavailable), ""


# --- what is asked of a conversation --------------------------------------------------------------


def _pause_as_asked(app: App, moment: HookMoment) -> None:
    """An agent may have forgotten it, or answered after it; that the answer is saved, too."""
    client, is_end = moment.client, moment.kind == END
    try:
        if not app.run(capture.may_have_conversation(app, moment.origin)):
            return
        from holdfast.usecases import stopping

        asked_at = app.run(stopping.find_stop(app, moment.origin))
        if asked_at is None:
            return
        from holdfast.ground.alarm import Alarm
        from holdfast.ground.git_process import TimeLimit
        from holdfast.usecases import conversing

        pause = conversing.pause_as_asked(app, moment.origin, asked_at, is_end=is_end)
        with Alarm(PAUSE_SECONDS), TimeLimit(GIT_SECONDS):
            app.run(pause, PAUSE_SECONDS)
    except Exception as error:
        _log_failure(error, client.NAME)


def _begin_conversation(app: App, origin: HookOrigin, record: dict[str, Any]) -> None:
    """Where the person has typed a command for one; it is begun at a save otherwise."""
    event = record.get("event") or {}
    if not str(event.get("content")).startswith(CONVERSATION_COMMANDS):
        return
    from holdfast.usecases import conversing

    try:
        app.run(conversing.begin_in_client(app, origin, event["content"]), TEXT_SECONDS)
    except Exception as error:
        _log_failure(error, origin.client)


def _has_consent(app: App, origin: HookOrigin) -> bool:
    """Of a folder that is gone: hooks worked there, or somebody has wired one that works anywhere.

    While the store cannot be asked, what is told waits in the spool.
    """
    if Enrolment(app.settings.home).list_folders() is None:
        return True
    try:
        return app.run(capture.is_known(app, origin))
    except Exception as error:
        _log_failure(error, origin.client)
        return True


def _leave_at_once(client: Client, event_name: str, handed: Handed) -> None:
    """Without the interpreter's own end, which waits for every thread."""
    if any(handed):
        _answer(client.reply(event_name, *handed))
    for stream in filter(None, (sys.stdout, sys.stderr)):  # None where it is closed
        stream.flush()
    os._exit(0)


def _answer(reply: str) -> None:
    """As UTF-8, which is what clients read, whatever the environment says of encodings."""
    if sys.stdout is None:
        return  # closed
    sys.stdout.buffer.write(f"{reply}\n".encode("utf-8", "replace"))
    sys.stdout.buffer.flush()


def _list_reading(client: Client) -> list[str]:
    """The hooks with which transcripts are read."""
    return [event_name for event_name, moment in client.MOMENTS.items() if moment in READING]


def _list_events(
    client: Client, origin: HookOrigin, event: HookEvent | None, settings: Settings | None
) -> list[HookEvent]:
    """What a hook reports, after having said which session its program is in."""
    is_switched = settings is not None and capture.register_process(settings, origin)
    if event is None:
        return []
    if is_switched and client.RESUMES_SILENTLY and event.event_type != SESSION_ENDED:
        return [make_change(origin, SESSION_RESUMED), event]
    return [event]


def _spool_until_fixed(
    settings: Settings,
    client: Client,
    records: Sequence[dict[str, Any]],
    wrong: dict[str, InvalidValueError],
) -> None:
    from holdfast.app import App

    with App(settings, wait_seconds=WAIT_SECONDS) as app:
        for record in records:
            app.spool.add(record)
    for error in wrong.values():
        _log_failure(error, client.NAME)


def _read_transcripts(
    app: App, client: Client, event_name: str, payload: dict[str, Any], origin: HookOrigin
) -> bool:
    """Whether an event can be stored now, as far as it was tried.

    What cannot be read or stored now is read at the next end of a turn, or at the next start.
    """
    path = payload.get("transcript_path")
    moment = client.MOMENTS[event_name]
    if moment != START and not (isinstance(path, str) and os.path.exists(path)):
        return True
    try:
        if not _is_spool_free(app):  # what waits there came first
            return False
        is_resumed = payload.get("source") == RESUMED
        _read_at(moment, app, client, origin, str(path), is_resumed=is_resumed)
    except Exception as error:
        _log_failure(error, client.NAME)
        return not isinstance(error, Unavailable)
    return True


def _read_at(
    moment: str, app: App, client: Client, origin: HookOrigin, path: str, *, is_resumed: bool
) -> None:
    if moment == PROMPT and not app.run(capture.has_news(app, client, origin, path)):
        return
    from holdfast.usecases import catching_up  # few prompts come after something unread

    seconds = READ_TRANSCRIPTS_SECONDS
    if moment == START:
        app.run(catching_up.catch_up(app, client, origin, is_resumed=is_resumed), seconds)
        return
    if moment == PROMPT:
        seconds = WAIT_SECONDS
    turn = catching_up.capture_turn(app, client, origin, path, is_end=moment == END)
    app.run(turn, seconds)


def _make_text(app: App, client: Client, origin: HookOrigin, payload: dict[str, Any]) -> str | None:
    """An agent rather goes on without our text than waits for it; and rather with a text that has
    nothing of git than without one. None for a window that takes none now.
    """
    from holdfast.ground.alarm import Alarm
    from holdfast.ground.git_process import TimeLimit
    from holdfast.usecases import handing_over

    try:
        with Alarm(TEXT_SECONDS), TimeLimit(GIT_SECONDS):
            return app.run(handing_over.hand_over(app, client, origin, payload), TEXT_SECONDS)
    except Exception as error:
        _log_failure(error, client.NAME)
        return None


def _leave_mark(
    home: str,
    client: Client,
    event_name: str,
    payload: dict[str, Any],
    seconds: float,
    chars: int,
) -> None:
    """When it fired last, for a person who asks whether it does; not where it does nothing."""
    from holdfast.storage.hook_marks import HookMarks, measure_age

    marks = HookMarks(home)
    if payload.get("session_id") == CHECK_ID:
        marks.record_check(client.NAME, event_name)
    elif payload.get("hook_event_name") == event_name and capture.is_on_in(home, payload["cwd"]):
        marks.record(client.NAME, event_name, 1000 * measure_age(seconds), chars)


def read_payload(descriptor: int) -> dict[str, Any] | None:
    """One JSON object; some clients never close the pipe, so it ends where the object ends."""
    if os.isatty(descriptor):
        return None
    data = bytearray()
    size = 0
    deadline = time.monotonic() + READ_SECONDS
    while _has_more(descriptor, min(SILENCE_SECONDS, deadline - time.monotonic())):
        chunk = os.read(descriptor, 1 << 16)
        size += len(chunk)
        if not chunk:
            break
        if size > PAYLOAD_BYTES and time.monotonic() > deadline:
            break  # it never ends
        if size > PAYLOAD_BYTES:
            # Read on all the same: some clients do not survive a pipe that is not emptied.
            data.clear()
            continue
        data += chunk
        may_end = data[-64:].rstrip().endswith(b"}")
        if not may_end or _has_more(descriptor, 0):
            continue
        payload = _parse(data)
        if payload:
            return payload
    if size > PAYLOAD_BYTES:
        raise InvalidValueError("payload", size, f"is longer than {PAYLOAD_BYTES:,} bytes")
    return _parse(data, is_complete=True)


def reject(client: Client, event_name: str, error: UnreadableError) -> None:
    """Count a hook that cannot be read, and keep it where a person can look at it."""
    from holdfast.app import App
    from holdfast.ground.masking import Mask

    text = str(error.value)
    is_hook = '"hook_event_name"' in text and f'"{event_name}"' in text
    if event_name not in client.EVENTS or not is_hook:
        return
    payload = cut_to_fit(make_storable(text), CONTENT_BYTES)
    try:
        settings, _ = load_known_settings()
    except InvalidValueError as no_home:
        raise EventDroppedError(no_home.message) from None
    masked = Mask(settings.home).mask_text(payload)
    record = {"client": client.NAME, "hook": event_name, "payload": masked}
    with App(settings, wait_seconds=WAIT_SECONDS) as app:
        app.spool.keep(record, error)


def list_known(client: Client) -> list[str]:
    """The hooks of a client that say something here."""
    return list(dict.fromkeys([*client.EVENTS, *client.MOMENTS]))


def _store_or_spool(app: App, record: dict[str, Any]) -> None:
    """Store it, or spool it behind what is waiting already, so that the order holds."""
    database = None
    try:
        if _is_spool_free(app):
            database = app.database
    except BaseException as error:
        app.spool.add(record)  # the error is about the store or the spool, not about this record
        _raise_unless_ours(error)
        return
    if database is None:
        app.spool.add(record)
        return
    try:
        app.run(capture.store_record(database, app.settings.owner, record))
    except BaseException as error:
        app.spool.keep(record, error)
        _raise_unless_ours(error)


def _keep_without_home(event: HookEvent, reason: str) -> None:
    """For the first program that knows its data folder; that one decides what is unknown here."""
    from holdfast.storage.spool import keep_without_home

    settings, wrong = load_known_settings(HOLDFAST_HOME=os.sep)  # nothing is written there
    guessed = [name for name in FOUND_AT_HOME if not os.environ.get(name)]
    record = capture.make_record(event, settings, {*wrong, *guessed})
    record = capture.mark_unasked(record, event.cwd)
    place = keep_without_home(record, reason, lock_seconds=WAIT_SECONDS)
    _report(f"{reason} Until then an event waits in {place}.")


def _has_more(descriptor: int, seconds: float) -> bool:
    readable, _, _ = select.select([descriptor], [], [], max(0.0, seconds))
    return bool(readable)


def _parse(data: bytearray, *, is_complete: bool = False) -> dict[str, Any] | None:
    try:
        payload = json.loads(data, parse_int=_parse_integer)
    except (ValueError, RecursionError) as error:
        if is_complete and data.strip():
            raise _make_unreadable_error(data, error) from None
        return None
    if not isinstance(payload, dict):
        return None
    return payload


def _parse_integer(digits: str) -> int | str:
    """As a text where it has more digits than Python reads, so that the event is not lost."""
    try:
        return int(digits)
    except ValueError:
        return digits


def _make_unreadable_error(data: bytearray, error: Exception) -> UnreadableError:
    reason = f"is not JSON ({error})"
    if isinstance(error, RecursionError):
        reason = "is nested too deep"
    text = data.decode("utf-8", "replace")
    return UnreadableError("payload", text, reason)


def _raise_unless_ours(error: BaseException) -> None:
    """A bug or a Ctrl-C is logged; nothing was lost by it."""
    if not isinstance(error, HoldfastError):
        raise error


def _find_settings() -> LoadedSettings | None:
    """None where no folder for the data is known."""
    try:
        return load_known_settings()
    except InvalidValueError:
        return None


def _has_agreed(loaded: LoadedSettings | None) -> bool:
    """Whether this person has ever run `init`."""
    return loaded is not None and Enrolment(loaded[0].home).list_folders() is not None


def _is_spool_free(app: App) -> bool:
    """Usually a look at the disk; the spool's code is loaded only when something waits."""
    from holdfast.storage.reserve import is_any_used

    home = app.settings.home
    try:
        names = os.listdir(os.path.join(home, "spool"))
    except OSError:
        names = []
    waiting = [name for name in names if name.endswith(".jsonl") and name != "rejected.jsonl"]
    if not waiting and not is_any_used(home):
        return True
    app.drain_spool(DRAIN_LIMIT)
    return app.spool.is_empty()


def _report_drop(error: BaseException) -> None:
    """Nothing else may remain of it. A client shows this to a person, or to no one."""
    if isinstance(error, EventDroppedError):
        _report(error.message)


def _report(message: str) -> None:
    try:
        print(f"holdfast: {message}", file=sys.stderr, flush=True)
    except Exception:  # closed
        return


def _log_failure(error: BaseException, client: str | None) -> None:
    from holdfast.surfaces.hook_log import log_failure

    log_failure(error, client)
