"""Access control: API keys, and the Host and Origin headers of browsers.

A page of another site can make a browser send requests to this machine.  So a request with an
Origin must come from our own page, and one that writes must name this server as its Host, against
DNS rebinding.  Without keys the Host is checked for every request.

Only hashes of keys are stored.  A line of the key file is `sha256:<64 hex digits> <name>`; lines
that begin with # are comments.  A key has 256 random bits, so its hash needs no salt.
"""

import hashlib
import hmac
import logging
import os
import re
import secrets
import socket
import stat
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.requests import Request

from rejoinder.errors import DataError, InputError
from rejoinder.server.problems import Problem
from rejoinder.server.settings import Settings, parse_address

_log = logging.getLogger(__name__)
_LINE = re.compile(r"sha256:([0-9a-f]{64}) (\S.*)")


class Guard:
    """Authorises requests."""

    def __init__(self, settings: Settings) -> None:
        self._keys = read_keys(settings.keys) if settings.keys else None
        self._hosts = {"localhost", socket.gethostname().lower(), settings.host.lower()}
        self._hosts |= {host.lower() for host in settings.allowed_hosts}
        self._origins = frozenset(settings.allowed_origins)

    def check(self, request: Request, *, writes: bool) -> str | None:
        """Return the name of the request's key, or None where no key is needed; else refuse it."""
        if writes or self._keys is None:
            self._check_host(request.headers)
        if request.method not in {"GET", "HEAD", "OPTIONS"}:
            self._check_origin(request.headers)
        return self._check_key(request.headers)

    def _check_key(self, headers: Headers) -> str | None:
        if self._keys is None:
            return None
        credentials = headers.get("authorization", "")
        if not credentials:
            raise _unauthorized("an API key is required: Authorization: Bearer KEY")
        scheme, _, key = credentials.partition(" ")
        # LlamaIndex's client for TEI sends the key alone.
        name = self._keys.find(key.strip() if scheme.lower() == "bearer" else credentials)
        if name is None:
            raise _unauthorized("unknown API key")
        return name

    def _check_host(self, headers: Headers) -> None:
        host = _strip_port(headers.get("host", ""))
        if not (host in self._hosts or "*" in self._hosts or parse_address(host)):
            raise Problem(403, f"unknown host name {host[:200]!r}; allow it with --allow-host")

    def _check_origin(self, headers: Headers) -> None:
        origin = headers.get("origin")
        if origin is None or origin in self._origins:
            return
        if urlsplit(origin).netloc.lower() != headers.get("host", "").lower():
            raise Problem(403, f"requests from {origin[:200]!r} are not allowed")


@dataclass(frozen=True, slots=True)
class Keys:
    """The API keys of a server: the name of each, by its hash."""

    names: dict[str, str]

    def find(self, key: str) -> str | None:
        """Return the name of a key, in a time that tells nothing about it; None if unknown."""
        digest = _hash(key)
        matches = [
            name for stored, name in self.names.items() if hmac.compare_digest(stored, digest)
        ]
        return matches[0] if matches else None


def read_keys(path: Path) -> Keys:
    """Read a key file, which must have a key."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: not a key file; create one with 'rejoinder key'") from error
    _warn_if_writable(path)
    names = {}
    for number, line in enumerate(lines, start=1):
        if not line.strip() or line.startswith("#"):
            continue
        match = _LINE.fullmatch(line.strip())
        if match is None:
            problem = "not 'sha256:… name'; add keys with 'rejoinder key'"
            raise DataError(problem, path=path, line=number)
        names[match[1]] = match[2]
    if not names:
        raise InputError(f"{path}: has no key; add one with 'rejoinder key'")
    return Keys(names)


def _warn_if_writable(path: Path) -> None:
    """Log that other users could add a key of their own; some systems know no permissions."""
    if os.name == "posix" and path.stat().st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        _log.warning("%s: other users can add keys to it; run 'chmod go-w' on it", path)


def add_key(path: Path, name: str) -> str:
    """Create a key for a name of one line, append its hash to the file, and return it."""
    if not name.strip() or not name.isprintable():
        raise InputError(f"{name!r} is not a name for a key; give one line of text")
    key = "rj-" + secrets.token_urlsafe(32)
    try:
        handle = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(f"sha256:{_hash(key)} {name.strip()}\n")
    except OSError as error:
        raise InputError(f"{path}: cannot be written ({error.strerror})") from error
    return key


def _hash(key: str) -> str:
    return hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest()


def _unauthorized(message: str) -> Problem:
    return Problem(401, message, headers={"www-authenticate": "Bearer"})


def _strip_port(host: str) -> str:
    try:
        return (urlsplit(f"//{host}").hostname or "").lower()
    except ValueError:
        return ""
