"""What the trainings of the context tables have reached, kept in a file."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from rejoinder.data.kept_lines import append_kept, read_kept
from rejoinder.errors import InputError


@dataclass(frozen=True, slots=True)
class Run:
    """One row trained with one seed, and what it reached with the weights as they are used."""

    row: str
    seed: int
    pairs: int
    parameters: int
    seconds: float
    precision: str
    """Of the bundle that was tested: fp32 where int8 was too far off."""
    values: dict[str, dict[str, list[float]]]
    """Of each test set and measure, one value per question."""
    labels: list[list[bool]]
    """Of each long list, the labels of what the first stage kept, best first."""
    scores: list[list[float]]
    """What this row gave to the same."""

    def to_dict(self) -> dict[str, Any]:
        """Return the run as plain JSON types."""
        return {name: getattr(self, name) for name in self.__slots__}

    def measure_cascade(self, keep: int) -> list[float]:
        """Return for each long list whether the best of the first so many is an answer."""
        return [
            float(labels[int(np.argmax(scores[:keep]))])
            for labels, scores in zip(self.labels, self.scores, strict=True)
        ]


def read_runs(path: Path) -> list[Run]:
    """Return the runs of a results file; none where there is no file yet.

    Raises:
        InputError: the file holds something else.
    """
    try:
        return [Run(**row) for row in read_kept(path)]
    except TypeError as error:
        raise InputError(f"{path}: not a file of runs; give another, or remove it") from error


def append_run(path: Path, run: Run) -> None:
    """Add a run to a results file."""
    append_kept(path, run.to_dict())
