"""A command line of a shell, taken apart as far as it matters to know whose exit code it ends with.

Not a shell: nothing is expanded, and what is given to a program stays as it is. A line that is not
understood is no line at all, because a wrong guess would read a failure as a success. Pure, and one
pass over the text.
"""

from __future__ import annotations

from holdfast.ground.frozen import dataclass
from holdfast.ground.patterns import compile_later

MOST_CHARS = 200_000
MOST_DEPTH = 25
MOST_STEPS = 8_000  # programs and pieces of words; documents and long words are one step each

BLANKS = " \t"
WORD_ENDS = frozenset(" \t\n;|&()<>")
GROUP_ENDS = frozenset({"}", "then", "do", "done", "fi", "else", "elif", "esac"})
LOOPS = frozenset({"while", "until"})
LISTS = frozenset({"for", "select"})
REDIRECTIONS = ("<<<", "<<-", "&>>", "<<", ">>", "<&", ">&", "&>", "<>", ">|", "<", ">")

_PLAIN = compile_later(r"""[^\s'"\\$`;|&()<>]+""")
_IN_QUOTES = compile_later(r'[^"\\$`]+')
_VARIABLE = compile_later(r"\$(?:\w+|[?!$#@*-])")
_ASSIGNMENT = compile_later(r"[A-Za-z_]\w*(?:\[[^]]*\])?\+?=")
_NUMBERED = compile_later(r"\d+(?=[<>])|\{\w+\}(?=[<>])")


@dataclass(frozen=True)
class Word:
    """One argument without its quotes; not fixed where the shell puts something else into it."""

    text: str
    is_fixed: bool = True


@dataclass(frozen=True)
class Program:
    """A program with its arguments, or variables that are set; `inside` runs to make its words."""

    words: tuple[Word, ...]
    assignments: tuple[Word, ...] = ()
    inside: tuple[Script, ...] = ()


@dataclass(frozen=True)
class Pipeline:
    members: tuple[Node, ...]
    is_negated: bool = False


@dataclass(frozen=True)
class Chain:
    """Pipelines joined by `&&` and `||`; there is one operator less than there are members."""

    members: tuple[Node, ...]
    operators: tuple[str, ...]


@dataclass(frozen=True)
class Group:
    script: Script
    is_subshell: bool


@dataclass(frozen=True)
class Block:
    """`if`, loops, `case`, functions: what is in them may be run, or not, or often."""

    scripts: tuple[Script, ...]
    function: str = ""


@dataclass(frozen=True)
class Item:
    node: Node
    is_background: bool = False


@dataclass(frozen=True)
class Script:
    items: tuple[Item, ...]


Node = Program | Pipeline | Chain | Group | Block


def parse_script(text: str, depth: int = 0) -> Script | None:
    """None where it is too long, too deep, unfinished or not of a shell that is known here."""
    if len(text) > MOST_CHARS:
        return None
    reading = _Reading(text.replace("\r\n", "\n"), depth)
    try:
        script = reading.read_script()
        reading.require_end()
    except (ValueError, IndexError):
        return None
    return script


class _Reading:
    """One pass over a text; a ValueError where it does not go on as it must."""

    def __init__(self, text: str, depth: int):
        self.text = text
        self.at = 0
        self.depth = depth
        self.steps = 0
        self.inside: list[Script] = []  # of the program that is being read
        self.documents: list[tuple[str, bool]] = []  # that begin at the next line

    # --- characters -------------------------------------------------------------------------------

    @property
    def char(self) -> str:
        return self.text[self.at : self.at + 1]

    def starts_with(self, token: str) -> bool:
        return self.text.startswith(token, self.at)

    def skip(self, token: str) -> bool:
        if not self.starts_with(token):
            return False
        self.at += len(token)
        return True

    def require(self, token: str) -> None:
        if not self.skip(token):
            raise ValueError(token)

    def require_end(self) -> None:
        if self.at < len(self.text) or self.documents:
            raise ValueError("unfinished")

    def find(self, token: str) -> int:
        return self.text.index(token, self.at)

    def skip_blanks(self) -> None:
        """Also a line that is continued, and a comment up to the end of its line."""
        while True:
            if self.char and self.char in BLANKS:
                self.at += 1
            elif not self.skip("\\\n"):
                break
        if self.char == "#":
            end = self.text.find("\n", self.at)
            self.at = len(self.text) if end < 0 else end

    def skip_lines(self) -> None:
        self.skip_blanks()
        while self.char == "\n":
            self.at += 1
            self._skip_documents()
            self.skip_blanks()

    def _skip_documents(self) -> None:
        for mark, has_tabs in self.documents:
            self._skip_document(mark, has_tabs)
        self.documents = []

    def _skip_document(self, mark: str, has_tabs: bool) -> None:
        while self.at < len(self.text):
            end = self.text.find("\n", self.at)
            end = len(self.text) if end < 0 else end
            line = self.text[self.at : end]
            self.at = min(end + 1, len(self.text))
            if has_tabs:
                line = line.lstrip("\t")
            if line == mark:
                self.at = end  # what follows a document is another line
                return
        raise ValueError(mark)

    # --- lists ------------------------------------------------------------------------------------

    def read_script(self) -> Script:
        """Up to what ends it, which is left."""
        self._enter()
        items: list[Item] = []
        self.skip_lines()
        while not self._is_at_end():
            node = self._read_chain()
            self.skip_blanks()
            is_background = self.char == "&"
            items.append(Item(node, is_background))
            if not self._skip_separator():
                break
            self.skip_lines()
        self.depth -= 1
        return Script(tuple(items))

    def _enter(self) -> None:
        self.depth += 1
        self.steps += 1
        if self.depth > MOST_DEPTH or self.steps > MOST_STEPS:
            raise ValueError("too deep or too long")

    def _skip_separator(self) -> bool:
        if self.starts_with(";;") or self.starts_with(";&"):
            return False
        return self.skip(";") or self.skip("&") or self.char == "\n"

    def _is_at_end(self) -> bool:
        if not self.char or self.char == ")" or self.starts_with(";;"):
            return True
        return self._peek_name() in GROUP_ENDS

    def _peek_name(self) -> str:
        """The next word where it is a plain one: only such are reserved."""
        found = _PLAIN.match(self.text, self.at)
        if found is None or self.text[found.end() : found.end() + 1] not in ("", *WORD_ENDS):
            return ""
        return found[0]

    def skip_name(self, name: str) -> bool:
        if self._peek_name() != name:
            return False
        self.at += len(name)
        return True

    def require_name(self, name: str) -> None:
        self.skip_lines()
        if not self.skip_name(name):
            raise ValueError(name)

    def _read_chain(self) -> Node:
        members = [self._read_pipeline()]
        operators: list[str] = []
        self.skip_blanks()
        while self.starts_with("&&") or self.starts_with("||"):
            operators.append(self.text[self.at : self.at + 2])
            self.at += 2
            self.skip_lines()
            members.append(self._read_pipeline())
            self.skip_blanks()
        if not operators:
            return members[0]
        return Chain(tuple(members), tuple(operators))

    def _read_pipeline(self) -> Node:
        is_negated = self._skip_prefixes()
        members = [self._read_command()]
        self.skip_blanks()
        while self.char == "|" and not self.starts_with("||"):
            if not self.skip("|&"):
                self.at += 1
            self.skip_lines()
            members.append(self._read_command())
            self.skip_blanks()
        if len(members) == 1 and not is_negated:
            return members[0]
        return Pipeline(tuple(members), is_negated)

    def _skip_prefixes(self) -> bool:
        is_negated = False
        self.skip_blanks()
        while True:
            if self.skip_name("!"):
                is_negated = not is_negated
            elif self.skip_name("time"):
                self.skip_blanks()
                self.skip_name("-p")
            else:
                return is_negated
            self.skip_blanks()

    # --- commands ---------------------------------------------------------------------------------

    def _read_command(self) -> Node:
        self._enter()
        node = self._read_compound() or self._read_program()
        self.depth -= 1
        return node

    def _read_compound(self) -> Node | None:
        node = self._find_compound()
        if node is not None:
            self._skip_redirections()
        return node

    def _find_compound(self) -> Node | None:
        if self.starts_with("(("):
            self.at = self.find("))") + 2
            return Program((Word("(("),))
        if self.skip("("):
            script = self._read_filled()
            self.require(")")
            return Group(script, is_subshell=True)
        name = self._peek_name()
        if name == "[[":
            self.at = self.find("]]") + 2
            return Program((Word("[["),))
        if name == "{":
            self.at += 1
            script = self._read_filled()
            self.require_name("}")
            return Group(script, is_subshell=False)
        return self._read_block(name)

    def _read_filled(self) -> Script:
        script = self.read_script()
        if not script.items:
            raise ValueError("empty")
        return script

    def _read_block(self, name: str) -> Node | None:
        if name == "if":
            self.at += len(name)
            return self._read_branches()
        if name in LOOPS:
            self.at += len(name)
            return Block((self.read_script(), self._read_body()))
        if name in LISTS:
            self.at += len(name)
            return self._read_list_loop()
        if name == "case":
            self.at += len(name)
            return self._read_cases()
        if name == "function":
            self.at += len(name)
            self.skip_blanks()
            return self._read_function(self._read_word().text)
        return None

    def _read_branches(self) -> Block:
        scripts = [self.read_script()]
        while not self.skip_name("fi"):
            if not (self.skip_name("then") or self.skip_name("elif") or self.skip_name("else")):
                raise ValueError("fi")
            scripts.append(self.read_script())
        return Block(tuple(scripts))

    def _read_body(self) -> Script:
        self.require_name("do")
        body = self.read_script()
        self.require_name("done")
        return body

    def _read_list_loop(self) -> Block:
        self.skip_blanks()
        if self.starts_with("(("):
            self.at = self.find("))") + 2
        else:
            self._read_program()
        self.skip_blanks()
        if not self.skip(";"):
            self.skip_lines()
        return Block((self._read_body(),))

    def _read_cases(self) -> Block:
        self.skip_blanks()
        self._read_word()
        self.require_name("in")
        scripts: list[Script] = []
        self.skip_lines()
        while not self.skip_name("esac"):
            self.at = self.find(")") + 1
            scripts.append(self.read_script())
            if not (self.skip(";;&") or self.skip(";;") or self.skip(";&")):
                self.require_name("esac")
                break
            self.skip_lines()
        return Block(tuple(scripts))

    def _read_function(self, name: str) -> Block:
        self.skip_blanks()
        if self.skip("("):
            self.skip_blanks()
            self.require(")")
        self.skip_lines()
        body = self._read_command()
        return Block((Script((Item(body),)),), function=name)

    def _skip_redirections(self) -> None:
        """Behind a group; what else is there ends it."""
        self.skip_blanks()
        while self._skip_redirection():
            self.skip_blanks()

    def _read_program(self) -> Program | Block:
        """Or a function, which is seen only behind its name."""
        is_redirected = False
        before, self.inside = self.inside, []
        words: list[Word] = []
        assignments: list[Word] = []
        while True:
            self.skip_blanks()
            if self._skip_redirection():
                is_redirected = True
                continue
            if self.char == "(" and len(words) == 1:
                self.inside = before
                return self._read_function(words[0].text)
            if self._is_at_word_end():
                break
            word = self._read_word()
            is_setting = not words and _ASSIGNMENT.match(word.text) is not None
            (assignments if is_setting else words).append(word)
        if not (words or assignments or is_redirected):
            raise ValueError("program")
        program = Program(tuple(words), tuple(assignments), tuple(self.inside))
        self.inside = before
        return program

    def _is_at_word_end(self) -> bool:
        """A program begins where a word does, not with a substitution that looks like an end."""
        is_substitution = self.starts_with("<(") or self.starts_with(">(")
        return not self.char or (self.char in WORD_ENDS and not is_substitution)

    def _skip_redirection(self) -> bool:
        start = self.at
        numbered = _NUMBERED.match(self.text, self.at)
        if numbered is not None:
            self.at = numbered.end()
        is_substitution = self.starts_with("<(") or self.starts_with(">(")
        token = next((token for token in REDIRECTIONS if self.starts_with(token)), None)
        if token is None or is_substitution:
            self.at = start
            return False
        self.at += len(token)
        self.skip_blanks()
        target = self._read_word()
        if token in ("<<", "<<-"):
            self.documents.append((target.text, token == "<<-"))
        return True

    # --- words ------------------------------------------------------------------------------------

    def _read_word(self) -> Word:
        if self._is_at_word_end():
            raise ValueError("word")
        pieces: list[str] = []
        is_fixed = True
        while not self._is_at_word_end():
            piece, is_sure = self._read_piece()
            pieces.append(piece)
            is_fixed = is_fixed and is_sure
            if self.char == "(" and _ASSIGNMENT.fullmatch("".join(pieces)):
                self._skip_array()
                is_fixed = False
        return Word("".join(pieces), is_fixed)

    def _skip_array(self) -> None:
        self._enter()
        self.at += 1
        self.skip_lines()
        while not self.skip(")"):
            self._read_word()
            self.skip_lines()
        self.depth -= 1

    def _read_piece(self) -> tuple[str, bool]:
        self.steps += 1
        if self.steps > MOST_STEPS:
            raise ValueError("too long")
        plain = _PLAIN.match(self.text, self.at)
        if plain is not None:
            self.at = plain.end()
            return plain[0], True
        if self.skip("'"):
            return self._read_until("'"), True
        if self.skip('"'):
            return self._read_quoted()
        if self.skip("\\"):
            return self._read_escaped(), True
        if self.skip("<(") or self.skip(">("):
            return self._read_substitution(), False
        return self._read_expansion()

    def _read_until(self, end: str) -> str:
        place = self.find(end)
        text = self.text[self.at : place]
        self.at = place + len(end)
        return text

    def _read_escaped(self) -> str:
        char = self.char
        if not char:
            raise ValueError("escape")
        self.at += 1
        return "" if char == "\n" else char

    def _read_quoted(self) -> tuple[str, bool]:
        pieces: list[str] = []
        is_fixed = True
        while not self.skip('"'):
            plain = _IN_QUOTES.match(self.text, self.at)
            if plain is not None:
                self.at = plain.end()
                pieces.append(plain[0])
            elif self.skip("\\"):
                escaped = self._read_escaped()
                pieces.append(escaped if escaped in '"\\$`' else f"\\{escaped}")
            else:
                piece, is_sure = self._read_expansion()
                pieces.append(piece)
                is_fixed = is_fixed and is_sure
        return "".join(pieces), is_fixed

    def _read_expansion(self) -> tuple[str, bool]:
        """What stands for something else; a `$` at the end of a word stands for itself."""
        if self.skip("`"):
            return self._read_ticked(), False
        if self.skip("$(("):
            self.at = self.find("))") + 2
            return "$(())", False
        if self.skip("$("):
            return self._read_substitution(), False
        if self.skip("${"):
            return self._read_braced(), False
        if self.skip("$'"):
            return self._read_escapes(), True
        named = _VARIABLE.match(self.text, self.at)
        if named is not None:
            self.at = named.end()
            return named[0], False
        self.require("$")
        return "$", True

    def _read_substitution(self) -> str:
        documents, self.documents = self.documents, []
        before = self.inside
        self.inside = []
        script = self.read_script()
        self.require(")")
        if self.documents:
            raise ValueError("document")
        self.documents = documents
        self.inside = [*before, script]
        return "$()"

    def _read_ticked(self) -> str:
        pieces: list[str] = []
        while not self.skip("`"):
            if self.skip("\\"):
                escaped = self._read_escaped()
                pieces.append(escaped if escaped in "`\\$" else f"\\{escaped}")
                continue
            end = self.at + 1
            pieces.append(self.text[self.at : end])
            if not pieces[-1]:
                raise ValueError("`")
            self.at = end
        script = parse_script("".join(pieces), self.depth)
        if script is None:
            raise ValueError("`")
        self.inside.append(script)
        return "$()"

    def _read_braced(self) -> str:
        start = self.at
        while not self.skip("}"):
            if self.skip("'"):
                self._read_until("'")
            elif self.skip('"'):
                self._read_quoted()
            elif self.char in ("$", "`"):
                self._enter()
                self._read_expansion()
                self.depth -= 1
            elif not self.char:
                raise ValueError("}")
            else:
                self.at += 1
        return "${" + self.text[start : self.at]

    def _read_escapes(self) -> str:
        start = self.at
        while not self.skip("'"):
            if not self.char:
                raise ValueError("'")
            self.at += 2 if self.char == "\\" else 1
        return self.text[start : self.at - 1]
