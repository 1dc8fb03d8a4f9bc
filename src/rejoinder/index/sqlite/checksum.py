"""The checksum over everything that SQLite stores of a document.

SQLite detects damage to its pages, but not to the values in them.
"""

from collections.abc import Iterable
from hashlib import blake2b
from typing import Any

CONTENT = ("texts", "blocks", "sentences")
"""The tables that hold a document's content, in the order of its checksum."""


class Checksum:
    """A checksum over the rows of a document, which come table by table or in parts."""

    def __init__(self) -> None:
        self._digests = {table: blake2b(digest_size=16) for table in CONTENT}

    def add(self, table: str, rows: Iterable[tuple[Any, ...]]) -> None:
        """Add rows of one of the tables, in their order."""
        for row in rows:
            self._digests[table].update(repr(row).encode("utf-8", "surrogatepass"))

    def compute(self, document: list[tuple[Any, ...]]) -> bytes:
        """Return the checksum of all rows, and of the document's own row."""
        whole = blake2b(repr(document).encode("utf-8", "surrogatepass"), digest_size=16)
        for digest in self._digests.values():
            whole.update(digest.digest())
        return whole.digest()
