#!/bin/sh
# Make sure that there is a Chromium for the console's tests: Debian's own, installed when it is missing and may be.
set -eu

command -v chromium >/dev/null 2>&1 && exit 0
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
    echo "Installing chromium" >&2
    export DEBIAN_FRONTEND=noninteractive
    { apt-get update -qq && apt-get install -qq -y --no-install-recommends chromium; } >&2 && exit 0
fi
echo "The console's tests need Chromium. Install it, for example: sudo apt-get install chromium" >&2
exit 1
