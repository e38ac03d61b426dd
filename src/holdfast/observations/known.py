"""The programs that are known by name: wrappers, checks, and options that change what they prove.

Names, no rules: `programs` says what they mean.
"""

from __future__ import annotations


def _list_words(text: str) -> frozenset[str]:
    return frozenset(text.split())


SHELLS = frozenset({"bash", "sh", "zsh", "dash", "ksh"})
# What they are given is written in another language, or goes elsewhere.
FOREIGN = frozenset({"cmd", "csh", "expect", "fish", "nu", "powershell", "pwsh", "script", "tcsh"})
REMOTE = frozenset({"ssh", "su", "runuser"})
INTERPRETERS = frozenset({"python", "py", "node", "ruby", "perl", "php", "deno", "bun"})
# Options of a wrapper that take a value of their own; what follows them is the program.
WRAPPERS = {
    "builtin": (),
    "caffeinate": (),
    "chronic": (),
    "command": (),
    "coproc": (),
    "doas": ("-u",),
    "env": ("-u", "--unset", "-C", "--chdir"),
    "exec": ("-a",),
    "flock": ("-w", "--timeout", "-E"),
    "gtimeout": ("-k", "--kill-after", "-s", "--signal"),
    "ionice": ("-c", "-n"),
    "nice": ("-n",),
    "nohup": (),
    "parallel": ("-j", "-N", "-n", "-a", "--jobs"),
    "pipx run": ("--spec",),
    "setsid": (),
    "stdbuf": ("-i", "-o", "-e"),
    "sudo": ("-u", "-g", "-C", "-h", "-p", "-D"),
    "taskset": (),
    "time": ("-o", "-f"),
    "timeout": ("-k", "--kill-after", "-s", "--signal"),
    "unbuffer": (),
    "watch": ("-n", "--interval"),
    "xargs": ("-n", "-P", "-I", "-L", "-d", "-s", "-a", "-E", "--max-args", "--max-procs"),
    "xvfb-run": ("-s", "-n", "-e", "-f"),
    "asdf exec": (),
    "bundle exec": (),
    "bunx": (),
    "conda run": ("-n", "-p", "--name", "--prefix"),
    "coverage run": ("--source", "--rcfile", "--omit", "--include", "--data-file"),
    "direnv exec": (),
    "docker compose exec": ("-u", "-e", "-w", "--user", "--env", "--workdir", "--index"),
    "docker compose run": ("-u", "-e", "-w", "-v", "-p", "--user", "--env", "--name"),
    "docker exec": ("-u", "-e", "-w", "--user", "--env", "--workdir", "--env-file"),
    "docker run": ("-u", "-e", "-w", "-v", "-p", "--name", "--network", "--mount", "--platform"),
    "docker-compose exec": ("-u", "-e", "-w", "--user", "--env", "--workdir"),
    "docker-compose run": ("-u", "-e", "-w", "-v", "-p", "--user", "--env", "--name"),
    "doppler run": ("-p", "-c"),
    "dotenv run": ("-f",),
    "hatch run": (),
    "kubectl exec": ("-n", "-c", "--namespace", "--container"),
    "mise exec": (),
    "npm exec": ("-p", "--package", "-w", "--workspace"),
    "npx": ("-p", "--package"),
    "op run": ("--env-file",),
    "pdm run": ("-p",),
    "pipenv run": (),
    "pixi run": ("-e", "--environment"),
    "pnpm dlx": ("--package",),
    "pnpm exec": ("--filter", "-F"),
    "podman exec": ("-u", "-e", "-w"),
    "podman run": ("-u", "-e", "-w", "-v", "-p", "--name"),
    "poetry run": ("-C", "-P"),
    "pyenv exec": (),
    "rbenv exec": (),
    "rye run": (),
    "uv run": (
        *("--extra", "--group", "--only-group", "--with", "--python", "-p", "--project"),
        *("--directory", "--package", "--env-file", "--with-requirements"),
    ),
    "uvx": ("--from", "--with", "--python", "-p"),
    "yarn dlx": ("-p",),
    "yarn exec": (),
}
# How many words stand between such a wrapper and its program: a time, a file, a container.
PLACES = {
    "timeout": 1,
    "gtimeout": 1,
    "flock": 1,
    "taskset": 1,
    "direnv exec": 1,
    "docker compose exec": 1,
    "docker compose run": 1,
    "docker exec": 1,
    "docker run": 1,
    "docker-compose exec": 1,
    "docker-compose run": 1,
    "kubectl exec": 1,
    "podman exec": 1,
    "podman run": 1,
}
# With these, 0 does not say that the program has ended, or that it was run at all.
LOOSE_WRAPPERS = frozenset({"coproc", "parallel", "setsid", "xargs", "watch"})
CONTAINERS = frozenset(name for name in PLACES if "exec" in name or "run" in name)
DETACHED = frozenset({"-d", "--detach", "--detach=true"})
DETACHING = frozenset({"tmux", "screen", "at", "batch", "disown", "systemd-run", "start", "bg"})
# Of these no failure says anything about the work.
TRIVIAL = _list_words(
    """
    cd pushd popd echo printf export unset set source . true : false sleep date pwd umask alias
    ulimit shopt local declare readonly typeset clear test [ [[ (( exit return break continue wait
    trap hash type
    """
)
# What these print was written by others, or says nothing about how they ended.
READERS = _list_words(
    """
    ag ack awk basename bat cat chmod chown column cp curl cut date df diff docker du echo egrep
    fgrep file find gh git glab grep head history jq journalctl kubectl less ln ls man mkdir more mv
    nl od podman printf ps pwd readlink rg rm sed sort stat strings tac tail tar tee touch tr
    tree uniq unzip wc wget xxd yq zcat zgrep zip
    """
)
# 1 is an answer of theirs, not a failure.
ANSWERING = _list_words(
    """
    grep egrep fgrep zgrep rg ag ack diff colordiff cmp test [ [[ (( which type hash expr pgrep
    pkill pidof mountpoint let
    """
)
ANSWERING_GIT = frozenset({"grep", "check-ignore", "merge-base", "show-ref"})

CHECKS = _list_words(
    """
    pytest unittest nosetests tox nox behave robot trial doctest py_compile compileall ruff mypy
    pyright basedpyright pylint flake8 bandit ty pyre vulture lint-imports pydocstyle pyflakes jest
    vitest mocha ava tap jasmine karma playwright cypress tsc eslint oxlint stylelint standard xo
    biome prettier tslint svelte-check vue-tsc rspec minitest cucumber rubocop brakeman standardrb
    phpunit pest phpstan psalm phpcs ctest ninja gcc g++ cc c++ clang clang++ javac kotlinc rustc
    ghc scalac golangci-lint staticcheck shellcheck hadolint actionlint yamllint ansible-lint tflint
    sqlfluff ktlint detekt checkstyle swiftlint xcodebuild prove pre-commit cargo-nextest gotestsum
    markdownlint commitlint semgrep trivy checkov htmlhint pytest-3 bats busted ginkgo webpack
    rollup esbuild black isort
    """
)
# Programs that do many things, and what of it proves something.
CHECKING = {
    "ansible-playbook": ("--syntax-check",),
    "bazel": ("test", "build", "coverage"),
    "bun": ("test", "build"),
    "cabal": ("test", "build", "check"),
    "cargo": ("test", "t", "check", "c", "build", "b", "clippy", "nextest", "bench", "doc"),
    "cmake": ("--build",),
    "composer": ("test", "validate", "check"),
    "dart": ("test", "analyze", "compile"),
    "deno": ("test", "check", "lint"),
    "django-admin": ("test", "check"),
    "dotnet": ("test", "build"),
    "elm": ("make",),
    "flutter": ("test", "analyze", "build"),
    "go": ("test", "build", "vet"),
    "helm": ("lint",),
    "lein": ("test", "check"),
    "manage.py": ("test", "check"),
    "meson": ("test", "compile"),
    "mix": ("test", "compile", "credo", "dialyzer"),
    "next": ("build", "lint"),
    "ng": ("test", "build", "lint"),
    "nx": ("test", "build", "lint", "affected", "run-many"),
    "php": ("-l",),
    "rails": ("test", "spec"),
    "rake": ("test", "spec", "default"),
    "react-scripts": ("test", "build"),
    "sbt": ("test", "compile"),
    "stack": ("test", "build"),
    "swift": ("test", "build"),
    "terraform": ("validate",),
    "turbo": ("test", "build", "lint", "typecheck", "check"),
    "vite": ("build",),
    "zig": ("test", "build"),
}
# Names of scripts and targets that somebody has written: what they do is in their name.
PACKAGE_MANAGERS = frozenset({"npm", "pnpm", "yarn", "bun"})
TARGETED = frozenset({"make", "gmake", "just", "task", "invoke", "gradle", "mvn", "ant"})
RUNNERS = frozenset({"hatch", "pixi", "pdm", "rye", "mise", "poetry", "turbo", "run-s", "run-p"})
SUBCOMMANDS = _list_words(
    """
    git docker kubectl uv poetry pip conda terraform helm gh brew apt systemctl composer bundle
    hatch pixi pdm rye mise
    """
)
ALIASES = {
    "py.test": "pytest",
    "pytest-3": "pytest",
    "gradlew": "gradle",
    "mvnw": "mvn",
    "gmake": "make",
    "pip3": "pip",
    "nodejs": "node",
}
# Options before a subcommand that take a value.
VALUED = {
    "git": ("-C", "-c", "--git-dir", "--work-tree"),
    "make": ("-C", "-f", "-I", "-o", "-W", "--directory", "--file"),
    "npm": ("--prefix", "-w", "--workspace", "-C"),
    "pnpm": ("--filter", "-F", "-C", "--dir"),
    "yarn": ("--cwd",),
    "docker": ("-f", "--file", "-p", "--project-name", "--context", "-H"),
    "go": ("-C",),
    "cargo": ("--manifest-path", "--config", "-C"),
    "gradle": ("-p", "-b", "--project-dir"),
    "mvn": ("-f", "-pl", "-P", "--file"),
    "just": ("-f", "-d", "--justfile"),
    "kubectl": ("-n", "--namespace", "--context"),
    "terraform": (),
}
# Variables that programs take further options from.
OPTION_VARIABLES = ("GOFLAGS", "MAKEFLAGS", "MAVEN_ARGS", "MAVEN_OPTS", "PYTEST_ADDOPTS")
# Options with which nothing is tried, or nothing is held to count.
IDLE_ANYWHERE = (
    "--dry-run",
    "--just-print",
    "--collect-only",
    "--continue-on-error",
    "--no-bail",
    "--ignore-failure",
)
IDLE_IN_CHECKS = _list_words(
    """
    --co --help -h --version -V --fixtures --markers --setup-plan --setup-only --exit-zero
    --listTests --list-tests --list --print-config --showConfig --show-settings --no-run
    --if-present --passWithNoTests --pass-with-no-tests --fail-never -fn --no-fail --soft-fail
    --show-only --suppress-no-test-exit-code --issues-exit-code=0 --exit-zero-even-if-changed
    --ignore-errors --recon --question --touch --init -DskipTests -DskipTests=true
    -Dmaven.test.skip=true -Dmaven.test.failure.ignore=true -Dmaven.test.failure.ignore
    --no-error-on-unmatched-pattern --notest --listenvs --cache-show --clearCache --nobuild
    -Dmaven.test.skip install uninstall autoupdate linters
    """
)
IDLE_IN = {
    "ctest": ("-N",),
    "gradle": ("-m",),
    "go": ("-list", "-c", "-n"),
    "tox": ("-l", "-a"),
    "nox": ("-l",),
    "ninja": ("-n", "-t"),
    "cypress": ("open",),
    "dotnet": ("-t",),
    "trivy": ("--exit-code=0",),
    "ruff": ("-e", "rule", "config", "clean", "linter", "server"),
}
WATCHING = frozenset({"--watch", "--watchAll", "--watch-all", "--continuous", "--ui"})
WATCHING_IN = {
    "cargo": ("watch",),
    "gradle": ("-t",),
    "mocha": ("-w",),
    "rollup": ("-w",),
    "tsc": ("-w",),
    "vitest": ("watch", "dev", "-w"),
    "webpack": ("-w", "serve"),
}
WATCHERS = _list_words(
    """
    nodemon watchexec entr ptw pytest-watch air uvicorn gunicorn flask http.server chokidar
    cargo-watch live-server browser-sync webpack-dev-server
    """
)
SERVING = frozenset({"dev", "start", "serve", "watch", "preview", "storybook", "server", "s"})
NOT_WATCHING = ("false", "no", "0")
