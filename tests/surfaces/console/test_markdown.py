"""Markdown of agents: what is rendered, what stays text, and that nothing of it is ever raw."""

from collections import Counter
from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.surfaces.console.links import web_link
from holdfast.surfaces.console.markdown import TAGS, render

ATTRIBUTES = {
    "a": {"href", "title", "rel", "target"},
    "ol": {"start"},
    "pre": {"data-language"},
    "div": {"class"},
    "span": {"class", "title"},  # the mark of a character that cannot be seen
}
MARKS = ["*", "**", "_", "~~", "`", "```", "#", "- ", "1. ", "> ", "|", "|-|-|", "\n", "\n\n", "  "]
PARTS = [*MARKS, "[a](", "https://x.example/a", ")", "](", "<b onclick=x>", "&amp;", "\\", "\x1b"]
texts = st.one_of(
    st.text(max_size=80),
    st.lists(st.one_of(st.sampled_from(PARTS), st.text("ab <é", max_size=3)), max_size=40).map(
        "".join
    ),
)


class Reader(HTMLParser):
    """Which tags a browser would see, whether they are closed, and what a person would read."""

    def __init__(self, html: str):
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.links: list[str] = []
        self.deepest = 0
        self.seen = ""
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        assert tag in TAGS
        assert given.keys() <= ATTRIBUTES.get(tag, set())
        self.seen += given.get("href") or given.get("data-language") or ""
        self.seen += given.get("start") or ""
        if tag == "a":
            self.links.append(given["href"] or "")
            assert given["rel"] == "noopener noreferrer"
        if tag != "hr":
            self.open.append(tag)
            self.deepest = max(self.deepest, len(self.open))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.seen += data

    def handle_comment(self, data: str) -> None:
        raise AssertionError(data)

    handle_decl = handle_pi = unknown_decl = handle_comment


def count_letters(text: str) -> Counter[str]:
    return Counter(filter(str.isalpha, text))


@given(texts)
def test_only_known_tags_are_written_and_each_is_closed(text: str):
    read = Reader(render(text))

    assert read.open == []
    assert all(web_link(link) for link in read.links)


@given(texts)
def test_no_letter_of_an_answer_is_lost(text: str):
    read = Reader(render(text))

    assert count_letters(text) <= count_letters(read.seen)


@pytest.mark.parametrize(
    "text",
    [
        "*" * 100_000 + "a",
        "a* *a " * 10_000,
        "**a " * 16_666,
        "`*_~" * 16_666,
        "".join("`" * count + " " for count in range(900)),
        "[" * 100_000,
        "[a](" * 33_333,
        "[a\n" * 33_333,
        "https://x.example/" + ")" * 100_000,
        "\n".join(" " * count + "- x" for count in range(900)),
        "- " * 50_000 + "x",
        "- - - - - - - - x\n" * 3_333,
        "- x\n\n" * 6_666,
        "- x\n" + "\n" * 66_666 + "y",
        "> " * 50_000 + "x",
        "|a" * 3_333 + "\n" + "|-" * 3_333 + "\n" + "|a\n" * 3_333,
        "#" * 100_000,
        "# " + " #" * 50_000,
        "```\n" * 16_666,
        " " * 100_000 + "x",
        "\\" * 100_000,
    ],
    ids=lambda text: f"{text[:8]!a} {len(text)}",
)
def test_a_hostile_text_takes_no_longer_than_any_other(text: str):
    """Where a step were repeated for each sign, the guard against hanging would end this test."""
    read = Reader(render(text))

    assert read.deepest < 60


TABLE = (
    '<div class="table"><table><thead><tr><th>a</th><th>b</th></tr></thead><tbody>'
    "<tr><td>1</td><td>x | y</td></tr><tr><td>short</td></tr></tbody></table></div>"
    "<p>after</p>"
)


@pytest.mark.parametrize(
    ("text", "html"),
    [
        ("plain", "<p>plain</p>"),
        ("two\nlines\n\nand more", "<p>two\nlines</p><p>and more</p>"),
        ("# One\n#### Four ##", "<h3>One</h3><h6>Four</h6>"),
        ("#5 is no heading", "<p>#5 is no heading</p>"),
        (
            "*a* **b** ***c*** ~~d~~",
            "<p><em>a</em> <strong>b</strong> <strong><em>c</em></strong> <del>d</del></p>",
        ),
        ("my_file_name and 2 * 3 * 4", "<p>my_file_name and 2 * 3 * 4</p>"),
        ("**open", "<p>**open</p>"),
        ("*a **b* c**", "<p><em>a **b</em> c**</p>"),
        ("a `<b>` ``x`y`` `z", "<p>a <code>&lt;b&gt;</code> <code>x`y</code> `z</p>"),
        (r"\*no\* \\", r"<p>*no* \</p>"),
        ("---", "<hr>"),
        ("- a\n- b", "<ul><li><p>a</p></li><li><p>b</p></li></ul>"),
        ("3. a\n4. b", '<ol start="3"><li><p>a</p></li><li><p>b</p></li></ol>'),
        (
            "1. a\n  - b\n\n2. c",
            "<ol><li><p>a</p><ul><li><p>b</p></li></ul></li><li><p>c</p></li></ol>",
        ),
        ("- a\n\n  b\n\nc", "<ul><li><p>a</p><p>b</p></li></ul><p>c</p>"),
        ("- a\nlazy\n# H", "<ul><li><p>a\nlazy</p></li></ul><h3>H</h3>"),
        ("- [x] a\n- [ ] b", "<ul><li><p>☑ a</p></li><li><p>☐ b</p></li></ul>"),
        ("-\n- ", "<ul><li></li><li></li></ul>"),
        ("-      code", "<ul><li><p>code</p></li></ul>"),
        (
            "> a\n> > b\n\nc",
            "<blockquote><p>a</p><blockquote><p>b</p></blockquote></blockquote><p>c</p>",
        ),
        (
            "```py\n  x = 1\n```\nafter",
            '<pre data-language="py"><code>  x = 1</code></pre><p>after</p>',
        ),
        ("~~~~\n~~~\n~~~~", "<pre><code>~~~</code></pre>"),
        ("```\nnever closed", "<pre><code>never closed</code></pre>"),
        ("text\n\n    code\n    more", "<p>text</p><pre><code>code\nmore</code></pre>"),
        (
            "| a | b |\n|---|:-:|\n| 1 | x \\| y |\n| short |\nafter",
            TABLE,
        ),
        ("a | b\nno table", "<p>a | b\nno table</p>"),
        ("<script>x</script>", "<p>&lt;script&gt;x&lt;/script&gt;</p>"),
    ],
)
def test_what_agents_write_is_rendered(text: str, html: str):
    assert render(text) == html


@pytest.mark.parametrize(
    ("text", "links"),
    [
        ("see https://x.example/a_b(c).", ["https://x.example/a_b(c)"]),
        ("(https://x.example/a)", ["https://x.example/a"]),
        ("**https://x.example/a**", ["https://x.example/a"]),
        ("[the `docs`](https://x.example)", ["https://x.example"]),
        ("[one ` tick](https://x.example)", ["https://x.example"]),
        ("![picture](http://x.example/p.png)", ["http://x.example/p.png"]),
        ("[a](javascript:alert(1)) [b](/etc/passwd) [c](data:text/html,x)", []),
        ("[a](//x.example) https://good.example@x.example/", []),
        ("`https://x.example/a`", []),
    ],
)
def test_only_addresses_of_the_web_become_links(text: str, links: list[str]):
    assert Reader(render(text)).links == links


def test_a_refused_link_is_shown_as_it_was_written():
    assert Reader(render("[click](javascript:x)")).seen == "[click](javascript:x)"


def test_a_character_that_cannot_be_seen_is_shown():
    assert "\\u202e" in render("a `\u202eb` **\u202ec**")
    assert "\u202e" not in render("```\n\u202e\n```")
