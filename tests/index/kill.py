"""Kills a process that changes and compacts an index, again and again, and counts what is lost.

Usage: python -m tests.index.kill FOLDER KILLS

The process announces each change before (`?`) and acknowledges it after (`+`, `-`), and stores
vectors and sidecar rows.  After the kill every acknowledged change must be complete; the announced
one is complete or absent.  Each document must be found by words and by vectors, and the rows must
equal newly made ones.
"""

import random
import subprocess
import sys
import time
from pathlib import Path

from rejoinder.index import file_reader
from rejoinder.index.index import Index
from rejoinder.text.wordpiece import WordPiece
from tests.index.digests import Digests
from tests.index.vectors.encoders import HashedWords
from tests.systems import KILLED_STATUSES

PIECES = WordPiece(["[UNK]"])
SENTENCES = 40
FIRST = 5
ROOT = Path(__file__).parents[2]


def work(folder: Path, seed: int) -> None:
    """Add and remove documents, and compact, until someone ends this."""
    rng = random.Random(seed)
    if seed % 2:  # as if the files were too large to be read before they are written
        file_reader.MAX_HELD_SENTENCES = SENTENCES // 2
    with open_index(folder) as index:
        present = sorted(item.name for item in index.store.get_documents())
        for number in range(1_000_000):
            if rng.random() < 0.1:
                index.compact()
            if present and rng.random() < 0.4:
                name = present.pop(rng.randrange(len(present)))
                say("?", name)
                index.remove([Path(name)])
                say("-", name)
                index.store_sidecar(Digests())
            else:
                path = folder / f"{seed}-{number}.txt"
                path.write_text(f"Document {path.stem} holds this. " * SENTENCES, encoding="utf-8")
                say("?", str(path))
                index.add([path], on_event=lambda event: say("+", event.path))
                present.append(str(path))
                index.store_sidecar(Digests())


def open_index(folder: Path) -> Index:
    """Open the index, or create it."""
    return Index(folder / "index", create=True, tokenizer=PIECES, encoder=HashedWords())


def say(sign: str, name: str) -> None:
    """Tell the one who kills."""
    sys.stdout.write(f"{sign}{name}\n")
    sys.stdout.flush()


def kill_once(folder: Path, seed: int, expected: set[str]) -> set[str]:
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
    doubtful = set()
    for line in said:
        name = line[1:].strip()
        if line.startswith("?"):
            doubtful = {name}
        elif line.startswith(("+", "-")):
            doubtful = set()
            expected = expected | {name} if line[0] == "+" else expected - {name}
    return check(folder, expected, doubtful)


def check(folder: Path, expected: set[str], doubtful: set[str]) -> set[str]:
    """Return the documents that are there, all of them whole."""
    with open_index(folder) as index:
        check_rows(index)
        problems = index.check()
        there = {item.name for item in index.store.get_documents()}
        assert not problems, problems
        assert there - doubtful == expected - doubtful, (there ^ expected) - doubtful
        for document in index.store.get_documents():
            stem = Path(document.name).stem
            found = index.search(stem, 1, where={"suffix": ".txt"})
            assert found, f"{document.name} is there but not found"
            nearest = index.vectors.search(f"document {stem} holds this", 1, {"suffix": ".txt"})
            assert list(nearest) == [(document.id, 0)], f"{document.name} has no vectors"
    return there


def check_rows(index: Index) -> None:
    """Let stored rows follow, as who opens an index does, and hold them against new ones."""
    maker = Digests()
    found = index.open_sidecar(maker)
    documents = index.store.get_documents()
    # The first documents may be there before the first rows are.
    assert found is not None or len(documents) < FIRST, "the rows are gone"
    for document in documents if found else []:
        made = index.sidecars.encode(maker, document)
        assert found is not None
        kept = found.store.find_document(document.id)
        assert kept is not None, f"{document.name} has no rows"
        assert kept.tobytes() == b"".join(rows.tobytes() for rows in made), document.name


def main() -> None:
    folder = Path(sys.argv[1])
    if sys.argv[2] == "work":
        work(folder, int(sys.argv[3]))
    there: set[str] = set()
    for seed in range(int(sys.argv[2])):
        there = kill_once(folder, seed, there)
    say("", f"{sys.argv[2]} kills, {len(there)} documents, none lost, none half there")


if __name__ == "__main__":
    main()
