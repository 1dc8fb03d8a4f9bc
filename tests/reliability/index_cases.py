"""An index through crashes, full disks, damage, and others at work on it."""

import json
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from rejoinder.index.index import Index
from tests.index.kill import kill_once
from tests.reliability.case import CannotRunError, Case, Found
from tests.reliability.index_faults import PIECES

ROOT = Path(__file__).parents[2]
OWN_MOUNTS = ["unshare", "--user", "--map-root-user", "--mount"]


def kill_writer(folder: Path, kills: int) -> Found:
    """Kill a process that adds and removes documents; what it has acknowledged must be there."""
    there: set[str] = set()
    for seed in range(kills):
        there = kill_once(folder, seed, there)
    return Found(kills, 0, f"{len(there)} documents at the end, all whole and found")


def fill_disk(folder: Path, rounds: int) -> Found:
    if not shutil.which("unshare") or subprocess.run([*OWN_MOUNTS, "true"], check=False).returncode:
        raise CannotRunError("this system lets no process mount a disk of its own")
    found = _finish(_start("full-disk", folder, rounds, before=OWN_MOUNTS))
    return Found(rounds, found["lost"], f"full {found['full']} times, in the middle of a change")


def damage_files(folder: Path, rounds: int) -> Found:
    found = _finish(_start("damage", folder, rounds))
    of_derived = rounds // 2
    note = (
        f"{found['refused'] + found['noticed']} noticed, {found['harmless']} without effect;"
        f" {found['rebuilt']} of {of_derived} outside SQLite's file rebuilt by `compact`"
    )
    return Found(rounds, found["lost"] + of_derived - found["rebuilt"], note)


def write_at_once(folder: Path, documents: int) -> Found:
    """Let two processes add documents at the same time."""
    with Index(folder / "index", create=True):
        pass
    writers = [_start("write", folder, documents, name) for name in ("red", "blue")]
    said = [_finish(writer) for writer in writers]
    with Index(folder / "index") as index:
        problems = index.check()
        there = index.store.count()[0]
    lost = 2 * documents - there + len(problems)
    waited = sum(found["refused"] for found in said)
    return Found(2 * documents, lost, f"the one that came second was told so {waited} times")


def read_during_compaction(folder: Path, compactions: int) -> Found:
    """Search without a pause while another process writes and compacts."""
    path = folder / "always.txt"
    path.write_text("Glaciers calve into the sea. Bees dance.")
    with Index(folder / "index", create=True, tokenizer=PIECES) as index:
        index.add([path])
    writer = _start("compact", folder, compactions)
    searches = lost = 0
    with Index(folder / "index") as reader:
        while writer.poll() is None or not searches:
            found = reader.search("glaciers calve", 1)
            searches += 1
            lost += [item.candidate.text for item in found] != ["Glaciers calve into the sea."]
    compacted = _finish(writer)["compacted"]
    return Found(searches, lost, f"during {compactions} changes and {compacted} compactions")


def _start(
    what: str, folder: Path, count: int, *more: str, before: Sequence[str] = ()
) -> "subprocess.Popen[str]":
    command = [*before, sys.executable, "-m", "tests.reliability.index_faults"]
    return subprocess.Popen(
        [*command, what, str(folder), str(count), *more],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=ROOT,
    )


def _finish(process: "subprocess.Popen[str]") -> dict[str, int]:
    said, problem = process.communicate()
    assert process.returncode == 0, problem[-3000:]
    found: dict[str, int] = json.loads(said.splitlines()[-1])
    assert not found.get("lost"), problem[-3000:]
    return found


CASES = [
    Case("index", "writer killed with -9", kill_writer, 0, 200, "acknowledged documents"),
    Case("index", "full disk", fill_disk, 6, 100, "acknowledged documents, or half ones"),
    Case(
        "index",
        "a bit flipped, or the end cut off",
        damage_files,
        24,
        2_000,
        "damage that changes answers and that neither an error nor `check` names",
    ),
    Case("index", "two writers", write_at_once, 8, 200, "acknowledged documents"),
    Case("index", "readers during compaction", read_during_compaction, 4, 100, "answers not found"),
]
