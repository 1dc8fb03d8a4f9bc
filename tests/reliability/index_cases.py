"""Index faults: killed writers, full disks, corrupt files, concurrent processes."""

import json
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from rejoinder.index.index import Index
from tests.index.kill import kill_once
from tests.index.rereading import Editions, check_rows, find_problem, get_edition, make_text
from tests.reliability.case import CannotRunError, Case, Outcome
from tests.reliability.index_faults import CHANGING, MOVING, STATE, open_index

ROOT = Path(__file__).parents[2]
OWN_MOUNTS = ["unshare", "--user", "--map-root-user", "--mount"]


def kill_writer(folder: Path, kills: int) -> Outcome:
    """Kill a process that adds, changes and removes documents; what it acknowledged is there."""
    there: Editions = {}
    for seed in range(kills):
        there = kill_once(folder, seed, there)
    note = f"{len(there)} documents at the end, all complete and searchable in one edition"
    return Outcome(kills, 0, note)


def fill_disk(folder: Path, rounds: int) -> Outcome:
    if not shutil.which("unshare") or subprocess.run([*OWN_MOUNTS, "true"], check=False).returncode:
        raise CannotRunError("this system does not let a process mount a disk of its own")
    counts = _finish(_start("full-disk", folder, rounds, prefix=OWN_MOUNTS))
    note = (
        f"the disk was full in the middle of {counts['full']} changes; documents were replaced"
        f" {counts['changed']} times"
    )
    return Outcome(rounds, counts["lost"], note)


def corrupt_files(folder: Path, rounds: int) -> Outcome:
    counts = _finish(_start("corrupt", folder, rounds))
    derived = rounds // 2
    note = (
        f"{counts['refused'] + counts['detected']} detected, {counts['harmless']} without effect;"
        f" `compact` rebuilt {counts['rebuilt']} of {derived} outside the SQLite file (full text,"
        " vectors; rows of sidecars are stored again)"
    )
    return Outcome(rounds, counts["lost"] + derived - counts["rebuilt"], note)


def write_concurrently(folder: Path, documents: int) -> Outcome:
    """Let two processes add and change documents at the same time, some of them the same ones."""
    with open_index(folder / "index", create=True):
        pass
    names = ("red", "blue")
    writers = [_start("write", folder, documents, name) for name in names]
    counts = [_finish(writer) for writer in writers]
    own = {f"{name}{number}" for name in names for number in range(documents)}
    expected = {str(folder / f"{name}.txt"): name for name in own}
    for path in folder.glob("shared*.txt"):
        expected[str(path)] = get_edition(path.read_text(encoding="utf-8"))
    with open_index(folder / "index") as index:
        problems = index.check()
        check_rows(index)
        stored = {item.name for item in index.store.get_documents()}
        problems += [find_problem(index, *item) for item in expected.items() if item[0] in stored]
    losses = len(stored ^ expected.keys()) + sum(map(bool, problems))
    refused = sum(count["refused"] for count in counts)
    note = f"{refused} attempts refused while the other wrote; each document changed"
    return Outcome(2 * documents, losses, note)


def read_during_compaction(folder: Path, compactions: int) -> Outcome:
    """Search in a loop while another process adds, changes and compacts."""
    path, moving, state = (folder / name for name in ("always.txt", MOVING, STATE))
    path.write_text("Glaciers can calve into the sea. Bees can dance well.")
    moving.write_text(make_text(moving, "0"))
    state.write_text("0")
    with open_index(folder / "index", create=True) as index:
        index.add([path, moving])
    writer = _start("compact", folder, compactions)
    searches = losses = between = 0
    with open_index(folder / "index") as reader:
        while writer.poll() is None or not searches:
            losses += not _finds_always(reader)
            before = state.read_text()
            editions = _find_editions(reader)
            is_settled = before == state.read_text() != CHANGING
            losses += len(editions) > 1 or (is_settled and editions != {before})
            between += not is_settled and not editions
            searches += 1
    compacted = _finish(writer)["compacted"]
    note = (
        f"during {compactions} additions, {compactions} changes and {compacted} compactions;"
        f" {between} found neither edition before a change was acknowledged"
    )
    return Outcome(searches, losses, note)


def _finds_always(reader: Index) -> bool:
    """Whether the document that never changes is found by words and by vectors."""
    hits = reader.search("glaciers calve", 1)
    nearest = reader.vectors.search("glaciers can calve into the sea", 1, None)
    with reader.store.reading_sentences(nearest) as rows:
        texts = [row.text for row in rows]
    texts += [hit.candidate.text for hit in hits]
    return texts == 2 * ["Glaciers can calve into the sea."]


def _find_editions(reader: Index) -> set[str]:
    """Return the editions of the changing document that a search finds."""
    hits = reader.search("doc" + Path(MOVING).stem, 10)
    return {get_edition(hit.candidate.text) for hit in hits if "docmoving" in hit.candidate.text}


def _start(
    fault: str, folder: Path, count: int, *more: str, prefix: Sequence[str] = ()
) -> "subprocess.Popen[str]":
    command = [*prefix, sys.executable, "-m", "tests.reliability.index_faults"]
    return subprocess.Popen(
        [*command, fault, str(folder), str(count), *more],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=ROOT,
    )


def _finish(process: "subprocess.Popen[str]") -> dict[str, int]:
    output, errors = process.communicate()
    assert process.returncode == 0, errors[-3000:]
    counts: dict[str, int] = json.loads(output.splitlines()[-1])
    assert not counts.get("lost"), errors[-3000:]
    return counts


MISSING = "acknowledged documents that are missing, stale or there in two editions"
CASES = [
    Case("index", "writer killed with -9", kill_writer, 0, 300, MISSING),
    Case("index", "full disk", fill_disk, 6, 200, f"{MISSING}, or incomplete"),
    Case(
        "index",
        "bit flipped or file truncated",
        corrupt_files,
        24,
        3_000,
        "corruption that changes answers and that neither an error nor `check` reports",
    ),
    Case("index", "two writers", write_concurrently, 5, 200, MISSING),
    Case(
        "index",
        "readers during compaction",
        read_during_compaction,
        4,
        100,
        "searches that miss the answer, find two editions, or not the acknowledged one",
    ),
]
