"""Input faults: parsers under fuzzing."""

import json
import subprocess
import sys
from functools import partial
from importlib.util import find_spec
from pathlib import Path

from tests.reliability.case import CannotRunError, Case, Outcome
from tests.reliability.document_parsers import DOCUMENT_PARSERS
from tests.reliability.fuzz import MAX_MEGABYTES
from tests.reliability.parsers import PARSERS

Counts = dict[str, tuple[int, int]]
"""Inputs of the short and of the long form, by tool."""

INPUTS = 1_000_000
"""Inputs of the long form: mutations over all readers of documents, atheris over the others."""
SLOW: dict[str, Counts] = {
    "HTTP upload": {"hypothesis": (20, 3_000), "atheris": (0, 5_000)},
    "bundle of any family": {"mutation": (150, 30_000)},
    "import of ONNX": {"mutation": (60, 10_000)},
    "import of ONNX to int8": {"mutation": (20, 3_000)},
    "import of safetensors": {"mutation": (5, 500)},
}
"""Parsers that take many milliseconds, or that read archives, which hypothesis would break."""
DOCUMENTS: Counts = {
    "mutation": (200, INPUTS // len(DOCUMENT_PARSERS) + 1),
    "hypothesis": (0, 3_000),
    "atheris": (0, 5_000),
    "repetition": (3, 300),
}
OTHERS: Counts = {
    "hypothesis": (60, 3_000),
    "atheris": (0, INPUTS // (len(PARSERS) - len(DOCUMENT_PARSERS) - len(SLOW)) + 1),
}
LOSS = (
    "crashes, exceptions other than rejoinder's own, inputs of up to 100 kB that take over 2 s,"
    f" processes that take more than {MAX_MEGABYTES:,} MB"
)


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
    costs = f"{counts['seconds']:,.0f} s, {counts['megabytes']:,} MB"
    note = f"{rejected:,} rejected; {costs}; slowest {slowest}"
    return Outcome(counts["inputs"], 0, note)


def _make_cases() -> list[Case]:
    return [
        Case("input", f"{name}: {tool}", partial(fuzz, tool, name), short, long, LOSS)
        for name in PARSERS
        for tool, (short, long) in _get_counts(name).items()
    ]


def _get_counts(name: str) -> Counts:
    if name in DOCUMENT_PARSERS:
        return DOCUMENTS
    return SLOW.get(name, OTHERS)


CASES = _make_cases()
