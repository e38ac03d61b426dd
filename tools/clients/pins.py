"""Which programs are run, and at which versions: the only place that names them."""

from dataclasses import dataclass

NEWEST = "latest"


@dataclass(frozen=True)
class Pin:
    """A program as npm knows it."""

    client: str
    package: str
    version: str
    program: str

    def as_newest(self) -> "Pin":
        return Pin(self.client, self.package, NEWEST, self.program)


PINS = {
    pin.client: pin
    for pin in (
        Pin("claude", "@anthropic-ai/claude-code", "2.1.325", "claude"),
        Pin("codex", "@openai/codex", "0.166.0", "codex"),
        Pin("gemini", "@google/gemini-cli", "0.61.0", "gemini"),
        Pin("opencode", "opencode-ai", "1.18.33", "opencode"),
    )
}
