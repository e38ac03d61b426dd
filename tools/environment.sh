#!/bin/sh
# Make a virtual environment and install into it:  tools/environment.sh FOLDER PIP-ARGUMENTS…
#
# uv is used where it is, because it is several times faster. When uv cannot do it (no cache folder, an index that
# only pip is configured for), pip does: a slower set-up is better than none.
set -eu

folder=$1
shift

find_python() {
    for name in "${PYTHON:-python3}" python3 python3.13 python3.12 python3.11; do
        if "$name" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
            echo "$name"
            return
        fi
    done
    echo "Holdfast needs Python 3.11 or newer, and none is on PATH. Install one, or name it: make PYTHON=/path/to/python3" >&2
    exit 1
}

works() { [ -x "$folder/bin/python" ] && "$folder/bin/python" -c '' 2>/dev/null; }

# Scripts and editable installs carry absolute paths: an environment that was copied or moved is another checkout's.
belongs_here() { [ "$(cat "$folder/.made-in" 2>/dev/null)" = "$PWD" ]; }

with_uv() {
    command -v uv >/dev/null 2>&1 || return 1
    works || uv venv --quiet --python "$python" "$folder" || return 1
    uv pip install --quiet --python "$folder/bin/python" "$@"
}

with_pip() {
    if ! works || ! "$folder/bin/python" -m pip --version >/dev/null 2>&1; then
        "$python" -m venv --clear "$folder"
    fi
    "$folder/bin/python" -m pip install --quiet --disable-pip-version-check "$@"
}

belongs_here || rm -rf "$folder"
python=$(find_python)
echo "Setting up $folder" >&2
with_uv "$@" || with_pip "$@"
printf '%s\n' "$PWD" >"$folder/.made-in"
