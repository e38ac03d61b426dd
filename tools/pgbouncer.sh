#!/bin/sh
# Make sure that there is a pgbouncer for the tests of the pool: Debian's own, installed when it is missing and may be;
# else those tests say what is missing. Its service is not started: the tests start one of their own.
set -eu

command -v pgbouncer >/dev/null 2>&1 || [ -x /usr/sbin/pgbouncer ] && exit 0
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
    echo "Installing pgbouncer" >&2
    export DEBIAN_FRONTEND=noninteractive
    { apt-get update -qq && apt-get install -qq -y --no-install-recommends pgbouncer; } >&2 || true
fi
exit 0
