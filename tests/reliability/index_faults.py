"""Index faults that run in a child process.

Usage: python -m tests.reliability.index_faults full-disk|corrupt|write|compact FOLDER COUNT [NAME]

Each prints one JSON object at the end.  Files change between additions, and the index must follow:
a document is found in one edition, its newest that was acknowledged, by words and by vectors.
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
from tests.index.digests import Digests
from tests.index.rereading import PIECES, Editions, find_problem, make_text, replace_file
from tests.index.vectors.encoders import HashedWords

DISK_BYTES = 8_000_000
MAX_FREE = 800_000
"""Free space: too little for most additions, and sometimes for opening the index."""
SHARED = 3
"""Files that two writers both change."""
MOVING, STATE = "moving.txt", "state"
"""A document that changes, and the file that tells its edition, or `CHANGING`."""
CHANGING = "changing"


def open_index(folder: Path, *, create: bool = False) -> Index:
    return Index(folder, create=create, tokenizer=PIECES, encoder=HashedWords())


def fill_disk(folder: Path, count: int) -> dict[str, int]:
    """Add documents to an index on a small disk that keeps running full, and change some.

    Acknowledged documents must be stored while the disk is full, and searchable if `add` has
    returned: if it fails, full text and vectors catch up when there is room.  Then all must be
    searchable.
    """
    disk = folder / "disk"
    disk.mkdir()
    size = f"size={DISK_BYTES}"
    subprocess.run(["mount", "-t", "tmpfs", "-o", size, "tmpfs", str(disk)], check=True)
    rng = random.Random(0)
    known: Editions = {}
    full = changed = losses = 0
    _create(disk / "index")
    for round_ in range(count):
        free = shutil.disk_usage(disk).free
        with (disk / "ballast").open("wb") as ballast:
            ballast.write(b"x" * max(0, free - rng.randrange(MAX_FREE)))
        again = known and round_ % 2
        path = Path(rng.choice(sorted(known))) if again else folder / f"{round_}.txt"
        path.write_text(make_text(path, str(round_), rng.randrange(50, 2000)))
        events: list[FileEvent] = []
        searchable = dict(known)
        try:
            with open_index(disk / "index") as index:
                index.add([path], on_event=events.append)
                searchable[str(path)] = str(round_)
        except StoreError:
            full += 1
            searchable.pop(str(path), None)  # its edition may be the old one or the new one
        for event in events:
            if event.what in {"added", "changed"}:
                known[event.path] = str(round_)
                changed += event.what == "changed"
        losses += _count_losses(disk / "index", known, searchable)
        (disk / "ballast").unlink()
        losses += _count_losses(disk / "index", known, known, check=True)
        if shutil.disk_usage(disk).free < 2_000_000:
            shutil.rmtree(disk / "index")
            known = {}
            _create(disk / "index")
    return {"lost": losses, "full": full, "changed": changed}


def _create(folder: Path) -> None:
    with open_index(folder, create=True):
        pass


def _count_losses(
    folder: Path, known: Editions, searchable: Editions, *, check: bool = False
) -> int:
    """Return how many documents are missing, not searchable, or (if checked) incomplete."""
    with open_index(folder) as index:
        stored = {item.name for item in index.store.get_documents()}
        missing = len(known.keys() - stored)
        there = sorted(item for item in searchable.items() if item[0] in stored)
        problems = [problem for item in there if (problem := find_problem(index, *item))]
        problems += index.check() if check else []
        for problem in problems:
            sys.stderr.write(f"{problem}\n")
        return missing + len(problems)


def corrupt(folder: Path, count: int) -> dict[str, int]:
    """Flip a bit of an index file, or truncate it, then search and check the index.

    A RejoinderError or `check` must report the corruption unless the answers stay the same, and
    compaction must rebuild any file but SQLite's; sidecars are stored again.
    """
    intact = folder / "intact"
    texts = folder / "texts"
    texts.mkdir()
    for number in range(30):
        (texts / f"{number}.txt").write_text(f"Document number{number} is about ice. " * 5)
    with open_index(intact, create=True) as index:
        index.add([texts])
    with open_index(intact) as index:
        index.store_sidecar(Digests())
        index.compact()
    expected = search(intact)
    rng = random.Random(0)
    counts = dict.fromkeys(("lost", "refused", "detected", "harmless", "rebuilt"), 0)
    for round_ in range(count):
        corrupted = folder / "corrupted"
        shutil.rmtree(corrupted, ignore_errors=True)
        shutil.copytree(intact, corrupted)
        # SQLite's file, and those of the full-text index, the vectors or a sidecar, in turn.
        kind = rng.choice(["fulltext", "vectors", Digests.name])
        derived = sorted(path for path in corrupted.glob(f"**/{kind}-*/*") if path.stat().st_size)
        path = rng.choice(derived) if round_ % 2 else corrupted / "index.sqlite"
        corrupt_file(path, rng)
        outcome = judge(corrupted, expected)
        counts[outcome] += 1
        if outcome == "lost":
            sys.stderr.write(f"round {round_}: {path.relative_to(corrupted)}\n")
        if round_ % 2:
            is_rebuilt = rebuild(corrupted, expected)
            counts["rebuilt"] += is_rebuilt
            if not is_rebuilt:
                sys.stderr.write(f"round {round_}: {path.relative_to(corrupted)} not rebuilt\n")
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
    """Return what is found by words and by vectors, and the stored rows."""
    with open_index(folder) as index:
        answers = [
            f"{item.candidate.id} {item.candidate.text} {item.candidate.document}"
            for number in range(0, 30, 3)
            for item in index.search(f"number{number} ice", 3)
        ]
        answers += [
            str(index.vectors.search(f"document number{number} is about ice", 3, None))
            for number in range(30)
        ]
        rows = index.open_sidecar(Digests())
        for document in index.documents():
            kept = rows.find_document(document) if rows else None
            answers.append(f"{document.id} {None if kept is None else kept.tobytes().hex()}")
        return answers


def rebuild(folder: Path, expected: list[str]) -> bool:
    with open_index(folder) as index:
        index.compact()
        index.store_sidecar(Digests())
    return search(folder) == expected


def write(folder: Path, count: int, name: str) -> dict[str, int]:
    """Add and change documents, also shared ones, while another process does the same."""
    refused = 0
    with open_index(folder / "index", create=True) as index:
        for number in range(count):
            own, shared = folder / f"{name}{number}.txt", folder / f"shared{number % SHARED}.txt"
            replace_file(own, make_text(own, "draft"))
            refused += _retry(index, own)
            for path in (own, shared):
                replace_file(path, make_text(path, f"{name}{number}"))
            refused += _retry(index, own, shared)
    return {"refused": refused}


def _retry(index: Index, *paths: Path) -> int:
    """Add files and store their rows, again while another process holds the lock."""
    refused = 0
    while True:
        try:
            index.add(paths)
            index.store_sidecar(Digests())
            return refused
        except StoreError:
            refused += 1
            time.sleep(0.01)


def compact(folder: Path, count: int) -> dict[str, int]:
    """Add a document, change another one, and compact the index, in a loop."""
    compacted = 0
    state, moving = folder / STATE, folder / MOVING
    with open_index(folder / "index") as index:
        for number in range(1, count + 1):
            path = folder / f"new{number}.txt"
            path.write_text(f"Document new{number} holds this. " * 5)
            index.add([path])
            replace_file(state, CHANGING)
            replace_file(moving, make_text(moving, str(number)))
            index.add([moving])
            replace_file(state, str(number))
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
