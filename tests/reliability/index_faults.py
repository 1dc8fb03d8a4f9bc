"""Index faults that run in a child process.

Usage: python -m tests.reliability.index_faults full-disk|corrupt|write|compact FOLDER COUNT [NAME]

Each prints one JSON object at the end.
"""

import json
import os
import random
import shutil
import subprocess
import sys
import time
from pathlib import Path

from rejoinder.errors import RejoinderError, StoreError
from rejoinder.index.index import Index
from rejoinder.index.report import FileEvent
from rejoinder.text.wordpiece import WordPiece
from tests.index.vectors.encoders import HashedWords

PIECES = WordPiece(["[UNK]"])
DISK_BYTES = 8_000_000
MAX_FREE = 800_000
"""Free space: too little for most additions, and sometimes for opening the index."""


def open_index(folder: Path, *, create: bool = False) -> Index:
    return Index(folder, create=create, tokenizer=PIECES, encoder=HashedWords())


def fill_disk(folder: Path, count: int) -> dict[str, int]:
    """Add documents to an index on a small disk that keeps running full.

    Acknowledged documents must be stored while the disk is full, and searchable if `add` has
    returned: if it fails, full text and vectors catch up when there is room.  Then all must be
    searchable.
    """
    disk = folder / "disk"
    disk.mkdir()
    size = f"size={DISK_BYTES}"
    subprocess.run(["mount", "-t", "tmpfs", "-o", size, "tmpfs", str(disk)], check=True)
    rng = random.Random(0)
    acknowledged: set[str] = set()
    searchable: set[str] = set()
    full = losses = 0
    with open_index(disk / "index", create=True):
        pass
    for round_ in range(count):
        free = shutil.disk_usage(disk).free
        with (disk / "ballast").open("wb") as ballast:
            ballast.write(b"x" * max(0, free - rng.randrange(MAX_FREE)))
        path = folder / f"{round_}.txt"
        path.write_text(f"Document number{round_} holds this. " * rng.randrange(50, 2000))
        events: list[FileEvent] = []
        try:
            with open_index(disk / "index") as index:
                index.add([path], on_event=events.append)
                searchable = acknowledged | {str(path)}
        except StoreError:
            full += 1
        acknowledged |= {event.path for event in events if event.what == "added"}
        losses += count_losses(disk / "index", acknowledged, searchable, check=False)
        (disk / "ballast").unlink()
        losses += count_losses(disk / "index", acknowledged, acknowledged, check=True)
        searchable = set(acknowledged)
        if shutil.disk_usage(disk).free < 2_000_000:
            shutil.rmtree(disk / "index")
            acknowledged, searchable = set(), set()
            with open_index(disk / "index", create=True):
                pass
    return {"lost": losses, "full": full}


def count_losses(folder: Path, acknowledged: set[str], searchable: set[str], *, check: bool) -> int:
    """Return how many documents are missing, not searchable, or (if checked) incomplete."""
    with open_index(folder) as index:
        stored = {item.name for item in index.store.get_documents()}
        missing = len(acknowledged - stored)
        for name in searchable & stored:
            missing += not index.search(f"number{Path(name).stem}", 1)
        return missing + (len(index.check()) if check else 0)


def corrupt(folder: Path, count: int) -> dict[str, int]:
    """Flip a bit of an index file, or truncate it, then search and check the index.

    A RejoinderError or `check` must report the corruption unless the answers stay the same, and
    compaction must rebuild any file but SQLite's.
    """
    intact = folder / "intact"
    texts = folder / "texts"
    texts.mkdir()
    for number in range(30):
        (texts / f"{number}.txt").write_text(f"Document number{number} is about ice. " * 5)
    with open_index(intact, create=True) as index:
        index.add([texts])
    with open_index(intact) as index:
        index.compact()
    expected = search(intact)
    rng = random.Random(0)
    counts = dict.fromkeys(("lost", "refused", "detected", "harmless", "rebuilt"), 0)
    for round_ in range(count):
        corrupted = folder / "corrupted"
        shutil.rmtree(corrupted, ignore_errors=True)
        shutil.copytree(intact, corrupted)
        # SQLite's file, and those of the full-text index or the vectors, in turn.
        kind = rng.choice(["fulltext", "vectors"])
        derived = sorted(path for path in corrupted.glob(f"{kind}-*/*") if path.stat().st_size)
        path = rng.choice(derived) if round_ % 2 else corrupted / "index.sqlite"
        corrupt_file(path, rng)
        outcome = judge(corrupted, expected)
        counts[outcome] += 1
        if outcome == "lost":
            sys.stderr.write(f"round {round_}: {path.relative_to(corrupted)}\n")
        if round_ % 2:
            counts["rebuilt"] += rebuild(corrupted, expected)
    return counts


def corrupt_file(path: Path, rng: random.Random) -> None:
    raw = bytearray(path.read_bytes())
    if rng.random() < 0.3:
        del raw[rng.randrange(len(raw)) :]
    else:
        raw[rng.randrange(len(raw))] ^= 1 << rng.randrange(8)
    path.write_bytes(raw)


def judge(folder: Path, expected: list[str]) -> str:
    try:
        answers = search(folder)
    except RejoinderError:
        return "refused"
    with open_index(folder) as index:
        try:
            if index.check():
                return "detected"
        except RejoinderError:
            return "refused"
    return "harmless" if answers == expected else "lost"


def search(folder: Path) -> list[str]:
    with open_index(folder) as index:
        return [
            f"{item.candidate.id} {item.candidate.text} {item.candidate.document}"
            for number in range(0, 30, 3)
            for item in index.search(f"number{number} ice", 3)
        ] + [
            str(index.vectors.search(f"document number{number} is about ice", 3, None))
            for number in range(30)
        ]


def rebuild(folder: Path, expected: list[str]) -> bool:
    with open_index(folder) as index:
        index.compact()
    return search(folder) == expected


def write(folder: Path, count: int, name: str) -> dict[str, int]:
    """Add documents while another process does the same; retry while it holds the lock."""
    added = refused = 0
    with open_index(folder / "index", create=True) as index:
        for number in range(count):
            path = folder / f"{name}{number}.txt"
            path.write_text(f"Document {name}{number} holds this. " * 5)
            while True:
                try:
                    added += index.add([path]).files["added"]
                    break
                except StoreError:
                    refused += 1
                    time.sleep(0.01)
    return {"added": added, "refused": refused}


def compact(folder: Path, count: int) -> dict[str, int]:
    """Add a document and compact the index, in a loop."""
    compacted = 0
    with open_index(folder / "index") as index:
        for number in range(count):
            path = folder / f"new{number}.txt"
            path.write_text(f"Document new{number} holds this. " * 5)
            index.add([path])
            try:
                index.compact()
                compacted += 1
            except StoreError:  # a reader keeps the old text alive
                time.sleep(0.01)
    return {"compacted": compacted}


def main() -> None:
    fault, folder, count = sys.argv[1], Path(sys.argv[2]), int(sys.argv[3])
    match fault:
        case "full-disk":
            counts = fill_disk(folder, count)
        case "corrupt":
            counts = corrupt(folder, count)
        case "write":
            counts = write(folder, count, sys.argv[4])
        case _:
            counts = compact(folder, count)
    sys.stdout.write(json.dumps(counts) + "\n")
    sys.stdout.flush()
    os._exit(0)  # unmapping a corrupt file may crash the interpreter on exit


if __name__ == "__main__":
    main()
