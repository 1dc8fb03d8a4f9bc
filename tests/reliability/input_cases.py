"""Input faults: parsers under fuzzing."""

import json
import subprocess
import sys
from functools import partial
from importlib.util import find_spec
from pathlib import Path

from tests.reliability.case import CannotRunError, Case, Outcome
from tests.reliability.document_parsers import DOCUMENT_PARSERS
from tests.reliability.parsers import PARSERS

INPUTS = 1_000_000
"""Inputs of the long form: mutations over all readers of documents, atheris over the others."""


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
    rejected = counts["inputs"] - counts["parsed"]
    slowest = f"{counts['slowest']:.2f} s for {counts['slowest_size']:,} bytes"
    note = f"{rejected:,} rejected; {counts['seconds']:,.0f} s; slowest {slowest}"
    return Outcome(counts["inputs"], 0, note)


def _make_cases() -> list[Case]:
    others = PARSERS.keys() - DOCUMENT_PARSERS.keys()
    counts = {
        ("hypothesis", False): (60, 3_000),
        ("atheris", False): (0, INPUTS // len(others) + 1),
        ("mutation", True): (200, INPUTS // len(DOCUMENT_PARSERS) + 1),
        ("hypothesis", True): (0, 3_000),
        ("atheris", True): (0, 5_000),
        ("repetition", True): (3, 300),
    }
    loss = (
        "crashes, exceptions other than rejoinder's own, inputs of up to 100 kB that take over 2 s"
    )
    return [
        Case("input", f"{name}: {tool}", partial(fuzz, tool, name), short, long, loss)
        for name in PARSERS
        for (tool, is_document), (short, long) in counts.items()
        if is_document == (name in DOCUMENT_PARSERS)
    ]


CASES = _make_cases()
