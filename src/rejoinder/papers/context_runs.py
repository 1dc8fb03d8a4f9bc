"""What a training of the context tables has reached."""

from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True, slots=True)
class Run:
    """One row trained with one seed, and what it reached with the weights as they are used."""

    row: str
    seed: int
    pairs: int
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
