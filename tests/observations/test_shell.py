"""A command line is taken apart as a shell would, or not at all."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.observations.shell import (
    Block,
    Chain,
    Group,
    Node,
    Pipeline,
    Program,
    Script,
    parse_script,
)


def describe(node: Node | Script) -> str:
    """Everything in brackets, so that the structure is seen."""
    if isinstance(node, Script):
        items = [describe(item.node) + "&" * item.is_background for item in node.items]
        return "; ".join(items)
    if isinstance(node, Program):
        return describe_program(node)
    if isinstance(node, Pipeline):
        return "!" * node.is_negated + "|".join(describe(member) for member in node.members)
    if isinstance(node, Chain):
        first, *rest = [f"[{describe(member)}]" for member in node.members]
        pairs = zip(node.operators, rest, strict=True)
        return first + "".join(operator + member for operator, member in pairs)
    if isinstance(node, Group):
        return ("sub" if node.is_subshell else "group") + f"({describe(node.script)})"
    assert isinstance(node, Block)
    return f"block{node.function}({', '.join(describe(script) for script in node.scripts)})"


def describe_program(program: Program) -> str:
    words = [word.text if word.is_fixed else f"~{word.text}" for word in program.words]
    settings = [f"{word.text}:" for word in program.assignments]
    inside = [f"<{describe(script)}>" for script in program.inside]
    return " ".join([*settings, *words, *inside])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a b", "a b"),
        ("", ""),
        ("# a", ""),
        ("a #b; c\nd", "a; d"),
        ("a#b", "a#b"),
        ("a;b", "a; b"),
        ("a;;b", None),
        ("a; ; b", None),
        (";a", None),
        ("a & b &", "a&; b&"),
        ("a && b || c", "[a]&&[b]||[c]"),
        ("a &&\n\n b", "[a]&&[b]"),
        ("a &&", None),
        ("&& a", None),
        ("a | b |& c", "a|b|c"),
        ("a |\n b", "a|b"),
        ("a |", None),
        ("| a", None),
        ("! a | b", "!a|b"),
        ("! ! a", "a"),
        ("time -p a", "a"),
        ("a\\\n b", "a b"),
        ("a\r\nb\r\n", "a; b"),
        ("a 'b; c' \"d | e\"", "a b; c d | e"),
        ("a b\\ c \\; d", "a b c ; d"),
        ("a 'b'\"c\"d", "a bcd"),
        ("a 'b", None),
        ('a "b', None),
        ("a \\", None),
        ('a "\\"\\x\\$"', 'a "\\x$'),
        ('a "b\\\nc"', "a bc"),
        ("a $b ${c:-d} $? $", "a ~$b ~${c:-d} ~$? $"),
        ("a \"$b\" '$b'", "a ~$b $b"),
        ("a ${b:-'}'} ${c:-\"}\"} ${d:-${e}}", "a ~${b:-'}'} ~${c:-\"}\"} ~${d:-${e}}"),
        ("a ${b", None),
        ("a $((1 + 2)) b", "a ~$(()) b"),
        ("a $(b; c)", "a ~$() <b; c>"),
        ("a $(b $(c))", "a ~$() <b ~$() <c>>"),
        ("a $(b", None),
        ("a `b | c`", "a ~$() <b|c>"),
        ("a `b \\`c\\` \\x`", "a ~$() <b ~$() x <c>>"),
        ("a `b", None),
        ("a `b 'c`", None),
        ('a "`b`" "$(c)"', "a ~$() ~$() <b> <c>"),
        ("a <(b) >(c)", "a ~$() ~$() <b> <c>"),
        ("a > >(b)", "a <b>"),
        ("a $'b\\'c'", "a b\\'c"),
        ("a $'b", None),
        ("a > b 2>&1 < c &> d >> e <<< 'f; g' {x}>h", "a"),
        ("> a", ""),
        ("a >", None),
        ("X=1 Y=$z a X=2", "X=1: Y=$z: a X=2"),
        ("X=1", "X=1:"),
        ("X=(a 'b c'\nd) e", "X=: e"),
        ("a[1]=2 b", "a[1]=2: b"),
        ("cat <<E\na; b\nE\nc", "cat; c"),
        ("cat <<'E' <<-F | d\na\nE\nb\n\tF\nc", "cat|d; c"),
        ("cat <<E\na", None),
        ("cat <<E", None),
        ("a $(cat <<'E'\nb 'c\nE\n)", "a ~$() <cat>"),
        ("a $(cat <<E)", None),
        ("(a; b)", "sub(a; b)"),
        ("(a) > b 2>&1 && c", "[sub(a)]&&[c]"),
        ("(a", None),
        ("()", None),
        ("{ }", None),
        ("a $()", "a ~$() <>"),
        ("a)", None),
        ("a (b", None),
        ("{ a; b; }", "group(a; b)"),
        ("{ a; b", None),
        ("}", None),
        ("echo { }", "echo { }"),
        ("((1 + 2)) && a", "[((]&&[a]"),
        ("((1", None),
        ("[[ $a && b || (c) ]] && d", "[[[]&&[d]"),
        ("if a; then b; elif c; then d; else e; fi; f", "block(a, b, c, d, e); f"),
        ("if a; then b", None),
        ("if a; b; done", None),
        ("while a; do b; done < c", "block(a, b)"),
        ("until a\ndo b\ndone", "block(a, b)"),
        ("while a; b", None),
        ("for x in 1 $(a); do b; done", "block(b)"),
        ("for ((i=0; i<3; i++)); do b; done", "block(b)"),
        ("for x\ndo b; done", "block(b)"),
        ("case $x in a|b) c;; (d) e;& *) f;;& esac", "block(c, e, f)"),
        ("case x in a) b\nesac", "block(b)"),
        ("case x in a) b", None),
        ("f() { a; }; b", "blockf(group(a)); b"),
        ("f () (a)", "blockf(sub(a))"),
        ("function f { a; }", "blockf(group(a))"),
        ("function f() { a; }\nb", "blockf(group(a)); b"),
        ("f(a", None),
        ("echo if then fi done", "echo if then fi done"),
        ("a " + "b" * 200_000, None),
        ("a " * 30_000, None),
        ("(" * 40 + "a" + ")" * 40, None),
    ],
    ids=lambda value: str(value)[:30],
)
def test_a_line_has_the_structure_that_a_shell_sees(text: str, expected: str | None):
    script = parse_script(text)

    assert (None if script is None else describe(script)) == expected


@given(st.text(st.sampled_from("abEx= \n\t;|&()<>{}[]$`'\"\\!#-\r"), max_size=60))
def test_any_line_is_taken_apart_or_not_without_an_error(text: str):
    script = parse_script(text)

    assert script is None or describe(script) is not None


@given(st.text(st.characters(exclude_characters="'\0\r"), max_size=30))
def test_what_stands_in_single_quotes_is_one_word_as_it_is(text: str):
    script = parse_script(f"a '{text}'")

    assert script is not None
    [item] = script.items
    assert isinstance(item.node, Program)
    assert item.node.words[1].text == text
