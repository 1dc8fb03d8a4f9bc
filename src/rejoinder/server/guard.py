"""Decides who may ask: API keys, and where a browser's request comes from.

A page of another site can make a browser send requests to this machine.  So a request that
names its origin must come from our own page, and one that changes something must name this
server as its host, also behind a name that points here (DNS rebinding).  Without keys
the host is checked for everything.
"""

import socket
from ipaddress import ip_address
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.requests import Request

from rejoinder.server.keys import Keys, read_keys
from rejoinder.server.problems import Problem
from rejoinder.server.settings import Settings

SAFE = frozenset({"GET", "HEAD", "OPTIONS"})


class Guard:
    """Lets requests in."""

    def __init__(self, settings: Settings) -> None:
        self._keys: Keys | None = read_keys(settings.keys) if settings.keys else None
        self._hosts = {"localhost", socket.gethostname().lower(), settings.host.lower()}
        self._hosts |= {host.lower() for host in settings.allowed_hosts}
        self._origins = frozenset(settings.allowed_origins)

    def check(self, request: Request, *, changes: bool = False) -> str | None:
        """Return the name of the key that was used; None where none is needed.

        Args:
            changes: whether the request changes what is stored.

        Raises:
            Problem: it may not come in.
        """
        if changes or self._keys is None:
            self._check_host(request.headers)
        if request.method not in SAFE:
            self._check_origin(request.headers)
        return self._check_key(request.headers)

    def _check_key(self, headers: Headers) -> str | None:
        if self._keys is None:
            return None
        given = headers.get("authorization", "")
        if not given:
            raise _refuse("an API key is needed: Authorization: Bearer KEY")
        kind, _, key = given.partition(" ")
        # LlamaIndex's client for TEI sends the key alone.
        name = self._keys.find(key.strip() if kind.lower() == "bearer" else given)
        if name is None:
            raise _refuse("this API key is not known here")
        return name

    def _check_host(self, headers: Headers) -> None:
        host = _get_name(headers.get("host", ""))
        if not (host in self._hosts or "*" in self._hosts or _is_address(host)):
            raise Problem(403, f"this server is not called {host!r}; allow it with --allow-host")

    def _check_origin(self, headers: Headers) -> None:
        origin = headers.get("origin")
        if origin is None or origin in self._origins:
            return
        if urlsplit(origin).netloc.lower() != headers.get("host", "").lower():
            raise Problem(403, f"requests from {origin[:200]!r} are not allowed")


def _refuse(message: str) -> Problem:
    return Problem(401, message, headers={"www-authenticate": "Bearer"})


def _get_name(host: str) -> str:
    """Return a Host header without its port."""
    try:
        return (urlsplit(f"//{host}").hostname or "").lower()
    except ValueError:
        return ""


def _is_address(host: str) -> bool:
    try:
        ip_address(host)
    except ValueError:
        return False
    return True
