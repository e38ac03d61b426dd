"""T2: words about work pass, and the work itself does not, nor how it was talked about."""

from collections.abc import Callable

import pytest

from holdfast.team.errors import NotMetadataError, SecretFoundError
from holdfast.team.metadata_rules import check_metadata, find_problem
from tests.security.secret_samples import BY_STRUCTURE, benign, plant, samples
from tests.team import (
    forbidden_samples,
    fresh_samples,
    honest_samples,
    later_samples,
    third_samples,
)

REASONS = {
    "diff": {"a diff"},
    "code": {"code"},
    "contents": {"file contents", "code", "the output of a program"},
    "transcript": {"a transcript"},
    "absolute path": {"an absolute path"},
}
FORBIDDEN = [(kind, text) for kind, texts in forbidden_samples.FORBIDDEN.items() for text in texts]
# Written after the rules. At first sight no honest text of the two sets was refused; of forbidden
# ones 11 of 40 passed, and after a change of the rules 6 of the other 40.
LATER = [
    text
    for samples_of in (fresh_samples, third_samples)
    for texts in samples_of.FORBIDDEN.values()
    for text in texts
]
# One statement, and a line that may be a sentence.
MISSED = {"create index orders_by_day on orders (day);\nanalyze orders;"}


def find_reason(text: str) -> str | None:
    try:
        check_metadata("summary", text)
    except NotMetadataError as refused:
        return refused.reason
    except SecretFoundError as refused:
        return refused.rule
    return None


@pytest.mark.parametrize("text", honest_samples.HONEST)
def test_what_agents_write_for_colleagues_passes(text: str):
    check_metadata("summary", text)


@pytest.mark.parametrize(("kind", "text"), FORBIDDEN)
def test_what_is_more_than_metadata_is_refused_with_its_reason(kind: str, text: str):
    # A prompt of a shell names the folder that it is in: it is refused as a path.
    assert find_reason(text) in REASONS[kind] | {"an absolute path"}


def test_there_are_enough_samples_of_both_kinds():
    assert len(set(honest_samples.HONEST)) >= 120
    assert len({text for _, text in FORBIDDEN}) >= 150
    assert max(map(len, honest_samples.HONEST)) > 3_500


@pytest.mark.parametrize("text", [*fresh_samples.HONEST, *third_samples.HONEST])
def test_what_the_rules_were_not_written_for_passes_too(text: str):
    check_metadata("summary", text)


def test_what_the_rules_were_not_written_for_is_refused_too():
    assert {text for text in LATER if find_reason(text) is None} == MISSED


# What a colleague pastes as proof looks like the output that it was.
REFUSED = {"E   assert 3 == 4 was my own mistake in the fixture, ignore the red run"}
# Short pieces without the signs of code, YAML without depth, a quoted prompt.
STILL_MISSED = {
    "let total = items.iter().map(|i| i.price).sum::<u64>();\nOk(total)",
    "for f in *.py; do\n  sed -i 's/a/b/' $f\ndone",
    "puts x if x.nil?\nx.each do |i|\n  puts i\nend",
    "name: ci\non: [push]\njobs:\n  test:\n    runs-on: ubuntu-latest",
    "> can you fix the login?\n\nI'll start by reading the file.\n\n> ok go on",
    "- return x\n+ return y",
    "match x:\n    case 1:\n        y = 2",
}


def test_of_four_hundred_later_texts_one_is_refused():
    """Each alone, and six as one summary: as lines, as a list and as prose."""
    honest = later_samples.HONEST
    assert {text for text in honest if find_reason(text)} == REFUSED
    kept = [text for text in honest if text not in REFUSED]
    parts = [kept[start : start + 6] for start in range(0, len(kept), 6)]
    for part in parts:
        for text in ("\n".join(part), "- " + "\n- ".join(part), ". ".join(part)):
            assert find_reason(text) is None, text


def test_of_later_forbidden_texts_these_are_missed():
    texts = [text for several in later_samples.FORBIDDEN.values() for text in several]
    assert len(texts) >= 165
    assert {text for text in texts if find_reason(text) is None} == STILL_MISSED


PATHS = (
    "see %2Fhome%2Fana%2Fx.py",
    "%252Fhome%252Fana",
    "C%3A%5CUsers%5Cana",
    "\\/home\\/ana\\/x.py",
    "/workspace/payouts/README.md",
    "in /workspaces/payouts/docs/notes.txt",
    "/data/acme/x.bin",
    "/storage/emulated/0/Download",
    "/github/workspace/build",
    "/volume1/homes/ana",
    "sftp://box/home/ana",
    "ssh://dev@box:22/srv/payouts",
    "vscode-remote://ssh-remote+box/home/ana/x",
    "smb://nas/share/x",
    "D:projects\\acme\\x.py",
    "修改了/home/ana/x.py",
    "文件在/Users/ana/payouts里",
    "修改了src/和/home/ana/x.py",
    "修改了模块/src/a.py，见/opt/app/x.py",
    "файл: /srv/payouts/x.py",
)
ROUTES = (
    "/api/contexts is slow, /api/state is not",
    "/workspaces/acme/members and /data/countries.json are routes",
    "/storage/avatars/5.png is served by nginx, /repos/acme/payouts/readme by the API",
    "the sitemap is at /data/map.xml?next=%2Fstart",
    "the route is ^\\/api\\/v1\\/users$ now",
    "clone ssh://git@github.com/acme/payouts.git",
    "Uploads go to sftp://files.example.org/in once an hour",
    "修改了 src/模块/0/retry.py 和 tests/模块/api/test.py。",
    "修改了src/模块/retry/x.py",
    "Изменил пакет/src/main.py",
)


@pytest.mark.parametrize("text", PATHS)
def test_a_path_of_a_machine_is_refused_however_it_is_written(text: str):
    assert find_reason(text) == "an absolute path"


@pytest.mark.parametrize("text", ROUTES)
def test_routes_and_addresses_are_not_paths_of_a_machine(text: str):
    assert find_reason(text) is None


CONVERSATIONS = (
    "Ana: can you fix the retry?\nClaude: sure, I changed deliver().\nAna: thanks\nClaude: done",
    "**Bo:** why is it slow?\n\n**Codex:** I found a missing index.",
    "- dev-a: please add a test\n- Gemini: yes, it is in tests/retry.py",
    "Ana: kannst du das prüfen?\nModel: ja, es fehlt ein Test.",
)
SPEAK_OF_AGENTS = (
    "Agent: codex\nBranch: feat/retry\nStatus: done\n\nAgent: claude\nBranch: main\nStatus: open",
    "Claude: retry\nCodex: tests\nAna: review",
    "Model: Payout\nView: PayoutList\nRoute: /payouts",
    "Next: I write the docs\nAgent: you can take the tests",
    "Open question: who owns the schema?\nClaude: I go on with the docs meanwhile",
    "Q: do we keep the route?\nA: yes, until you migrate.",
)


@pytest.mark.parametrize("text", CONVERSATIONS)
def test_a_person_and_an_agent_who_speak_to_each_other_are_a_transcript(text: str):
    assert find_reason(text) == "a transcript"


@pytest.mark.parametrize("text", SPEAK_OF_AGENTS)
def test_fields_and_questions_of_an_author_are_not_a_transcript(text: str):
    assert find_reason(text) is None


def test_no_planted_secret_of_a_known_structure_passes(
    record_property: Callable[[str, object], None],
):
    """TS17: in every way that it may be written down."""
    planted = [text for sample in samples() for text in plant(sample)]
    known = [text for text in planted if text.sample.family in BY_STRUCTURE]
    record_property("N", len(planted))

    passed = [text for text in planted if find_reason(text.text) is None]

    assert [text for text in known if text in passed] == []
    assert len(passed) <= 0.03 * len(planted)


def test_an_invisible_or_full_width_character_hides_no_secret():
    for sample in samples():
        if sample.family in BY_STRUCTURE and sample.family != "PEM":
            half = len(sample.secret) // 2
            hidden = f"{sample.secret[:half]}\u200b{sample.secret[half:]}"
            assert find_reason(sample.line.replace(sample.secret, hidden)), sample.family
            wide = "".join(chr(ord(c) + 0xFEE0) if c.isalnum() else c for c in sample.line)
            assert find_reason(wide), sample.family


def test_a_secret_is_never_part_of_the_refusal():
    for sample in samples():
        for text in (sample.line, f"$ env\n{sample.line}\nUser: x\nAssistant: {sample.line}"):
            with pytest.raises((NotMetadataError, SecretFoundError)) as refused:
                check_metadata("summary", text)
            assert sample.secret[:12] not in str(refused.value)


def test_ids_hashes_and_other_random_words_pass():
    """TS17b: one in two hundred may be refused; encoded data and absolute paths are no metadata."""
    contents = {"picture", "encrypted", "signature", "public key", "path"}
    words = [word for word in benign(3_000) if word.kind not in contents]
    refused = [word.kind for word in words if find_reason(f"Worked on {word.token} today.")]

    assert len(refused) <= len(words) // 200, set(refused)


def test_a_refusal_names_the_field_the_line_and_what_to_do():
    with pytest.raises(NotMetadataError) as refused:
        check_metadata("summary", "Fixed it.\n\nSee:\n@@ -1,2 +3,4 @@ def load():")

    assert (refused.value.field, refused.value.reason, refused.value.line) == (
        *("summary", "a diff", 4),
    )
    assert "line 4: @@ -1,2 +3,4 @@" in refused.value.message
    assert refused.value.http_status == 422
    assert refused.value.exit_code == 5


WORST = {
    "spaces": " ",
    "dashes": "-",
    "backquotes": "`a",
    "quotes": "\"a': ",
    "slashes": "/a",
    "slashes after spaces": " /a.b",
    "backslashes": "\\\\a",
    "brackets": "<a ",
    "closed brackets": "a(b)",
    "assignments": "a.b, ",
    "colons": "a: ",
    "role lines": "\nuser",
    "prompts": "\na@b:c ",
    "marks": "\n> > - ",
    "margins": "\n12 | a",
    "one margin": "\n          ",
    "keys": "\n  a: b\n",
    "numbers": "\n1,1,1",
    "equals": "a == ",
    "digits": "@@ -1,1",
    "routes": "/a/b.c/",
    "select": "\nselect a, ",
    "words": "word ",
    "tags": "<user",
    "wide": "ﷺ",
    "letters with marks": "ü",
    "no spaces": "字",
}


@pytest.mark.parametrize("unit", WORST.values(), ids=WORST)
def test_a_hostile_text_costs_no_more_than_a_long_one(unit: str):
    """Twenty-five times the limit: a pattern that can be read in two ways would never end."""
    for count in (4_000, 100_000 // len(unit)):
        find_problem(unit * count)
        find_problem("feat/" + unit * count)
