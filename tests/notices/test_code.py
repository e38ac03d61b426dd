"""Which packages a line brings, and what is a comment, in the languages that we know a little."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.notices.code import AddedCode, find_declared, is_prose, list_forms
from holdfast.notices.model import Edit


def read(path: str, text: str, old: str = "") -> AddedCode:
    return AddedCode(Edit(path, text, frozenset(text.split("\n")), old))


@pytest.mark.parametrize(
    ("path", "line", "packages"),
    [
        ("a.py", "import redis, os.path as p", ["redis", "os"]),
        ("a.py", "from redis.asyncio import Redis", ["redis"]),
        ("a.py", "from . import redis", []),
        ("a.py", "important = redis", []),
        ("a.ts", "import { x } from 'redis'", ["redis"]),
        ("a.ts", "import x from './redis'", []),
        ("a.js", "const r = require('redis')", ["redis"]),
        ("a.js", "const r = await import('@redis/client')", ["@redis/client"]),
        ("a.go", '\t"github.com/redis/go-redis/v9"', ["github.com/redis/go-redis/v9"]),
        ("a.go", 'fmt.Println("a/b")', []),
        ("a.rs", "use redis::Commands;", ["redis"]),
        ("a.rs", "use crate::redis;", []),
        ("A.java", "import redis.clients.jedis.Jedis;", ["redis.clients.jedis.Jedis"]),
        ("a.rb", "require 'redis'", ["redis"]),
        ("A.cs", "using StackExchange.Redis;", ["StackExchange.Redis"]),
        ("a.php", "use Predis\\Client;", ["Predis\\Client"]),
        ("a.c", "#include <hiredis/hiredis.h>", ["hiredis/hiredis.h"]),
        ("a.sh", "pip install -U redis==5 && echo done", ["redis"]),
        ("Dockerfile", "FROM redis:7", ["redis"]),
        ("compose.yaml", "    image: redis:7", ["redis"]),
        ("package.json", '"redis": "^4",', ["redis"]),
        ("package.json", '"name": "redis",', []),
        ("requirements-dev.txt", "redis[hiredis]>=5", ["redis"]),
        ("requirements.txt", "# redis", []),
        ("pyproject.toml", '    "redis>=5",', ["redis"]),
        ("pyproject.toml", 'redis = "^5"', ["redis"]),
        ("pyproject.toml", 'description = "redis"', []),
        ("Cargo.toml", 'redis = { version = "0.2" }', ["redis"]),
        ("setup.cfg", "    redis>=5", ["redis"]),
        ("go.mod", "\tgithub.com/redis/go-redis/v9 v9.1.0", ["github.com/redis/go-redis/v9"]),
        ("Gemfile", "gem 'redis', '~> 5'", ["redis"]),
        ("pom.xml", "<artifactId>jedis</artifactId>", ["jedis"]),
        ("build.gradle", "implementation 'redis.clients:jedis:5.1'", ["redis.clients.jedis"]),
        ("a.sql", "import redis", []),
    ],
)
def test_the_packages_of_a_line(path: str, line: str, packages: list[str]):
    assert read(path, line).packages == packages


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("a.py", "# redis"),
        ("a.py", '"""\nredis\n"""'),
        ("a.py", "x = 'redis'"),
        ("a.ts", "// redis"),
        ("a.ts", "/* redis\n redis */"),
        ("a.sql", "-- redis"),
        ("a.html", "<!-- redis\nredis -->"),
        ("a.md", "redis"),
    ],
)
def test_comments_texts_and_prose_have_no_names(path: str, text: str):
    assert "redis" not in read(path, text).names


def test_a_mark_of_a_comment_inside_a_text_is_none():
    assert "redis" in read("a.ts", "get('http://a', redis)").names


def test_what_is_defined_is_known():
    text = "class Ledger:\n    def post(self): ...\nLIMIT = 3\nfunc (s *Store) Put() {}\n"

    assert {"Ledger", "post", "LIMIT", "Put"} <= read("a.py", text).defined


def test_names_of_a_package():
    assert "redis" in list_forms("github.com/redis/go-redis/v9")
    assert "redis" in list_forms("aioredis")
    assert "kafka" in list_forms("kafkajs")
    assert "strawberry-graphql" in list_forms("strawberry_graphql")
    assert find_declared("requirements.txt", "redis==5\n# kafka\n") >= {"redis"}
    assert is_prose("docs/a.md")
    assert not is_prose("requirements.txt")


@given(st.text(max_size=300), st.sampled_from(["a.py", "a.ts", "a.go", "package.json", "a.txt"]))
def test_any_text_can_be_read(text: str, path: str):
    read(path, text, text[:50])
