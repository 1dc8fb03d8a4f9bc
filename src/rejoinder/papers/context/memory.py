"""The memory of a process that scores with a bundle; without torch, as users do.

`python -m rejoinder.papers.context.memory BUNDLE QUESTIONS` prints the megabytes.
"""

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from rejoinder.bundle.folder import open_bundle
from rejoinder.datasets.readers.jsonl import read_examples, write_examples
from rejoinder.models.onnx_session import Runtime
from rejoinder.models.selector.scorer import SelectorScorer
from rejoinder.types import Example

STATUS = Path("/proc/self/status")
"""Where Linux tells a process the most memory that it had."""


def measure_peak(folder: Path, examples: Sequence[Example]) -> float | None:
    """Return the most megabytes of a process of its own; None where the system does not tell."""
    if not STATUS.exists():
        return None
    with TemporaryDirectory() as place:
        questions = Path(place, "questions.jsonl")
        write_examples(questions, examples)
        command = [sys.executable, "-m", __name__, str(folder), str(questions)]
        done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    return float(done.stdout)


def score_all(folder: Path, questions: Path) -> float:
    """Score every question on one thread; return the most megabytes that this process had."""
    scorer = SelectorScorer(open_bundle(folder), Runtime(threads=1))
    for example in read_examples(questions):
        scorer.score(example.question, example.candidates)
    status = STATUS.read_text(encoding="utf-8").splitlines()
    (peak,) = (line.split()[1] for line in status if line.startswith("VmHWM:"))
    return int(peak) / 1000


if __name__ == "__main__":
    sys.stdout.write(f"{score_all(*map(Path, sys.argv[1:]))}\n")
