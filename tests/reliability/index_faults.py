"""Faults of an index that need a process of their own.

Usage: python -m tests.reliability.index_faults full-disk|damage|write FOLDER COUNT [NAME]

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
from rejoinder.index.update import FileEvent
from rejoinder.text.wordpiece import WordPiece

PIECES = WordPiece(["[UNK]"])
DISK_BYTES = 8_000_000
MAX_FREE = 800_000
"""Room that is left on it: too little for most additions, now and then for opening the index."""


def fill_disk(folder: Path, count: int) -> dict[str, int]:
    """Add documents to an index on a small disk that is full sooner or later, again and again.

    What was acknowledged before must be there and found, while the disk is full and after.
    """
    disk = folder / "disk"
    disk.mkdir()
    size = f"size={DISK_BYTES}"
    subprocess.run(["mount", "-t", "tmpfs", "-o", size, "tmpfs", str(disk)], check=True)
    rng = random.Random(0)
    acknowledged: set[str] = set()
    full = lost = 0
    with Index(disk / "index", create=True):
        pass
    for round_ in range(count):
        free = shutil.disk_usage(disk).free
        with (disk / "ballast").open("wb") as ballast:
            ballast.write(b"x" * max(0, free - rng.randrange(MAX_FREE)))
        path = folder / f"{round_}.txt"
        path.write_text(f"Document number{round_} holds this. " * rng.randrange(50, 2000))
        events: list[FileEvent] = []
        try:
            with Index(disk / "index", tokenizer=PIECES) as index:
                index.add([path], on_event=events.append)
        except StoreError:
            full += 1
        acknowledged |= {event.path for event in events if event.what == "added"}
        lost += count_lost(disk / "index", acknowledged, must_be_whole=False)
        (disk / "ballast").unlink()
        lost += count_lost(disk / "index", acknowledged, must_be_whole=True)
        if shutil.disk_usage(disk).free < 2_000_000:
            shutil.rmtree(disk / "index")
            acknowledged = set()
            with Index(disk / "index", create=True):
                pass
    return {"tried": count, "lost": lost, "full": full}


def count_lost(folder: Path, acknowledged: set[str], *, must_be_whole: bool) -> int:
    """Return how many documents are gone, or not found, or half there."""
    with Index(folder) as index:
        there = {item.name for item in index.store.get_documents()}
        missing = len(acknowledged - there)
        for name in acknowledged & there:
            missing += not index.search(f"number{Path(name).stem}", 1)
        return missing + (len(index.check()) if must_be_whole else 0)


def damage(folder: Path, count: int) -> dict[str, int]:
    """Flip a bit of a file of an index, or cut its end off, and ask and check it.

    The damage must be noticed by an error of ours or by `check`, or do no harm to answers; and
    where it is not in SQLite's file, compaction must rebuild it.
    """
    good = folder / "good"
    texts = folder / "texts"
    texts.mkdir()
    for number in range(30):
        (texts / f"{number}.txt").write_text(f"Document number{number} is about ice. " * 5)
    with Index(good, create=True, tokenizer=PIECES) as index:
        index.add([texts])
    with Index(good) as index:
        index.compact()
    expected = ask(good)
    rng = random.Random(0)
    found = {"tried": count, "lost": 0, "refused": 0, "noticed": 0, "harmless": 0, "rebuilt": 0}
    for round_ in range(count):
        damaged = folder / "damaged"
        shutil.rmtree(damaged, ignore_errors=True)
        shutil.copytree(good, damaged)
        # Half of the damage to SQLite, the other half to the full-text index.
        derived = sorted(path for path in damaged.glob("fulltext-*/*") if path.stat().st_size)
        path = rng.choice(derived) if round_ % 2 else damaged / "index.sqlite"
        spoil(path, rng)
        outcome = judge(damaged, expected)
        found[outcome] += 1
        if outcome == "lost":
            sys.stderr.write(f"round {round_}: {path.relative_to(damaged)}\n")
        if round_ % 2:
            found["rebuilt"] += rebuild(damaged, expected)
    return found


def spoil(path: Path, rng: random.Random) -> None:
    raw = bytearray(path.read_bytes())
    if rng.random() < 0.3:
        del raw[rng.randrange(len(raw)) :]
    else:
        raw[rng.randrange(len(raw))] ^= 1 << rng.randrange(8)
    path.write_bytes(raw)


def judge(folder: Path, expected: list[str]) -> str:
    try:
        answers = ask(folder)
    except RejoinderError:
        return "refused"
    with Index(folder) as index:
        try:
            if index.check():
                return "noticed"
        except RejoinderError:
            return "refused"
    return "harmless" if answers == expected else "lost"


def ask(folder: Path) -> list[str]:
    with Index(folder) as index:
        return [
            f"{item.candidate.id} {item.candidate.text} {item.candidate.document}"
            for number in range(0, 30, 3)
            for item in index.search(f"number{number} ice", 3)
        ]


def rebuild(folder: Path, expected: list[str]) -> bool:
    with Index(folder) as index:
        index.compact()
    return ask(folder) == expected


def write(folder: Path, count: int, name: str) -> dict[str, int]:
    """Add documents beside another that does the same; wait where it is writing."""
    added = refused = 0
    with Index(folder / "index", create=True, tokenizer=PIECES) as index:
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
    """Add, and compact, again and again."""
    compacted = 0
    with Index(folder / "index", tokenizer=PIECES) as index:
        for number in range(count):
            path = folder / f"new{number}.txt"
            path.write_text(f"Document new{number} holds this. " * 5)
            index.add([path])
            try:
                index.compact()
                compacted += 1
            except StoreError:  # a reader keeps the old text alive: it says so
                time.sleep(0.01)
    return {"compacted": compacted}


def main() -> None:
    what, folder, count = sys.argv[1], Path(sys.argv[2]), int(sys.argv[3])
    match what:
        case "full-disk":
            found = fill_disk(folder, count)
        case "damage":
            found = damage(folder, count)
        case "write":
            found = write(folder, count, sys.argv[4])
        case _:
            found = compact(folder, count)
    sys.stdout.write(json.dumps(found) + "\n")
    sys.stdout.flush()
    os._exit(0)  # a corrupt mapping may fail once more on the way out


if __name__ == "__main__":
    main()
