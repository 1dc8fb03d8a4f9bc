"""The rows of Han et al. 2021's tables, and ours: what a selector may read around a candidate.

"Modeling Context in Answer Sentence Selection Systems on a Latency Budget", Tables 2 and 4.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

COSINET = "cosinet"


@dataclass(frozen=True, slots=True)
class Row:
    """A selector of the tables, and what the paper's reached on ASNQ."""

    name: str
    form: str
    similarity: str = "static"
    published: Mapping[str, float] = field(default_factory=dict)
    has_seeds: bool = False
    """Whether it is trained with several seeds."""
    is_trained: bool = True
    """Whether it is trained here; else it is the selector that the others begin with."""
    base: str = "none"
    """The row that it is held against: the same without context."""

    @property
    def is_selector(self) -> bool:
        """Whether it is a transformer; else it is Cosinet."""
        return self.form != COSINET


BASE = Row("none", "none", published={"P@1": 59.6, "MAP": 68.5, "MRR": 70.6}, has_seeds=True)
ROWS = (
    Row("shipped", "none", is_trained=False),
    BASE,
    Row("local", "local", published={"P@1": 65.3, "MAP": 73.2, "MRR": 75.2}, has_seeds=True),
    Row("global", "global", published={"P@1": 62.2, "MAP": 69.8, "MRR": 72.2}),
    Row("concatenation", "concatenation", published={"P@1": 63.1, "MAP": 72.6, "MRR": 74.3}),
    Row("ensemble", "ensemble", published={"P@1": 66.8, "MAP": 74.3, "MRR": 76.5}),
    Row("multi-way", "multi-way", has_seeds=True),
    Row("multi-way/ngrams", "multi-way", "ngrams", {"P@1": 63.8, "MAP": 72.5, "MRR": 74.6}),
    Row("multi-way/encoder", "multi-way", "encoder", {"P@1": 66.1, "MAP": 74.2, "MRR": 75.8}),
    Row("stored", "stored"),
    Row("cosinet", COSINET, base="cosinet"),
    Row("cosinet/context", COSINET, base="cosinet"),
)
