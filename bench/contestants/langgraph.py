"""LangGraph's checkpointers, through a compiled graph as its documentation has it.

`aupdate_state` is the cheapest documented way to add one message to a thread: one checkpoint and no
node run. A checkpoint holds the whole list of messages, so each append costs more than the one
before, and two writers that start from the same checkpoint lose one of the two messages.
"""

from __future__ import annotations

import operator
import uuid
from collections.abc import Sequence
from typing import Annotated, Any, ClassVar

from langchain_core.messages import HumanMessage
from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.graph import START, MessagesState, StateGraph
from psycopg.rows import dict_row
from psycopg_pool import AsyncConnectionPool

from bench.contestants import Peer, messages
from bench.durability import postgres_durability, sqlite_durability
from bench.place import Place


class State(MessagesState):
    """The documented message list, and one merged dictionary to stand for a scratchpad."""

    scratchpad: Annotated[dict[str, Any], operator.or_]


def compile_graph(saver: Any) -> Any:
    """A graph with one node that adds nothing, since only what is kept is of interest."""
    builder = StateGraph(State)
    builder.add_node("note", lambda state: {})
    builder.add_edge(START, "note")
    return builder.compile(checkpointer=saver)


class Langgraph(Peer):
    """A thread is a config; a message list and a scratchpad are its state."""

    lacks: ClassVar[dict[str, str]] = {"create": "no such verb: the first checkpoint creates it"}
    most_events = 10_000

    graph: Any

    async def create(self) -> dict[str, Any]:
        return await self.attach(str(uuid.uuid4()))

    def key(self, handle: dict[str, Any]) -> str:
        return handle["configurable"]["thread_id"]

    async def attach(self, key: str) -> dict[str, Any]:
        return {"configurable": {"thread_id": key}}

    async def append(self, handle: dict[str, Any], text: str) -> Any:
        return await self.append_many(handle, [text])

    async def append_many(self, handle: dict[str, Any], texts: Sequence[str]) -> Any:
        return await self.graph.aupdate_state(
            handle, {"messages": [HumanMessage(text) for text in texts]}, as_node="note"
        )

    async def messages(self, handle: dict[str, Any]) -> list[Any]:
        """A thread is read as a whole; there is no smaller unit."""
        return (await self.graph.aget_state(handle)).values.get("messages", [])

    async def recent(self, handle: dict[str, Any], count: int) -> Sequence[Any]:
        return (await self.messages(handle))[-count:]

    async def stored(self, handle: dict[str, Any]) -> list[tuple[int | None, str]]:
        return [(None, message.content) for message in await self.messages(handle)]

    async def fill(self, handle: dict[str, Any], count: int) -> None:
        """In one checkpoint: ten thousand of them would need tens of gigabytes."""
        await self.append_many(handle, messages(count, "fill"))

    async def update_state(self, handle: dict[str, Any], change: dict[str, Any]) -> Any:
        return await self.graph.aupdate_state(handle, {"scratchpad": change}, as_node="note")

    async def get_state(self, handle: dict[str, Any]) -> Any:
        return (await self.graph.aget_state(handle)).values.get("scratchpad")


class LanggraphSqlite(Langgraph):
    """One aiosqlite connection."""

    async def open(self, place: Place) -> None:
        self.context = AsyncSqliteSaver.from_conn_string(place.path)
        self.saver = await self.context.__aenter__()
        await self.saver.setup()
        self.graph = compile_graph(self.saver)

    async def close(self) -> None:
        await self.context.__aexit__(None, None, None)

    async def durability(self) -> str:
        found = {}
        for pragma in ("journal_mode", "synchronous"):
            async with self.saver.conn.execute(f"pragma {pragma}") as cursor:
                found[pragma] = (await cursor.fetchone())[0]
        return sqlite_durability(found.__getitem__)


class LanggraphPostgres(Langgraph):
    """A psycopg pool with the connection settings that the saver asks for."""

    async def open(self, place: Place) -> None:
        settings = {"autocommit": True, "prepare_threshold": 0, "row_factory": dict_row}
        self.pool = AsyncConnectionPool(place.dsn, max_size=10, open=False, kwargs=settings)
        await self.pool.open()
        saver = AsyncPostgresSaver(self.pool)
        if place.first:
            await saver.setup()
        self.graph = compile_graph(saver)

    async def close(self) -> None:
        await self.pool.close()

    async def durability(self) -> str:
        async with self.pool.connection() as connection:

            async def show(query: str) -> Any:
                row = await (await connection.execute(query)).fetchone()
                return next(iter(row.values()))

            return await postgres_durability(show)
