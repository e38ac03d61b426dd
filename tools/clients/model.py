"""The scripted model: one server on loopback for every client of a run.

A conversation has a folder below the server's, and its name begins the path of every request:
`/NAME/v1/messages` is answered by `NAME/script.json`, and what was asked and answered is appended
to `NAME/requests.jsonl`.
"""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from tools.clients.conversation import Answer, Conversation, choose_answer
from tools.clients.dialects import COUNTS, DIALECTS, TOKENS_IN, Events

SCRIPT, REQUESTS = "script.json", "requests.jsonl"


class Model(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, folder: Path):
        super().__init__(("127.0.0.1", 0), Handler)
        self.folder = folder
        self.lock = threading.Lock()
        threading.Thread(target=self.serve_forever, daemon=True).start()

    @property
    def port(self) -> int:
        return self.server_port

    def log(self, name: str, entry: dict[str, Any]) -> None:
        line = json.dumps(entry, ensure_ascii=False)
        with self.lock, open(self.folder / name / REQUESTS, "a") as log:
            log.write(line + "\n")

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that was killed hangs up in the middle; any other fault is in the log."""


class Handler(BaseHTTPRequestHandler):
    server: Model
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        size = int(self.headers.get("content-length") or 0)
        body = json.loads(self.rfile.read(size) or b"{}")
        path = self.path.partition("?")[0]
        name = path.split("/")[1]
        for ending, key in COUNTS.items():
            if path.endswith(ending):
                return self.send_document({key: TOKENS_IN})
        for ending, dialect in DIALECTS.items():
            if path.endswith(ending):
                return self.answer(name, dialect, body, is_stream=ending != ":generateContent")
        self.server.log(name, {"unknown": self.path})
        return self.send_document({}, 404)

    def do_GET(self) -> None:
        self.send_document({}, 404)

    def answer(self, name: str, dialect: Any, body: dict[str, Any], *, is_stream: bool) -> None:
        conversation = dialect.read(body)
        script = json.loads((self.server.folder / name / SCRIPT).read_text())
        answer = choose_answer(script, conversation)
        self.server.log(name, describe(conversation, answer, body))
        if "hold" in answer:
            self.hold(Path(answer["hold"]), is_for_good=len(answer) == 1)
        events = dialect.write(answer, conversation, body)
        if is_stream:
            return self.send_events(events, answer.get("cut"))
        return self.send_document(events[0][1])

    def hold(self, pipe: Path, *, is_for_good: bool) -> None:
        """Show that the client waits; then wait for the word, or for the end of the client."""
        pipe.write_text("held")
        if is_for_good:
            self.rfile.read(1)
        else:
            pipe.read_text()

    def send_document(self, document: dict[str, Any], status: int = 200) -> None:
        data = json.dumps(document).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def send_events(self, events: Events, cut: str | None = None) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("connection", "close")
        self.end_headers()
        stream = b"".join(format_event(*event) for event in events)
        self.wfile.write(stream[: len(stream) // 2])
        if cut:
            self.hold(Path(cut), is_for_good=True)
        self.wfile.write(stream[len(stream) // 2 :])
        self.close_connection = True

    def log_message(self, *_: object) -> None:
        """Not on stderr: the log of requests has it."""


def format_event(name: str | None, document: Any) -> bytes:
    data = document if isinstance(document, str) else json.dumps(document)
    head = f"event: {name}\n" if name else ""
    return f"{head}data: {data}\n\n".encode()


def describe(conversation: Conversation, answer: Answer, body: dict[str, Any]) -> dict[str, Any]:
    return {
        "is_auxiliary": conversation.is_auxiliary,
        "texts": conversation.texts,
        "tools": [tool.common_name for tool in conversation.tools],
        "answer": answer,
        "body": body,
    }
