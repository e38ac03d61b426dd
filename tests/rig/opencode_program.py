"""OpenCode as our hooks see it: its database, and a process for each event of its plugin."""

import json
from pathlib import Path
from typing import Any

import apsw

from tests.rig.commands import Answer, run_process

DATA = Path(__file__).with_name("opencode_data")


class Database:
    """OpenCode's file, with a connection that stays open as the program's does."""

    def __init__(self, path: Path):
        self.path = path
        self.connection = apsw.Connection(str(path))
        self.run("pragma journal_mode=wal")
        self.run((DATA / "schema.sql").read_text())
        self.run(
            "insert into project (id, worktree, time_created, time_updated, sandboxes)"
            " values ('p', '/home/dev/project', 0, 0, '')"
        )

    def run(self, statement: str, *args: object) -> list[Any]:
        return list(self.connection.execute(statement, args))

    def load(self, name: str) -> None:
        """Rows as they were recorded: each message belongs to the session above it, and so on."""
        session_id = message_id = ""
        for line in (DATA / name).read_text().splitlines():
            row = json.loads(line)
            if "session" in row:
                session_id = row["session"]
                self.add_session(**row)
            elif "message" in row:
                message_id = row["message"]
                self.add_message(session_id, message_id, row["time_created"], row["data"])
            else:
                self.add_part(session_id, message_id, row["part"], row["data"])

    def add_session(
        self,
        session: str,
        *,
        parent_id: str | None = None,
        directory: str = "/home/dev/project",
        title: str = "",
        agent: str = "build",
        time_created: int = 1000,
        time_updated: int = 1000,
    ) -> None:
        self.run(
            "insert into session (id, project_id, parent_id, slug, directory, title, version,"
            " agent, time_created, time_updated) values (?, 'p', ?, '', ?, ?, '1.18.33', ?, ?, ?)",
            *(session, parent_id, directory, title, agent, time_created, time_updated),
        )

    def add_message(self, session: str, id_: str, time: int, data: Any) -> None:
        text = data if isinstance(data, str) else json.dumps(data)
        self.run("insert into message values (?, ?, ?, ?, ?)", id_, session, time, time, text)

    def add_part(self, session: str, message: str, id_: str, data: Any) -> None:
        text = data if isinstance(data, str) else json.dumps(data)
        self.run("insert into part values (?, ?, ?, 0, 0, ?)", id_, message, session, text)

    def ask(self, id_: str, time: int, text: str) -> None:
        """A prompt of the person in session `s`."""
        self.add_message("s", id_, time, {"role": "user"})
        self.add_part("s", id_, f"prt_{id_}", {"type": "text", "text": text})

    def answer(self, id_: str, time: int, *parts: Any, is_finished: bool = True) -> None:
        times = {"created": time, "completed": time} if is_finished else {"created": time}
        self.add_message("s", id_, time, {"role": "assistant", "time": times})
        for number, part in enumerate(parts):
            self.add_part("s", id_, f"prt_{id_}_{number}", part)


class OpenCode:
    """One session of the program, in a database that others share."""

    def __init__(self, database: Database, project: Path, session_id: str, time: int):
        self.database = database
        self.project = project
        self.session_id = session_id
        self.time = time
        database.add_session(session_id, directory=str(project), time_created=time)

    def fire(self, event: str, **fields: Any) -> Answer:
        payload = {
            "hook_event_name": event,
            "session_id": self.session_id,
            "transcript_path": str(self.database.path),
            "cwd": str(self.project),
            **fields,
        }
        return run_process("hook", "opencode", event, stdin=json.dumps(payload))

    def ask(self, text: str, **fields: Any) -> Answer:
        """A prompt: the plugin tells of it before OpenCode has stored it."""
        id_ = self._name("msg")
        answer = self.fire("chat.message", prompt_id=id_, prompt=text, **fields)
        self.write(id_, {"role": "user"}, {"type": "text", "text": text})
        return answer

    def answer(self, text: str, **data: Any) -> Answer:
        id_ = self._name("msg")
        times = {"created": self.time, "completed": self.time}
        part_id = self.write(
            id_,
            {"role": "assistant", "time": times, **data},
            {"type": "text", "text": text, "time": {"end": self.time}},
        )
        return self.fire("session.idle", turn_id=part_id, last_assistant_message=text)

    def write(self, id_: str, data: dict[str, Any], *parts: dict[str, Any]) -> str:
        """A message and what is in it; the name of its last part."""
        self.database.add_message(self.session_id, id_, self.time, data)
        self.database.run(
            "update session set time_updated = ? where id = ?", self.time, self.session_id
        )
        part_id = ""
        for part in parts:
            part_id = self._name("prt")
            self.database.add_part(self.session_id, id_, part_id, part)
        return part_id

    def _name(self, kind: str) -> str:
        self.time += 1
        return f"{kind}_{self.session_id}_{self.time}"
