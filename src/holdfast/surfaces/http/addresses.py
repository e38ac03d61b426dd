"""What a host that a server is started for means."""

from __future__ import annotations

import ipaddress


def is_loopback(host: str) -> bool:
    address = _find_address(host)
    if address is None:
        return host.lower() == "localhost"
    return address.is_loopback


def is_wildcard(host: str) -> bool:
    address = _find_address(host)
    if address is None:
        return not host.strip()
    return address.is_unspecified


def _find_address(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(host)
    except ValueError:
        return None
