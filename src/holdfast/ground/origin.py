"""The one address of a server that a token is sent to: `https://host:port`, and nothing more.

Plain HTTP counts on loopback only, where nobody else listens. A user or a password in an address is
refused: it would be shown wherever the address is.
"""

from __future__ import annotations

from typing import NamedTuple

from holdfast.errors import InvalidValueError
from holdfast.ground.settings import hide_password

PORTS = {"https": 443, "http": 80}
MOST_CHARS = 300


class Origin(NamedTuple):
    scheme: str
    host: str
    port: int

    @property
    def is_encrypted(self) -> bool:
        return self.scheme == "https"

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        port = "" if self.port == PORTS[self.scheme] else f":{self.port}"
        return f"{self.scheme}://{host}{port}"


def parse_origin(field: str, text: str) -> Origin:
    from urllib.parse import urlsplit

    given = text.strip()
    if not given.isascii() or not given.isprintable() or len(given) > MOST_CHARS or " " in given:
        raise InvalidValueError(field, hide_password(given), "is not an address")
    try:
        parts = urlsplit(given)
        host, port = parts.hostname, parts.port
    except ValueError:
        raise InvalidValueError(field, hide_password(given), "is not an address") from None
    if "@" in parts.netloc:
        problem = "names a user or a password; the token is not part of the address"
        raise InvalidValueError(field, hide_password(given), problem)
    if parts.scheme not in PORTS or not host:
        problem = "is not an address such as https://team.example"
        raise InvalidValueError(field, given, problem)
    if parts.path not in ("", "/") or parts.query or parts.fragment:
        problem = "has more than scheme, host and port"
        raise InvalidValueError(field, given, problem)
    if parts.scheme == "http" and not is_loopback(host):
        problem = "is not encrypted; begin it with https://"
        raise InvalidValueError(field, given, problem)
    return Origin(parts.scheme, host, port or PORTS[parts.scheme])


def is_loopback(host: str) -> bool:
    if host in ("localhost", "::1"):
        return True
    numbers = host.split(".")
    is_address = len(numbers) == 4 and all(number.isdecimal() for number in numbers)
    return is_address and numbers[0] == "127"
