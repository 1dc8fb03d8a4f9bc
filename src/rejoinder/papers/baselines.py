"""The lexical baselines of the Cosinet paper, published and measured side by side.

Figures: Bonadiman & Moschitti 2020, "A Study on Efficiency, Accuracy and Document Structure
for Answer Sentence Selection", Tables 2, 4, 5 and 6.  The paper does not say how it breaks
ties or cuts words; the rules below are those that give its figures back: its WO lets a tied
wrong candidate come first, its WO+RR breaks ties by the original order, its words are
spaCy's for WikiQA and NQ-LA and white space for SQuAD, of which the first annotated answer
counts.  Only questions with an answer count.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rejoinder.evaluation import Protocol, evaluate
from rejoinder.types import Example

RANDOM_SEEDS = 5


@dataclass(frozen=True, slots=True)
class Baseline:
    """One row of the paper: a scorer under the rules that reproduce it."""

    scorer: str
    ties: str
    published: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Table:
    """The rows of one data set, and the words that they were counted in."""

    dataset: str
    split: str
    words: str
    rows: tuple[Baseline, ...]


TABLES = (
    Table(
        "wikiqa",
        "test",
        "spacy",
        (
            Baseline("random", "stable", {"P@1": 14.43, "MAP": 25.15}),
            Baseline("original-order", "stable", {"P@1": 46.09, "MAP": 64.21, "MRR": 64.26}),
            Baseline("word-overlap", "pessimistic", {"P@1": 32.51, "MAP": 51.02, "MRR": 51.24}),
            Baseline("word-overlap+order", "stable", {"P@1": 56.38, "MAP": 68.25, "MRR": 69.43}),
        ),
    ),
    Table(
        "squad-v2",
        "dev",
        "whitespace",
        (
            Baseline("random", "stable", {"P@1": 18.34, "MAP": 43.81}),
            Baseline("original-order", "stable", {"P@1": 30.54, "MRR": 53.53}),
            Baseline("word-overlap", "pessimistic", {"P@1": 65.48, "MRR": 77.90}),
            Baseline("word-overlap+order", "stable", {"P@1": 73.12, "MRR": 83.60}),
        ),
    ),
    Table(
        "nq-la",
        "dev",
        "spacy",
        (
            Baseline("random", "stable", {"P@1": 3.24, "MAP": 12.33}),
            Baseline("original-order", "stable", {"P@1": 46.06, "MAP": 57.30, "MRR": 60.41}),
            Baseline("word-overlap", "pessimistic", {"P@1": 23.06, "MAP": 38.08, "MRR": 39.57}),
            Baseline("word-overlap+order", "stable", {"P@1": 41.01, "MAP": 53.98, "MRR": 56.45}),
        ),
    ),
)


@dataclass(frozen=True, slots=True)
class Reproduced:
    """One published figure with what we measure: in the paper's words, and in ours."""

    dataset: str
    split: str
    questions: int
    scorer: str
    ties: str
    words: str
    measure: str
    published: float
    measured: float
    in_our_words: float

    def to_dict(self) -> dict[str, Any]:
        """Return the figure as plain JSON types; all values are percentages."""
        return {name: getattr(self, name) for name in self.__slots__}


def measure_row(
    row: Baseline, words: str, examples: Sequence[Example], measures: Sequence[str]
) -> dict[str, float]:
    """Return the percentages that a row reaches, in these words."""
    report = evaluate(
        row.scorer,
        examples,
        protocol=Protocol("answered", row.ties, words),
        measures=measures,
        seeds=RANDOM_SEEDS if row.scorer == "random" else 1,
    )
    return {name: round(100 * value, 2) for name, value in report.means.items()}


def reproduce(table: Table, examples: Sequence[Example]) -> Iterator[Reproduced]:
    """Yield each published figure of a table with the measured ones."""
    questions = sum(any(example.labels) for example in examples)
    for row in table.rows:
        measures = list(row.published)
        theirs = measure_row(row, table.words, examples, measures)
        ours = measure_row(row, "unicode", examples, measures)
        for name, published in row.published.items():
            yield Reproduced(
                table.dataset,
                table.split,
                questions,
                row.scorer,
                row.ties,
                table.words,
                name,
                published,
                theirs[name],
                ours[name],
            )
