"""One file per client: how it is started, pointed at the model and wired by hand."""

from tools.clients.programs.claude import ClaudeProgram
from tools.clients.programs.codex import CodexProgram
from tools.clients.programs.contract import Program
from tools.clients.programs.gemini import GeminiProgram
from tools.clients.programs.opencode import OpenCodeProgram

KNOWN: tuple[Program, ...] = (
    ClaudeProgram(),
    CodexProgram(),
    GeminiProgram(),
    OpenCodeProgram(),
)
PROGRAMS = {program.client: program for program in KNOWN}
