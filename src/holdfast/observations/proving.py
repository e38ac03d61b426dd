"""Whose exit code a command line ends with: what 0 proves, and whom anything else may come from.

Only what must be so counts. After `a && b`, 0 proves both; after `a; b`, `a | b` and `a || b` it
does not prove `a`, unless the line itself asks for that (`set -e`, `pipefail`, `|| exit 1`). Where
the shell's rules are subtle, nothing is proven. Pure.
"""

from __future__ import annotations

from collections.abc import Iterable

from holdfast.ground.frozen import dataclass
from holdfast.ground.patterns import compile_later
from holdfast.observations import known, programs, shell
from holdfast.observations.programs import Call
from holdfast.observations.shell import Word

TYPE_CHECKING = False
if TYPE_CHECKING:
    from holdfast.observations.shell import Block, Chain, Group, Node, Pipeline, Program, Script

MOST_CALLS = 1000
MOST_NESTED = 6  # scripts in a script
FOUND_OPTIONS = ("-exec", "-execdir", "-ok")
NEGATED = -1  # among the sources: the code says the opposite

FIRST_STATUS = ("${PIPESTATUS[0]}", "${PIPESTATUS}", "${pipestatus[1]}")
LAST_STATUS = ("$?", "${?}")

_NAMED = compile_later(r"\$(?:(\w+)|\{(\w+)\})")


@dataclass(frozen=True)
class Line:
    """What a line runs. The sets hold places in `calls`."""

    calls: tuple[Call, ...]
    inner: frozenset[int]  # run only to make the words of another one
    proven: frozenset[int]  # have ended with 0 where the line does
    sources: frozenset[int]  # one of these gave the line a code that is not 0
    hidden: frozenset[int]  # stand before the last `|`
    has_blocks: bool = False  # some may be run often, or not at all

    def list_counting(self) -> list[int]:
        """The checks where it has some, else everything that is not trivial, else everything."""
        own = [place for place in range(len(self.calls)) if place not in self.inner]
        checks = [place for place, call in enumerate(self.calls) if programs.is_check(call)]
        others = [place for place in own if not programs.is_trivial(self.calls[place])]
        counting = checks or others or own
        # The end of the line is not of what counts: then nothing is taken for granted.
        return sorted({*counting, *self.hidden})


@dataclass(frozen=True)
class _Proof:
    proven: frozenset[int] = frozenset()
    sources: frozenset[int] = frozenset()
    hidden: frozenset[int] = frozenset()
    first: frozenset[int] = frozenset()  # has ended with 0 where the first of a pipeline has
    is_never_zero: bool = False
    may_leave: bool = False  # it may end its shell with 0


class _Shell:
    """What the commands of one shell have set."""

    def __init__(self, has_errexit: bool = False, has_pipefail: bool = False):
        self.has_errexit = has_errexit
        self.has_pipefail = has_pipefail
        self.statuses: dict[str, _Proof] = {}
        self.functions: set[str] = set()

    def copy(self) -> _Shell:
        made = _Shell(self.has_errexit, self.has_pipefail)
        made.functions = set(self.functions)
        return made

    def weaken(self, other: _Shell) -> None:
        """By a part that may have been run."""
        self.limit_options(other)
        self.functions |= other.functions
        self.statuses = {}

    def limit_options(self, other: _Shell) -> None:
        """To those that are on either way."""
        self.has_errexit = self.has_errexit and other.has_errexit
        self.has_pipefail = self.has_pipefail and other.has_pipefail

    def forget(self, names: Iterable[str]) -> None:
        for name in names:
            self.statuses.pop(name, None)

    def set_options(self, words: Iterable[str]) -> None:
        """`set -euo pipefail`, `set +e`, `set -o errexit`."""
        left = list(words)
        while left:
            word = left.pop(0)
            is_on = word.startswith("-")
            if not word.startswith(("-", "+")):
                break
            if "e" in word[1:]:
                self.has_errexit = is_on
            if word.endswith("o") and left:
                self._set_option(left.pop(0), is_on)

    def _set_option(self, name: str, is_on: bool) -> None:
        if name == "errexit":
            self.has_errexit = is_on
        elif name == "pipefail":
            self.has_pipefail = is_on


def read_line(command: str) -> Line | None:
    """None where the line is not understood."""
    script = shell.parse_script(command)
    if script is None:
        return None
    walk = _Walk()
    try:
        proof = walk.follow_script(script, _Shell(), is_condition=False, is_whole=True)
    except ValueError:
        return None
    proven = frozenset() if walk.is_doubtful or proof.may_leave else proof.proven
    inner = frozenset(walk.inner)
    calls = tuple(walk.calls)
    return Line(calls, inner, proven, proof.sources, proof.hidden, walk.has_blocks)


class _Walk:
    def __init__(self) -> None:
        self.calls: list[Call] = []
        self.inner: set[int] = set()
        self.is_doubtful = False
        self.has_blocks = False
        self.nested = 0

    # --- lists ------------------------------------------------------------------------------------

    def follow_script(
        self, script: Script, state: _Shell, *, is_condition: bool, is_whole: bool = False
    ) -> _Proof:
        """`is_whole` where it is all that its shell runs: then `exit` ends nothing else."""
        proven: set[int] = set()
        sources: set[int] = set()
        before = _Proof()
        may_leave = False
        for place, item in enumerate(script.items):
            is_last = place == len(script.items) - 1
            if item.is_background:
                self.follow(item.node, state.copy(), is_condition=True)
                before = _Proof()
                continue
            is_end = is_last and is_whole
            status = self._find_exit(item.node, before, state) if is_end else None
            proof = status or self.follow(item.node, state, is_condition=is_condition)
            is_held = state.has_errexit and not is_condition and _is_held(item.node)
            if is_last or is_held:
                proven |= proof.proven
                sources |= proof.sources
            if not is_last:
                may_leave = may_leave or proof.may_leave
            self._note_status(item.node, before, state)
            before = proof
        return self._close(script, before, proven, sources, may_leave)

    def _close(
        self, script: Script, last: _Proof, proven: set[int], sources: set[int], may_leave: bool
    ) -> _Proof:
        is_waited_for = bool(script.items) and not script.items[-1].is_background
        return _Proof(
            proven=frozenset(proven),
            sources=frozenset(sources),
            hidden=last.hidden,
            is_never_zero=is_waited_for and last.is_never_zero and not may_leave,
            may_leave=may_leave or last.may_leave,
        )

    def _find_exit(self, node: Node, before: _Proof, state: _Shell) -> _Proof | None:
        """`exit $?` at the end hands on the code of what was before it, `exit $rc` an older one."""
        if not isinstance(node, shell.Program) or node.inside:
            return None
        words = [word.text for word in node.words]
        if words[:1] != ["exit"] or len(words) > 2:
            return None
        status = words[1] if len(words) == 2 else "$?"
        return self._find_status(status, before, state)

    def _find_status(self, status: str, before: _Proof, state: _Shell) -> _Proof | None:
        if status in LAST_STATUS:
            return before
        if status in FIRST_STATUS:
            return _Proof(before.first, before.first)
        named = _NAMED.fullmatch(status)
        return state.statuses.get(named[1] or named[2]) if named else None

    def _note_status(self, node: Node, before: _Proof, state: _Shell) -> None:
        """`rc=$?` right behind a command."""
        if not isinstance(node, shell.Program) or node.words or len(node.assignments) != 1:
            return
        name, _, status = node.assignments[0].text.partition("=")
        proof = self._find_status(status, before, state)
        if proof is not None and not node.inside:
            state.statuses[name] = proof

    def follow(self, node: Node, state: _Shell, *, is_condition: bool) -> _Proof:
        if isinstance(node, shell.Program):
            return self._follow_program(node, state, is_condition=is_condition)
        if isinstance(node, shell.Pipeline):
            return self._follow_pipeline(node, state, is_condition=is_condition)
        if isinstance(node, shell.Chain):
            return self._follow_chain(node, state, is_condition=is_condition)
        if isinstance(node, shell.Group):
            return self._follow_group(node, state, is_condition=is_condition)
        return self._follow_block(node, state)

    def _follow_pipeline(self, node: Pipeline, state: _Shell, *, is_condition: bool) -> _Proof:
        is_inside = is_condition or node.is_negated
        proofs: list[_Proof] = []
        places = [len(self.calls)]
        for member in node.members:
            is_single = len(node.members) == 1
            scope = state if is_single else state.copy()
            proof = self.follow(member, scope, is_condition=is_inside)
            proofs.append(proof if is_single else _leave_shell(proof))
            places.append(len(self.calls))
        last = proofs[-1]
        before = range(places[0], places[-2])
        if node.is_negated:
            hidden = frozenset(before) - self.inner
            return _Proof(sources=frozenset({NEGATED}), hidden=hidden, may_leave=last.may_leave)
        if state.has_pipefail:
            proven = frozenset[int]().union(*(proof.proven for proof in proofs))
            sources = frozenset[int]().union(*(proof.sources for proof in proofs))
            return _Proof(proven, sources, first=proofs[0].proven)
        ends_in_check = any(programs.is_check(call) for call in self.calls[places[-2] :])
        hidden = frozenset() if ends_in_check else frozenset(before)
        first = proofs[0].proven
        return _Proof(last.proven, last.sources, hidden - self.inner, first)

    def _follow_chain(self, node: Chain, state: _Shell, *, is_condition: bool) -> _Proof:
        first = self.follow(node.members[0], state, is_condition=True)
        proven, sources = set(first.proven), set(first.sources)
        last, is_never_zero, may_leave = first, first.is_never_zero, first.may_leave
        start = state.copy()
        ends = range(1, len(node.members))
        for place, operator in zip(ends, node.operators, strict=True):
            member = node.members[place]
            before = state.copy()
            is_end = place == ends[-1]
            last = self.follow(member, state, is_condition=is_condition or not is_end)
            if operator == "&&":
                proven |= last.proven
                sources |= last.sources
                is_never_zero = is_never_zero or last.is_never_zero
            else:
                fails = last.is_never_zero or _is_bare_exit(member)
                proven = self._join_proven(proven, last, fails=fails, was_sure=is_never_zero)
                sources = sources | last.sources if fails else set(last.sources)
                is_never_zero = is_never_zero and fails
                state.limit_options(before)
            may_leave = may_leave or (last.may_leave and not _is_bare_exit(member))
        state.limit_options(start)
        return _Proof(
            proven=frozenset(proven),
            sources=frozenset(sources),
            hidden=last.hidden,
            is_never_zero=is_never_zero,
            may_leave=may_leave,
        )

    def _join_proven(
        self, left: set[int], right: _Proof, *, fails: bool, was_sure: bool
    ) -> set[int]:
        """After `||` one side has passed: it is known which if the other one always fails, and it
        does not matter which if both are the same.
        """
        if fails:
            return left
        if was_sure:
            return set(right.proven)
        first = {self.calls[place].words for place in left}
        second = {self.calls[place].words for place in right.proven}
        both = left | right.proven
        return {place for place in both if self.calls[place].words in first & second}

    def _follow_group(self, node: Group, state: _Shell, *, is_condition: bool) -> _Proof:
        if not node.is_subshell:
            return self.follow_script(node.script, state, is_condition=is_condition)
        inside = state.copy()
        proof = self.follow_script(node.script, inside, is_condition=is_condition, is_whole=True)
        return _leave_shell(proof)

    def _follow_block(self, node: Block, state: _Shell) -> _Proof:
        self.has_blocks = True
        start = len(self.calls)
        may_leave = False
        inside = state.copy()
        for script in node.scripts:
            proof = self.follow_script(script, inside, is_condition=True)
            may_leave = may_leave or proof.may_leave
        if node.function:
            inside.functions.add(node.function)
        state.weaken(inside)
        return _Proof(sources=frozenset(range(start, len(self.calls))), may_leave=may_leave)

    # --- programs ---------------------------------------------------------------------------------

    def _follow_program(self, node: Program, state: _Shell, *, is_condition: bool) -> _Proof:
        for script in node.inside:
            self._follow_inner(script, state)
        names = [word.text.partition("=")[0] for word in (*node.assignments, *node.words)]
        state.forget(names)
        if any(programs.sets_idle(word.text) for word in (*node.assignments, *node.words)):
            self.is_doubtful = True
        if not node.words:
            return _Proof()
        call = programs.unwrap(node.words)
        if call.script is not None:
            return self._follow_given(call, state, is_condition=is_condition)
        place = self._add(call)
        is_finding = self._add_found(call)
        self._follow_options(call, state)
        is_end = call.name in ("exit", "return")
        is_failure = call.name == "false" or _is_failing_exit(call)
        is_unsure = call.is_open or call.is_loose or is_finding or call.name in state.functions
        proven = frozenset() if is_unsure or is_end or is_failure else frozenset({place})
        return _Proof(
            proven,
            frozenset({place}),
            first=proven,
            is_never_zero=is_failure,
            may_leave=is_end and not is_failure,
        )

    def _follow_inner(self, script: Script, state: _Shell) -> None:
        start = len(self.calls)
        self.follow_script(script, state.copy(), is_condition=True)
        self.inner.update(range(start, len(self.calls)))

    def _add(self, call: Call) -> int:
        if len(self.calls) >= MOST_CALLS:
            raise ValueError("too many programs")
        self.calls.append(call)
        return len(self.calls) - 1

    def _add_found(self, call: Call) -> bool:
        """`find -exec` runs a program, whatever comes of it; whether that may hide its end."""
        words = list(call.arguments)
        is_hiding = False
        for option in FOUND_OPTIONS:
            if call.name == "find" and option in words:
                given = words[words.index(option) + 1 :] or ["find"]
                found = programs.unwrap([Word(word) for word in given])
                self.inner.add(self._add(found))
                is_hiding = is_hiding or found.name not in known.READERS
        return is_hiding

    def _follow_given(self, call: Call, state: _Shell, *, is_condition: bool) -> _Proof:
        """What a shell was given to run: as if it stood here, in a shell of its own."""
        script = shell.parse_script(call.script or "")
        if script is None or self.nested >= MOST_NESTED:
            raise ValueError("not understood")
        self.nested += 1
        own = state
        is_own = call.name != "eval"
        if is_own:
            own = _Shell(call.has_errexit, call.has_pipefail)
        is_inside = is_condition and not is_own
        proof = self.follow_script(script, own, is_condition=is_inside, is_whole=is_own)
        self.nested -= 1
        if call.is_loose:
            return _Proof(sources=proof.sources)
        return _leave_shell(proof) if is_own else proof

    def _follow_options(self, call: Call, state: _Shell) -> None:
        if call.name == "set":
            state.set_options(call.arguments)
        elif call.name == "trap":
            self.is_doubtful = True
        elif call.name == "alias":
            state.functions |= {word.partition("=")[0] for word in call.arguments}
        elif call.name == "((":
            state.statuses = {}


def _leave_shell(proof: _Proof) -> _Proof:
    """Of a shell of its own: where it may have ended before its end, nothing is proven."""
    if proof.may_leave:
        return _Proof(sources=proof.sources)
    return proof


def _is_held(node: Node) -> bool:
    """Whether `set -e` ends the shell when this fails; a failure before `&&` does not."""
    if isinstance(node, shell.Chain):
        return "&&" not in node.operators
    if isinstance(node, shell.Group):
        return all(_is_held(item.node) for item in node.script.items)
    if isinstance(node, shell.Pipeline):
        return not node.is_negated and _is_held(node.members[-1])
    return isinstance(node, shell.Program)


def _is_bare_exit(node: Node) -> bool:
    """Behind `||` it hands on a failure."""
    if not isinstance(node, shell.Program):
        return False
    return [word.text for word in node.words] in (["exit"], ["return"])


def _is_failing_exit(call: Call) -> bool:
    if call.name not in ("exit", "return") or len(call.arguments) != 1:
        return False
    code = call.arguments[0]
    return code.isascii() and code.isdecimal() and int(code[:6]) % 256 != 0
