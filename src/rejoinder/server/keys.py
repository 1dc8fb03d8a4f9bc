"""API keys: only their hashes are stored.

A line of the file is `sha256:<64 hex digits> <name>`; lines that begin with # say nothing.  A key
is 256 random bits, so a plain hash cannot be guessed back.
"""

import hashlib
import hmac
import os
import re
import secrets
from pathlib import Path

from rejoinder.errors import DataError, InputError

PREFIX = "rj-"

_LINE = re.compile(r"sha256:([0-9a-f]{64}) (\S.*)")


class Keys:
    """The keys that open a server."""

    def __init__(self, hashes: dict[str, str]) -> None:
        self._hashes = hashes

    def find(self, key: str) -> str | None:
        """Return the name of a key; None where it is none of these.

        Every hash is compared, in a time that does not depend on where they differ.
        """
        given = _hash(key)
        names = [
            name for stored, name in self._hashes.items() if hmac.compare_digest(stored, given)
        ]
        return names[0] if names else None


def read_keys(path: Path) -> Keys:
    """Read a file of keys.

    Raises:
        InputError: it cannot be read, or holds no key.
        DataError: a line is no key.
    """
    hashes = {}
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: cannot be read as keys; 'rejoinder key' makes them") from error
    for number, line in enumerate(lines, start=1):
        if not line.strip() or line.startswith("#"):
            continue
        match = _LINE.fullmatch(line.strip())
        if match is None:
            problem = "not 'sha256:… name'; 'rejoinder key' writes such lines"
            raise DataError(problem, path=path, line=number)
        hashes[match[1]] = match[2]
    if not hashes:
        raise InputError(f"{path}: no key in it; 'rejoinder key' makes one")
    return Keys(hashes)


def add_key(path: Path, name: str) -> str:
    """Make a key, add its hash to the file, and return it: it is kept nowhere.

    Raises:
        InputError: the name is empty or has line breaks, or the file cannot be written.
    """
    if not name.strip() or not name.isprintable():
        raise InputError(f"{name!r} is no name for a key")
    key = PREFIX + secrets.token_urlsafe(32)
    try:
        handle = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(f"sha256:{_hash(key)} {name.strip()}\n")
    except OSError as error:
        raise InputError(f"{path}: cannot be written ({error.strerror})") from error
    return key


def _hash(key: str) -> str:
    return hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest()
