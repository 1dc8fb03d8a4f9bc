"""Input faults: parsers under fuzzing."""

import json
import subprocess
import sys
from functools import partial
from importlib.util import find_spec
from pathlib import Path

from tests.reliability.case import CannotRunError, Case, Outcome
from tests.reliability.parsers import PARSERS

INPUTS = 1_000_000
"""Atheris inputs of the long form, over all parsers."""

SLOW = {"PDF": 4_000}
"""Parsers that run in a sandbox process, and so get fewer inputs."""


def fuzz(tool: str, parser: str, folder: Path, count: int) -> Outcome:
    """Fuzz a parser in a child process, so that a crash is detected."""
    if tool == "atheris" and find_spec("atheris") is None:
        raise CannotRunError("atheris is not installed")
    process = subprocess.run(
        [sys.executable, "-m", "tests.reliability.fuzz", tool, parser, str(count)],
        check=False,
        capture_output=True,
        text=True,
        errors="replace",
        cwd=Path(__file__).parents[2],
    )
    if process.returncode:
        (folder / "output.txt").write_text(process.stdout + process.stderr)
        tail = process.stderr.strip().splitlines()[-15:]
        raise AssertionError(f"{parser}: fuzzing failed:\n" + "\n".join(tail))
    counts = json.loads(process.stdout.splitlines()[-1])
    note = f"{counts['parsed']:,} parsed, the others rejected; slowest {counts['slowest']:.2f} s"
    return Outcome(counts["inputs"], 0, note)


def _make_cases() -> list[Case]:
    each = INPUTS // (len(PARSERS) - len(SLOW))
    loss = "crashes, exceptions other than rejoinder's own, inputs that take over 1 s per kB"
    cases = []
    for name in PARSERS:
        cases.append(
            Case("input", f"{name}: hypothesis", partial(fuzz, "hypothesis", name), 60, 3_000, loss)
        )
        cases.append(
            Case(
                "input",
                f"{name}: atheris",
                partial(fuzz, "atheris", name),
                0,
                SLOW.get(name, each + 1),
                loss,
            )
        )
    return cases


CASES = _make_cases()
