"""What only conversations raise."""

from __future__ import annotations

from collections.abc import Iterable

from holdfast.errors import Action, NotFound, Refused, shown


class ConversationNotFoundError(NotFound):
    code = "conversation_not_found"

    def __init__(self, wanted: object, nearest: Iterable[str] = ()):
        self.wanted = wanted
        self.nearest = tuple(nearest)
        message = f"Conversation {shown(wanted)} does not exist."
        if self.nearest:
            message += f" Near: {', '.join(self.nearest)}."
        super().__init__(message, next_actions=[Action("conversation.list")])


class AmbiguousConversationError(Refused):
    """Several fit as well as the best one, and none is chosen by a guess."""

    code = "ambiguous_conversation"

    def __init__(self, wanted: object, candidates: Iterable[str]):
        self.wanted = wanted
        self.candidates = tuple(candidates)
        super().__init__(
            f"{shown(wanted)} can mean: {', '.join(self.candidates)}.",
            next_actions=[Action("conversation.list")],
        )


class NoConversationError(NotFound):
    """A verb about the current conversation, in a session that belongs to none."""

    code = "no_conversation"

    def __init__(self) -> None:
        super().__init__(
            "This session belongs to no conversation.",
            next_actions=[Action("conversation.new"), Action("conversation.list")],
        )


class ReadOnlyConversationError(Refused):
    code = "conversation_read_only"

    def __init__(self, conversation_id: str, problem: str):
        self.conversation_id, self.problem = conversation_id, problem
        super().__init__(f"Conversation {conversation_id} is not changed: {problem}.")
