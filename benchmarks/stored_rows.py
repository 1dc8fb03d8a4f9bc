"""Compare where the rows of sentences can be stored: our files, SQLite and LMDB.

Usage: pip install lmdb; python -m benchmarks.stored_rows [--documents 1000] > stored_rows.json

Each store gets the same rows: 40 sentences per document, 25 tokens of 384 bits per sentence, as a
HAS bundle stores them.  SQLite and LMDB hold one value per sentence or one per document, with the
checksum of each sentence; a checksum is verified when its sentence is first read, as in our files.
Prints one JSON object.  Times are CPU time, the median of `--repeats` rounds in which the stores
take turns, so that other load on the machine affects all alike; `ratio` is to our files.
"""

import argparse
import json
import shutil
import sqlite3
import statistics
import struct
import tempfile
import time
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from benchmarks.common import describe_machine
from rejoinder.index.sidecar.rows import RowStore
from rejoinder.models.scorer import Places
from rejoinder.models.sidecar import Bytes, StoredRows

SENTENCES, TOKENS, ROW_BYTES = 40, 25, 48
CANDIDATES = 500
"""Sentences of a question, from random documents, as in the table of costs in models/has.md."""
TRIES = 20
"""Questions, or documents, of one round."""


class Store(Protocol):
    """An open store."""

    def find(self, documents: Places, positions: Places) -> StoredRows:
        """Return the rows of sentences."""
        ...

    def find_document(self, number: int) -> Bytes | None:
        """Return the rows of all sentences of a document."""
        ...


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--documents", type=int, default=1000)
    parser.add_argument("--repeats", type=int, default=15)
    options = parser.parse_args()
    print(json.dumps(measure(options.documents, options.repeats), indent=2))


def measure(documents: int, repeats: int) -> dict[str, Any]:
    """Return the sizes and times of every store."""
    with tempfile.TemporaryDirectory() as place:
        folders = {name: Path(place, name) for name in STORES}
        writing = _time_writing(folders, documents, min(repeats, 5))
        _check_equal(folders, documents)
        times = {"write": writing, **_time_reading(folders, documents, repeats)}
        sizes = {
            name: sum(path.stat().st_size for path in folder.iterdir())
            for name, folder in folders.items()
        }
    sentences = documents * SENTENCES
    return {
        "machine": describe_machine(),
        "documents": documents,
        "sentences": sentences,
        "bytes_of_a_sentence": TOKENS * ROW_BYTES,
        "disk_bytes_of_a_sentence": {name: round(size / sentences) for name, size in sizes.items()},
        **{f"{task}_cpu_ms": _summarise(own) for task, own in times.items()},
    }


def draw_rows(number: int) -> list[Bytes]:
    """Return the rows of a document."""
    shape = (SENTENCES, TOKENS, ROW_BYTES)
    return list(np.random.default_rng(number).integers(0, 256, shape, dtype=np.uint8))


def _time_writing(folders: dict[str, Path], documents: int, repeats: int) -> dict[str, list[float]]:
    drawn = [draw_rows(number) for number in range(1, documents + 1)]
    times: dict[str, list[float]] = {name: [] for name in folders}
    for _ in range(repeats):
        for name, folder in folders.items():
            shutil.rmtree(folder, ignore_errors=True)
            times[name].append(_time(partial(STORES[name][0], folder, drawn)))
    return times


def _time_reading(
    folders: dict[str, Path], documents: int, repeats: int
) -> dict[str, dict[str, list[float]]]:
    tasks = ("first_question", "question", "document")
    times: dict[str, dict[str, list[float]]] = {
        task: {name: [] for name in folders} for task in tasks
    }
    for repeat in range(repeats):
        rng = np.random.default_rng(repeat)
        asked = [
            (
                rng.integers(1, documents + 1, CANDIDATES),
                rng.integers(0, SENTENCES, CANDIDATES),
            )
            for _ in range(TRIES)
        ]
        numbers = rng.integers(1, documents + 1, TRIES).tolist()
        for name, folder in folders.items():
            own = _time_store(STORES[name][1], folder, asked, numbers)
            for task, milliseconds in zip(tasks, own, strict=True):
                times[task][name].append(milliseconds)
    return times


def _time_store(
    open_: Callable[[Path], Store],
    folder: Path,
    asked: Sequence[tuple[Places, Places]],
    numbers: Sequence[int],
) -> tuple[float, float, float]:
    """Return the times of the first question, of one asked before, and of a document."""
    opened: list[Store] = []

    def ask_first() -> None:
        opened.append(open_(folder))
        opened[0].find(*asked[0])

    first = _time(ask_first)
    (store,) = opened
    for question in asked:
        store.find(*question)
    again = _time(lambda: [store.find(*question) for question in asked])
    whole = _time(lambda: [store.find_document(number) for number in numbers])
    return first, again / TRIES, whole / TRIES


def _check_equal(folders: dict[str, Path], documents: int) -> None:
    """Check that all stores return the same rows."""
    rng = np.random.default_rng(0)
    asked = rng.integers(1, documents + 1, 50), rng.integers(0, SENTENCES, 50)
    expected = np.concatenate([draw_rows(int(n))[int(p)] for n, p in zip(*asked, strict=True)])
    for name, folder in folders.items():
        store = STORES[name][1](folder)
        assert np.array_equal(store.find(*asked).gather(), expected), name
        document = store.find_document(2)
        assert document is not None
        assert np.array_equal(document, np.concatenate(draw_rows(2))), name


def _time(work: Callable[[], object]) -> float:
    start = time.process_time_ns()
    work()
    return (time.process_time_ns() - start) / 1e6


def _summarise(times: dict[str, list[float]]) -> dict[str, dict[str, float]]:
    medians = {name: statistics.median(own) for name, own in times.items()}
    own = medians["files"]
    return {
        name: {"median": round(median, 3), "ratio": round(median / own, 2)}
        for name, median in medians.items()
    }


def _write_files(folder: Path, documents: Sequence[list[Bytes]]) -> None:
    store = RowStore.create(folder, bundle="b", hash_="h", row_bytes=ROW_BYTES)
    with store.changing() as writer:
        for number, rows in enumerate(documents, start=1):
            writer.add(number, rows)
        writer.commit(1)


def _pack(rows: Bytes) -> bytes:
    content = rows.tobytes()
    return struct.pack("<I", zlib.crc32(content)) + content


def _pack_document(rows: list[Bytes]) -> bytes:
    """Return the ends and checksums of a document's sentences, and the sentences."""
    ends = np.cumsum([len(item) for item in rows], dtype="<u4").tobytes()
    checksums = struct.pack(f"<{len(rows)}I", *(zlib.crc32(item.tobytes()) for item in rows))
    return b"".join([struct.pack("<I", len(rows)), ends, checksums, *map(bytes, rows)])


class _BySentence:
    """A store with one value per sentence."""

    def __init__(self) -> None:
        self._checked: set[int] = set()

    def read(self, keys: Sequence[int]) -> list[Any]:
        """Return the values of sentences."""
        raise NotImplementedError

    def find(self, documents: Places, positions: Places) -> StoredRows:
        """Return the rows of sentences."""
        keys = (documents * 65536 + positions).tolist()
        return _join([self._check(*item) for item in zip(keys, self.read(keys), strict=True)])

    def find_document(self, number: int) -> Bytes:
        """Return the rows of all sentences of a document."""
        keys = [number * 65536 + position for position in range(SENTENCES)]
        parts = [self._check(*item) for item in zip(keys, self.read(keys), strict=True)]
        return np.frombuffer(b"".join(parts), np.uint8).reshape(-1, ROW_BYTES)

    def _check(self, key: int, value: Any) -> Any:
        content = memoryview(value)[4:]
        if key not in self._checked:
            assert zlib.crc32(content) == int.from_bytes(value[:4], "little")
            self._checked.add(key)
        return content


class _ByDocument:
    """A store with one value per document."""

    def __init__(self) -> None:
        self._checked: set[tuple[int, int]] = set()

    def read(self, keys: Sequence[int]) -> list[Any]:
        """Return the values of documents."""
        raise NotImplementedError

    def find(self, documents: Places, positions: Places) -> StoredRows:
        """Return the rows of sentences."""
        numbers = sorted(set(documents.tolist()))
        values = dict(zip(numbers, self.read(numbers), strict=True))
        pairs = zip(documents.tolist(), positions.tolist(), strict=True)
        return _join([self._take(values[number], number, at) for number, at in pairs])

    def find_document(self, number: int) -> Bytes:
        """Return the rows of all sentences of a document."""
        (value,) = self.read([number])
        for position in range(SENTENCES):
            self._take(value, number, position)
        return np.frombuffer(value, np.uint8, offset=4 + 8 * SENTENCES).reshape(-1, ROW_BYTES)

    def _take(self, value: Any, number: int, position: int) -> Any:
        (count,) = struct.unpack_from("<I", value)
        begin = struct.unpack_from("<I", value, 4 * position)[0] if position else 0
        (end,) = struct.unpack_from("<I", value, 4 + 4 * position)
        start = 4 + 8 * count
        content = memoryview(value)[start + begin * ROW_BYTES : start + end * ROW_BYTES]
        if (number, position) not in self._checked:
            (checksum,) = struct.unpack_from("<I", value, 4 + 4 * count + 4 * position)
            assert zlib.crc32(content) == checksum
            self._checked.add((number, position))
        return content


def _join(parts: Sequence[Any]) -> StoredRows:
    lengths = np.array([len(part) for part in parts], dtype=np.int64)
    data = np.frombuffer(b"".join(parts), np.uint8)
    return StoredRows(data, ROW_BYTES, np.cumsum(lengths) - lengths, lengths // ROW_BYTES)


class _SqliteReader:
    def __init__(self, folder: Path) -> None:
        super().__init__()
        self._connection = sqlite3.connect(folder / "rows.sqlite")
        self._connection.execute("PRAGMA mmap_size = 1000000000")

    def read(self, keys: Sequence[int]) -> list[Any]:
        select = "SELECT value FROM item WHERE key = ?"
        run = self._connection.execute
        return [run(select, (key,)).fetchone()[0] for key in keys]


class _LmdbReader:
    def __init__(self, folder: Path) -> None:
        import lmdb

        super().__init__()
        self._store = lmdb.open(str(folder), readonly=True, lock=False)
        self._transaction = self._store.begin(buffers=True)

    def read(self, keys: Sequence[int]) -> list[Any]:
        get = self._transaction.get
        return [get(key.to_bytes(8, "big")) for key in keys]


class SqliteSentences(_SqliteReader, _BySentence):
    """SQLite with one BLOB per sentence."""


class SqliteDocuments(_SqliteReader, _ByDocument):
    """SQLite with one BLOB per document."""


class LmdbSentences(_LmdbReader, _BySentence):
    """LMDB with one value per sentence."""


class LmdbDocuments(_LmdbReader, _ByDocument):
    """LMDB with one value per document."""


Items = Iterator[tuple[int, bytes]]


def _list_sentences(documents: Sequence[list[Bytes]]) -> Items:
    for number, rows in enumerate(documents, start=1):
        yield from ((number * 65536 + at, _pack(own)) for at, own in enumerate(rows))


def _list_documents(documents: Sequence[list[Bytes]]) -> Items:
    return ((number, _pack_document(rows)) for number, rows in enumerate(documents, start=1))


def _write_sqlite(list_: Callable[..., Items], folder: Path, documents: list[list[Bytes]]) -> None:
    folder.mkdir()
    with closing(sqlite3.connect(folder / "rows.sqlite")) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("CREATE TABLE item (key INTEGER PRIMARY KEY, value BLOB NOT NULL)")
        with connection:
            connection.executemany("INSERT INTO item VALUES (?, ?)", list_(documents))


def _write_lmdb(list_: Callable[..., Items], folder: Path, documents: list[list[Bytes]]) -> None:
    import lmdb

    folder.mkdir()
    with lmdb.open(str(folder), map_size=1 << 36) as store, store.begin(write=True) as changes:
        for key, value in list_(documents):
            changes.put(key.to_bytes(8, "big"), value, append=True)


Write = Callable[[Path, list[list[Bytes]]], None]
STORES: dict[str, tuple[Write, Callable[[Path], Store]]] = {
    "files": (_write_files, RowStore),
    "sqlite_sentences": (partial(_write_sqlite, _list_sentences), SqliteSentences),
    "sqlite_documents": (partial(_write_sqlite, _list_documents), SqliteDocuments),
    "lmdb_sentences": (partial(_write_lmdb, _list_sentences), LmdbSentences),
    "lmdb_documents": (partial(_write_lmdb, _list_documents), LmdbDocuments),
}


if __name__ == "__main__":
    main()
