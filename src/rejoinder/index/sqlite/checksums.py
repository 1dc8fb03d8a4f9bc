"""A sum over all that is stored of a document, so that damage to it is noticed.

SQLite notices damage to its pages, not to what stands in them.
"""

from hashlib import blake2b

from rejoinder.index.sqlite.database import Database


def seal(database: Database, number: int) -> None:
    """Keep the sum of a document as it is now."""
    values = (number, _digest(database, number))
    database.query("INSERT OR REPLACE INTO seals VALUES (?, ?)", values)


def is_sealed(database: Database, number: int) -> bool:
    """Whether a document is as it was stored; of one from before seals it is believed."""
    rows = database.query("SELECT digest FROM seals WHERE document = ?", (number,))
    return not rows or rows[0][0] == _digest(database, number)


def _digest(database: Database, number: int) -> bytes:
    digest = blake2b(digest_size=16)
    for sql in (
        "SELECT id, name, title, metadata, text, sentences FROM documents WHERE id = ?",
        "SELECT * FROM sentences WHERE document = ? ORDER BY position",
    ):
        for row in database.query(sql, (number,)):
            digest.update(repr(row).encode("utf-8", "surrogatepass"))
    return digest.digest()
