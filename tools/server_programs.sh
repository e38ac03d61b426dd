#!/bin/sh
# Make sure that there is what stands beside a server in the tests: pgbouncer, and the proxies nginx and Caddy with a
# certificate of openssl. Debian's own, installed when it is missing and may be; else those tests say what is missing.
# No service is started: the tests start programs of their own.
set -eu

has() { command -v "$1" >/dev/null 2>&1 || [ -x "/usr/sbin/$1" ]; }
missing=
has pgbouncer || missing="$missing pgbouncer"
has nginx || missing="$missing nginx-light"
has caddy || missing="$missing caddy"
has openssl || missing="$missing openssl"
[ -n "$missing" ] || exit 0
if [ "$(id -u)" = 0 ] && has apt-get; then
    echo "Installing$missing" >&2
    export DEBIAN_FRONTEND=noninteractive
    policy=/usr/sbin/policy-rc.d
    if [ ! -e "$policy" ]; then
        trap 'rm -f "$policy"' EXIT
        printf '#!/bin/sh\nexit 101\n' >"$policy"
        chmod 755 "$policy"
    fi
    # One by one, so that what a distribution lacks does not keep the others away.
    apt-get update -qq >&2 || true
    for package in $missing; do
        apt-get install -qq -y --no-install-recommends "$package" >&2 || true
    done
fi
exit 0
