"""Patterns that are compiled when they are first used."""

import re
import subprocess
import sys

from holdfast.ground.patterns import compile_later


def test_a_late_pattern_does_what_a_compiled_one_does():
    late, pattern = compile_later("a(b)", re.IGNORECASE), re.compile("a(b)", re.IGNORECASE)

    assert late.sub("x", "AB") == pattern.sub("x", "AB")
    assert late.search("-ab").span() == pattern.search("-ab").span()
    assert late.pattern == pattern.pattern
    assert compile_later(rb"\d").findall(b"1a2") == [b"1", b"2"]


def test_an_import_compiles_no_pattern_of_ours():
    """Of the modules that make a bundle, which have about fifty of them."""
    program = (
        "import json, textwrap, subprocess, shlex, re._compiler as compiler\n"
        "def refuse(pattern, flags=0): raise AssertionError(pattern)\n"
        "compiler.compile = refuse\n"
        "import holdfast.bundles.service, holdfast.workstreams.service, holdfast.memories.service"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
