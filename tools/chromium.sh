#!/bin/sh
# Make sure that there is a Chromium for the console's tests: Debian's own, installed when it is missing and may be.
# The shell without windows needs about half of the processor time of the whole browser, so it is preferred.
set -eu

has() { command -v "$1" >/dev/null 2>&1; }
has chromium-headless-shell && exit 0
if [ "$(id -u)" = 0 ] && has apt-get; then
    has chromium && ! apt-cache show chromium-headless-shell >/dev/null 2>&1 && exit 0
    echo "Installing chromium-headless-shell" >&2
    export DEBIAN_FRONTEND=noninteractive
    { apt-get update -qq && apt-get install -qq -y --no-install-recommends chromium-headless-shell; } >&2 && exit 0
fi
has chromium && exit 0
echo "The console's tests need Chromium. Install it, for example: sudo apt-get install chromium-headless-shell" >&2
exit 1
