"""Parsers that are fed what no one would write."""

import json
import subprocess
import sys
from functools import partial
from importlib.util import find_spec
from pathlib import Path

from tests.reliability.case import CannotRunError, Case, Found
from tests.reliability.parsers import PARSERS

INPUTS = 1_000_000
"""In the long form, by atheris, over all parsers."""

SLOW = {"PDF": 4_000}
"""Through a process of its own, as it is read: fewer inputs."""


def feed(how: str, parser: str, folder: Path, count: int) -> Found:
    """Feed a parser in a process, so that a crash is seen as one."""
    if how == "atheris" and find_spec("atheris") is None:
        raise CannotRunError("atheris is not installed")
    process = subprocess.run(
        [sys.executable, "-m", "tests.reliability.fuzz", how, parser, str(count)],
        check=False,
        capture_output=True,
        text=True,
        errors="replace",
        cwd=Path(__file__).parents[2],
    )
    if process.returncode:
        (folder / "escaped.txt").write_text(process.stdout + process.stderr)
        last = process.stderr.strip().splitlines()[-15:]
        raise AssertionError(f"{parser}: something escaped:\n" + "\n".join(last))
    found = json.loads(process.stdout.splitlines()[-1])
    note = f"{found['read']:,} read, the others refused; slowest {found['slowest']:.2f} s"
    return Found(found["inputs"], 0, note)


def _make_cases() -> list[Case]:
    each = INPUTS // (len(PARSERS) - len(SLOW))
    lost = "crashes, errors that are not ours, inputs over 1 s per kB"
    cases = []
    for name in PARSERS:
        cases.append(
            Case("input", f"{name}: hypothesis", partial(feed, "hypothesis", name), 60, 3_000, lost)
        )
        cases.append(
            Case(
                "input",
                f"{name}: atheris",
                partial(feed, "atheris", name),
                0,
                SLOW.get(name, each + 1),
                lost,
            )
        )
    return cases


CASES = _make_cases()
