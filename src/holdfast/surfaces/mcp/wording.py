"""What tools answer as prose: the facts of the data, for the clients whose models read the text.

Every function takes the data as it is sent, which may be shortened. A stored text never starts a
line of its own, so that none can look like a line of ours.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from holdfast.ground.fence import PREFIX
from holdfast.ground.text import plural

Data = Mapping[str, Any]

NO_SESSION = "No session."


# --- sessions -------------------------------------------------------------------------------------


def describe_session(data: Data) -> str:
    session = data["session"]
    if session is None:
        return NO_SESSION
    labels = ", ".join(session[name] for name in ("chatmode", "client") if session.get(name))
    parts = [f"Session {session['id']}"]
    if session.get("name"):
        parts.append(f'"{_on_one_line(session["name"])}"')
    parts.append(f"({_on_one_line(labels)}), started {session['started_at']}")
    text = " ".join(parts)
    if session.get("ended_at"):
        text += f", ended {session['ended_at']}"
    if session.get("resumed_from"):
        text += f", continues {session['resumed_from']}"
    resume_text = data.get("resume_text")
    return f"{text}.\n\n{resume_text}" if resume_text else f"{text}."


def describe_event(data: Data) -> str:
    event = data["event"]
    return f"Appended to session {event['session_id']}:\n{write_event(event)}"


def describe_events(data: Data) -> str:
    session_id, events = data["session_id"], data["events"]
    if session_id is None:
        return NO_SESSION
    head = f"{plural(len(events), 'event')} of session {session_id}, oldest first."
    if data.get("older"):
        head += f" Not shown: {plural(data['older'], 'older event')}."
    return "\n".join([head, *map(write_event, events)])


def write_event(event: Data) -> str:
    """One event; what belongs to it is indented."""
    who = event.get("who") or event["role"]
    facts = ", ".join([who, event["created_at"], event["id"]])
    label = f"#{event['sequence']} {event['type']} ({facts})"
    content = event["content"].replace("\n", "\n  ")
    text = f"{label}: {content}"
    parts = dict(event.get("parts") or {})
    is_cut = parts.get("cut") is True
    if is_cut:
        del parts["cut"]
    for line in list_lines(parts):
        text += f"\n  {line}"
    if is_cut:
        text += "\n  (its parts are too long to be shown whole)"
    if event.get("outcome"):
        text += f"\n  outcome: {_on_one_line(event['outcome'])}"
    if event.get("chars"):
        text += f"\n  (cut: the whole event has {event['chars']:,} characters)"
    return text


def describe_state(data: Data) -> str:
    state = data["state"]
    if state is None:
        return NO_SESSION
    head = f"Scratchpad of session {state['session_id']}, updated {state['updated_at']}:"
    lines = [f"- {line}" for line in list_lines(state["scratchpad"])]
    return "\n".join([head, *(lines or ["(empty)"])])


def describe_sets(data: Data) -> str:
    session_id = data["session_id"]
    if session_id is None:
        return NO_SESSION
    lines = [f"Context sets of session {session_id}:"]
    for name, items in data["context"].items():
        lines.append(f"{_on_one_line(name)}:")
        lines += [f"- {_on_one_line(item)}" for item in _as_list(items)]
    if not data["context"]:
        lines.append("(none)")
    for verb in ("added", "removed"):
        changed = data.get(verb)
        if changed:
            lines.append(f"{verb.capitalize()}: {', '.join(map(_on_one_line, changed))}")
    return "\n".join(lines)


# --- memories -------------------------------------------------------------------------------------


def describe_memory(data: Data) -> str:
    return write_memory(data["memory"])


def describe_memories(data: Data) -> str:
    memories = data["memories"]
    if not memories:
        return "No memories."
    return "\n".join(f"- {write_memory(memory)}" for memory in memories)


def write_memory(memory: Data) -> str:
    if memory.get("erased_at"):
        return f"Memory {memory['id']} was erased at {memory['erased_at']}."
    if memory.get("by"):
        return _write_note(memory)
    facts = [memory.get("category"), memory.get("source_type")]
    facts += [f"{name} {memory[name]}" for name in ("confidence", "relevance") if name in memory]
    if memory.get("expires_at"):
        facts.append(f"expires {memory['expires_at']}")
    listed = ", ".join(_on_one_line(fact) for fact in facts if fact)
    return f"Memory {memory['id']} ({listed}): {_on_one_line(memory['content'])}"


def _write_note(memory: Data) -> str:
    """What another client has noted itself, with the day of its file."""
    mark = f"[said] by {_on_one_line(memory['by'])}, {memory['created_at'][:10]}"
    return f"{mark}, relevance {memory['relevance']}: {_on_one_line(memory['content'])}"


# --- the repository's notes -----------------------------------------------------------------------


def describe_written(data: Data) -> str:
    """What a write has noted, and the revision of the document after it."""
    lines = list(_write_entries(data))
    revision = data["context"]["revision"]
    return "\n".join([*lines, f"Revision {revision}."])


def _write_entries(data: Data) -> Iterator[str]:
    if "decision" in data:
        yield write_decision(data["decision"]) if data["decision"] else "No such decision now."
    for claim in data.get("claims", ()):
        yield write_claim(claim)
    if "withdrawn" in data:
        yield f"Withdrawn: {_on_one_line(data['withdrawn']['text'])}"
    context = data["context"]
    if context.get("working_summary"):
        yield write_summary(context["working_summary"])
    if context.get("last_run"):
        yield write_run(context["last_run"])
    for name, title in (("checklist", "Next steps"), ("file_pointers", "Files")):
        if name in context:
            yield _write_list(title, context[name])
    if "decisions" in context:
        decisions = plural(context["decisions"], "decision")
        yield f"In the file now: {decisions}, {plural(context['claims'], 'claim')}."


def describe_page(data: Data) -> str:
    """One page of everything that is noted."""
    context = data["context"]
    lines = [*_write_head(context), *write_sections(context), *_list_others(context)]
    if not lines:
        return "Nothing is noted."
    return "\n".join(lines)


def describe_check(data: Data) -> str:
    context = data["context"]
    claims = {"claims": data["claims"]}
    lines = [*_write_head(context), *write_sections(claims), *_list_others(context)]
    if not data["claims"] and not context.get("others"):
        lines.append("No claims are noted.")
    return "\n".join(lines)


def _list_others(context: Data) -> list[str]:
    """The notes of others, which stand between two markers."""
    return [context["others"]] if context.get("others") else []


def quote_sections(context: Data) -> Iterator[str]:
    """The same as `write_sections`, each line as another's words."""
    for text in write_sections(context):
        yield PREFIX + text.replace("\n", f"\n{PREFIX}")


def _write_head(context: Data) -> Iterator[str]:
    key = context.get("key")
    if key is None:  # a later page
        return
    place = " · ".join([context["phase"], key["repo"], key["branch"], key["workstream_id"]])
    yield f"{_on_one_line(place)} · revision {context['revision']}"
    if context.get("feature_request"):
        yield f"About: {_on_one_line(context['feature_request'])}"
    if context["stale"]:
        yield f"STALE: {_on_one_line(context['staleness']['text'])}"
        yield from [f"- {_on_one_line(line)}" for line in context["staleness"]["changed"]]


def write_sections(context: Data) -> Iterator[str]:
    """The entries of a page, each section under its title."""
    if context.get("working_summary"):
        yield write_summary(context["working_summary"])
    if context.get("last_run"):
        yield write_run(context["last_run"])
    for name, (title, write) in SECTIONS.items():
        if context.get(name):
            yield f"{title}:"
            yield from [f"- {write(entry)}" for entry in context[name]]


def write_decision(decision: Data) -> str:
    text = _on_one_line(decision.get("id") or "")
    if decision.get("of"):
        text += f" of {_on_one_line(decision['of'])}"
    if decision.get("status"):
        text += f" ({_on_one_line(decision['status'])})"
    text = f"Decision {text}{_mark(decision)}: {_on_one_line(decision.get('text', ''))}"
    if decision.get("because"):
        text += f" Because: {_on_one_line(decision['because'])}"
    return text + _write_origin(decision.get("by"), decision.get("updated_at"))


def write_claim(claim: Data) -> str:
    verdict = f" [{claim['verdict']}]" if claim.get("verdict") else ""
    words = _on_one_line(claim.get("claim", ""))
    name = _on_one_line(claim.get("id", ""))
    if claim.get("of"):
        name += f" of {_on_one_line(claim['of'])}"
    text = f"Claim {name}{verdict}{_mark(claim)}: {words}"
    where = "; ".join(_write_evidence(evidence) for evidence in claim.get("evidence", ()))
    if where:
        text += f" ({where})"
    return text + _write_origin(None, claim.get("claimed_at"))


def _write_evidence(evidence: Data) -> str:
    parts = [_on_one_line(evidence.get("text", ""))]
    if evidence.get("verdict"):
        parts.append(evidence["verdict"])
    if evidence.get("lines"):
        parts.append(f"now {evidence['lines']}")
    if evidence.get("why"):
        parts.append(_on_one_line(evidence["why"]))
    return " ".join(parts)


def write_summary(summary: Data) -> str:
    head = "Summary"
    if summary.get("stale"):
        head += " (stale)"
    text = str(summary["text"]).replace("\n", "\n  ")
    if summary.get("verified_by"):
        text += f" Verified by {_on_one_line(summary['verified_by'])}."
    origin = _write_origin(summary.get("by"), summary.get("updated_at"))
    return f"{head}{_mark(summary)}: {text}{origin}"


def write_run(run: Data) -> str:
    if run.get("status") == "ok":
        return f"Last run: passed{_write_origin(None, run.get('at'))}"
    error = str(run.get("error", "")).replace("\n", "\n  ")
    text = f"Failed at {_on_one_line(run.get('failed_step', ''))}{_mark(run)}: {error}"
    if run.get("next_action"):
        text += f"; next: {_on_one_line(run['next_action'])}"
    return text + _write_origin(None, run.get("at"))


def _mark(entry: Data) -> str:
    """Of an entry whose beginning is on the page before."""
    return " (continued)" if entry.get("continued") else ""


def _write_proof(proof: Data) -> str:
    files = "on these files" if proof.get("is_of_this_tree") else "on other files"
    command = _on_one_line(proof["command"])
    return f"{proof['id']} {command} → exit {proof['exit_code']}, {files}, {proof['ran_at']}"


def _write_list(title: str, items: Sequence[str]) -> str:
    if not items:
        return f"{title}: none."
    return "\n".join([f"{title}:", *(f"- {_on_one_line(item)}" for item in items)])


def _write_origin(by: Any, at: Any) -> str:
    known = []
    if by:
        known.append(_on_one_line(by))
    if at:
        minute = _on_one_line(at)[:16].replace("T", " ")
        known.append(f"{minute}Z")
    return f" ({', '.join(known)})" if known else ""


# --- rounds ---------------------------------------------------------------------------------------


def describe_round(data: Data) -> str:
    """A step is its instruction; of a round that has ended, what came of it."""
    step = data["round"]
    if not step:
        return "The round was forgotten."
    if "instruction" in step:
        return str(step["instruction"])
    lines = [f"The round about {_on_one_line(step['topic'])} is {step['status']}."]
    lines += [f"Decided: {_on_one_line(text)}" for text in step["decisions"]]
    lines += [f"Open: {_on_one_line(text)}" for text in step["questions"]]
    return "\n".join(lines)


# --- conversations --------------------------------------------------------------------------------


def describe_conversations(data: Data) -> str:
    rows = [f"- {_write_conversation(row)}" for row in data["conversations"]]
    if data.get("more"):
        rows.append(f"{data['more']:,} more are not shown.")
    return "\n".join(rows) or "No conversations."


def _write_conversation(row: Data) -> str:
    if "id" not in row:  # the note about what was left out of a shortened list
        return _on_one_line(row["text"])
    when = _on_one_line(row["last_active"])[:16].replace("T", " ")
    facts = [row["type"], row["status"], f"last active {when}Z"]
    if row.get("client"):
        facts.append(row["client"])
    about = ", ".join(_on_one_line(fact) for fact in facts)
    text = f"{_on_one_line(row['id'])} ({about}): {_on_one_line(row['title'])}"
    return f"{text} · {_on_one_line(row['summary'])}" if row.get("summary") else text


def describe_saved(data: Data) -> str:
    found = data["conversation"]
    messages = plural(found["message_count"], "message")
    text = f"Saved {found['id']}: {messages}, {data['added']:,} new, {found['status']}."
    summary = found.get("summary") or found.get("context_summary")
    return f"{text}\nSummary: {_on_one_line(summary)}" if summary else text


def describe_resume(data: Data) -> str:
    """The block, then what was said, oldest first."""
    resumed = data["resume"]
    parts = []
    if "text" in resumed:
        parts += [resumed["text"], f"Continues in session {resumed['session_id']}."]
    if "messages" in resumed:
        parts.append("\n".join(_list_said(resumed)))
    return "\n\n".join(parts)


def _list_said(resumed: Data) -> Iterator[str]:
    yield f"Said in {resumed['id']}, oldest first:"
    if resumed.get("left"):
        yield f"(before these: {plural(resumed['left'], 'more message')})"
    for message in resumed["messages"]:
        content = message["content"].replace("\n", "\n  ")
        part = f", part {message['part']}" if message.get("part") else ""
        yield f"- {message['role']} ({message['at']}{part}): {content}"


# --- small pieces ---------------------------------------------------------------------------------


def list_lines(value: object, path: str = "") -> Iterator[str]:
    """A JSON value as lines: the path to each leaf, and the leaf; texts of a list on one line."""
    if isinstance(value, Mapping):
        for name, inner in value.items():
            yield from list_lines(inner, f"{path}.{name}" if path else _on_one_line(name))
    elif isinstance(value, list) and not any(isinstance(item, Mapping | list) for item in value):
        yield f"{path}: {'; '.join(map(_write_leaf, value)) or '(none)'}"
    elif isinstance(value, list):
        for number, inner in enumerate(value, 1):
            yield from list_lines(inner, f"{path}.{number}")
    else:
        yield f"{path}: {_write_leaf(value)}"


def _write_leaf(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "none" if value is None else _on_one_line(value)


def _as_list(value: object) -> Iterable[object]:
    return value if isinstance(value, list) else [value]


def _on_one_line(text: object) -> str:
    return " ".join(str(text).split("\n")).replace("\r", " ")


SECTIONS = {
    "about": ("About", _on_one_line),
    "checklist": ("Next steps", _on_one_line),
    "open_decisions": ("Decisions", write_decision),
    "shared_decisions": ("Decisions made elsewhere", write_decision),
    "claims": ("Claims", write_claim),
    "file_pointers": ("Files", _on_one_line),
    "pinned_rules": ("Rules", _on_one_line),
    "other_summaries": ("Other summaries", write_summary),
    "last_errors": ("Earlier failures", write_run),
    "proofs": ("Proofs", _write_proof),
}
