"""Kills a process that changes and compacts an index, again and again, and counts what is lost.

Usage: python -m tests.index.kill FOLDER KILLS

The process adds documents, changes their files and removes them.  It announces each change before
(`?`) and acknowledges it after (`+`, `-`), with the edition of the document, and stores vectors
and sidecar rows.  After the kill every acknowledged change must be complete; the announced one is
complete or absent.  Each document must be found by words and by vectors, in one edition alone, and
the rows must equal newly made ones.
"""

import random
import subprocess
import sys
import time
from functools import partial
from pathlib import Path
from typing import NamedTuple

from rejoinder.index import file_reader
from rejoinder.index.index import Index
from rejoinder.index.report import FileEvent
from tests.index.digests import Digests
from tests.index.rereading import (
    PIECES,
    SENTENCES,
    Editions,
    check_rows,
    find_problem,
    make_text,
    read_edition,
)
from tests.index.vectors.encoders import HashedWords
from tests.systems import KILLED_STATUSES

ROOT = Path(__file__).parents[2]


class Doubt(NamedTuple):
    """A change that was announced and not acknowledged."""

    name: str = ""
    edition: str | None = None
    """The new one; None for a removal."""


def work(folder: Path, seed: int) -> None:
    """Add, change and remove documents, and compact, until someone ends this."""
    rng = random.Random(seed)
    if seed % 2:  # as if the files were too large to be read before they are written
        file_reader.MAX_HELD_SENTENCES = SENTENCES // 2
    with open_index(folder) as index:
        present = sorted(item.name for item in index.store.get_documents())
        for number in range(1_000_000):
            if rng.random() < 0.1:
                index.compact()
            action = rng.random()
            if present and action < 0.25:
                name = present.pop(rng.randrange(len(present)))
                say("?", name)
                index.remove([Path(name)])
                say("-", name)
            elif present and action < 0.5:
                put(index, Path(rng.choice(present)), f"{seed}x{number}")
            else:
                path = folder / f"{seed}-{number}.txt"
                put(index, path, f"{seed}x{number}")
                present.append(str(path))
            index.store_sidecar(Digests())


def put(index: Index, path: Path, edition: str) -> None:
    """Write an edition of a document, and let the index read it."""
    path.write_text(make_text(path, edition), encoding="utf-8")
    say("?", path, edition)
    index.add([path], on_event=partial(_acknowledge, edition))


def _acknowledge(edition: str, event: FileEvent) -> None:
    if event.what in {"added", "changed"}:
        say("+", event.path, edition)


def open_index(folder: Path) -> Index:
    """Open the index, or create it."""
    return Index(folder / "index", create=True, tokenizer=PIECES, encoder=HashedWords())


def say(sign: str, name: Path | str, edition: str = "") -> None:
    """Tell the one who kills."""
    sys.stdout.write(f"{sign}{edition} {name}\n")
    sys.stdout.flush()


def kill_once(folder: Path, seed: int, expected: Editions) -> Editions:
    """Run the work for a random while, kill it, and return what is there now."""
    rng = random.Random(seed)
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.index.kill", str(folder.resolve()), "work", str(seed)],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout
    said = [process.stdout.readline()]
    wait = rng.random() ** 2
    end = time.monotonic() + wait
    while time.monotonic() < end and len(said) < 40:
        said.append(process.stdout.readline())
    time.sleep(rng.random() / 50)
    process.kill()
    said += process.stdout.readlines()
    process.stdout.close()
    assert process.wait() in KILLED_STATUSES, "the work ended before it was killed"
    return check(folder, *follow(said, expected))


def follow(said: list[str], expected: Editions) -> tuple[Editions, Doubt]:
    """Return the documents that must be there after what was said, and the change in doubt."""
    known, doubt = dict(expected), Doubt()
    for line in said:
        edition, _, name = line[1:].rstrip("\n").partition(" ")
        if line.startswith("?"):
            doubt = Doubt(name, edition or None)
        elif line.startswith("+"):
            known[name], doubt = edition, Doubt()
        elif line.startswith("-"):
            del known[name]
            doubt = Doubt()
    return known, doubt


def check(folder: Path, expected: Editions, doubt: Doubt) -> Editions:
    """Return the documents that are there, each whole and in one edition."""
    there: Editions = {}
    with open_index(folder) as index:
        check_rows(index)
        problems = index.check()
        assert not problems, problems
        for document in index.documents():
            edition = there[document.id] = read_edition(index, document.id)
            problem = find_problem(index, document.id, edition)
            assert not problem, problem
    if doubt.name in there and there[doubt.name] == doubt.edition:
        expected = expected | {doubt.name: doubt.edition}
    elif doubt.name not in there and doubt.edition is None:
        expected = {name: own for name, own in expected.items() if name != doubt.name}
    assert there == expected, {*there.items()} ^ {*expected.items()}
    return there


def main() -> None:
    folder = Path(sys.argv[1])
    if sys.argv[2] == "work":
        work(folder, int(sys.argv[3]))
    there: Editions = {}
    for seed in range(int(sys.argv[2])):
        there = kill_once(folder, seed, there)
    sys.stdout.write(f"{sys.argv[2]} kills, {len(there)} documents, none lost, none half there\n")


if __name__ == "__main__":
    main()
