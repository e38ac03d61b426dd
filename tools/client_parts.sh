#!/bin/sh
# What the tests with real clients need beside npm's packages: a network of their own, and a terminal to type into.
# Installed from Debian's packages when it is missing and may be; else the tests say what is missing.
set -eu

has() { command -v "$1" >/dev/null 2>&1; }
missing=
has unshare || missing="$missing util-linux"
has ip || [ -x /usr/sbin/ip ] || missing="$missing iproute2"
has tmux || missing="$missing tmux"
[ -n "$missing" ] || exit 0
if [ "$(id -u)" = 0 ] && has apt-get; then
    echo "Installing$missing" >&2
    export DEBIAN_FRONTEND=noninteractive
    # shellcheck disable=SC2086  # several names
    { apt-get update -qq && apt-get install -qq -y --no-install-recommends $missing; } >&2 || true
fi
exit 0
