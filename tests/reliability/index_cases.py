"""Index faults: killed writers, full disks, corrupt files, concurrent processes."""

import json
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from tests.index.kill import kill_once
from tests.reliability.case import CannotRunError, Case, Outcome
from tests.reliability.index_faults import open_index

ROOT = Path(__file__).parents[2]
OWN_MOUNTS = ["unshare", "--user", "--map-root-user", "--mount"]


def kill_writer(folder: Path, kills: int) -> Outcome:
    """Kill a process that adds and removes documents; acknowledged changes must be there."""
    names: set[str] = set()
    for seed in range(kills):
        names = kill_once(folder, seed, names)
    return Outcome(kills, 0, f"{len(names)} documents at the end, all complete and searchable")


def fill_disk(folder: Path, rounds: int) -> Outcome:
    if not shutil.which("unshare") or subprocess.run([*OWN_MOUNTS, "true"], check=False).returncode:
        raise CannotRunError("this system does not let a process mount a disk of its own")
    counts = _finish(_start("full-disk", folder, rounds, prefix=OWN_MOUNTS))
    note = f"the disk was full in the middle of {counts['full']} changes"
    return Outcome(rounds, counts["lost"], note)


def corrupt_files(folder: Path, rounds: int) -> Outcome:
    counts = _finish(_start("corrupt", folder, rounds))
    derived = rounds // 2
    note = (
        f"{counts['refused'] + counts['detected']} detected, {counts['harmless']} without effect;"
        f" `compact` rebuilt {counts['rebuilt']} of {derived} outside the SQLite file"
    )
    return Outcome(rounds, counts["lost"] + derived - counts["rebuilt"], note)


def write_concurrently(folder: Path, documents: int) -> Outcome:
    """Let two processes add documents at the same time."""
    with open_index(folder / "index", create=True):
        pass
    writers = [_start("write", folder, documents, name) for name in ("red", "blue")]
    counts = [_finish(writer) for writer in writers]
    with open_index(folder / "index") as index:
        problems = index.check()
        stored = index.store.count()[0]
    losses = 2 * documents - stored + len(problems)
    refused = sum(count["refused"] for count in counts)
    return Outcome(2 * documents, losses, f"{refused} attempts refused while the other wrote")


def read_during_compaction(folder: Path, compactions: int) -> Outcome:
    """Search in a loop while another process writes and compacts."""
    path = folder / "always.txt"
    path.write_text("Glaciers can calve into the sea. Bees can dance well.")
    with open_index(folder / "index", create=True) as index:
        index.add([path])
    writer = _start("compact", folder, compactions)
    searches = losses = 0
    question = "glaciers can calve into the sea"
    with open_index(folder / "index") as reader:
        while writer.poll() is None or not searches:
            hits = reader.search("glaciers calve", 1)
            nearest = reader.vectors.search(question, 1, None)
            with reader.store.reading_sentences(nearest) as rows:
                texts = [row.text for row in rows]
            searches += 1
            texts += [hit.candidate.text for hit in hits]
            losses += texts != 2 * ["Glaciers can calve into the sea."]
    compacted = _finish(writer)["compacted"]
    return Outcome(searches, losses, f"during {compactions} changes and {compacted} compactions")


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


MISSING = "acknowledged documents that are missing"
CASES = [
    Case("index", "writer killed with -9", kill_writer, 0, 200, MISSING),
    Case("index", "full disk", fill_disk, 6, 100, f"{MISSING} or incomplete"),
    Case(
        "index",
        "bit flipped or file truncated",
        corrupt_files,
        24,
        2_000,
        "corruption that changes answers and that neither an error nor `check` reports",
    ),
    Case("index", "two writers", write_concurrently, 8, 200, MISSING),
    Case(
        "index",
        "readers during compaction",
        read_during_compaction,
        4,
        100,
        "searches that miss the answer",
    ),
]
