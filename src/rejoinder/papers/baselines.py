"""Lexical baselines of the Cosinet paper, published and measured side by side.

Bonadiman & Moschitti 2020, "A Study on Efficiency, Accuracy and Document Structure for Answer
Sentence Selection", Tables 2, 4, 5 and 6.  The paper does not state its tie rule or its
tokenizer; the rules below reproduce its numbers.  Its word overlap (WO) ranks a tied wrong
candidate first; WO+RR breaks ties by the original order.  Its words are spaCy's for WikiQA and
NQ-LA, and split at white space for SQuAD, where the first annotated answer counts.  Only
questions with an answer count.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from rejoinder.errors import MissingDataError
from rejoinder.evaluation import Protocol, evaluate
from rejoinder.papers.examples import is_large, open_available
from rejoinder.papers.table import SILENT, PrintedTable, Reporter
from rejoinder.types import Example

RANDOM_SEEDS = 5


@dataclass(frozen=True, slots=True)
class Baseline:
    """A scorer with the tie rule that reproduces the published percentages."""

    scorer: str
    ties: str
    published: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class BaselineTable:
    """The baselines on one data set, and how the paper splits words there."""

    test: str
    words: str
    rows: tuple[Baseline, ...]


BASELINES = (
    BaselineTable(
        "wikiqa:test",
        "spacy",
        (
            Baseline("random", "stable", {"P@1": 14.43, "MAP": 25.15}),
            Baseline("original-order", "stable", {"P@1": 46.09, "MAP": 64.21, "MRR": 64.26}),
            Baseline("word-overlap", "pessimistic", {"P@1": 32.51, "MAP": 51.02, "MRR": 51.24}),
            Baseline("word-overlap+order", "stable", {"P@1": 56.38, "MAP": 68.25, "MRR": 69.43}),
        ),
    ),
    BaselineTable(
        "squad-v2:dev",
        "whitespace",
        (
            Baseline("random", "stable", {"P@1": 18.34, "MAP": 43.81}),
            Baseline("original-order", "stable", {"P@1": 30.54, "MRR": 53.53}),
            Baseline("word-overlap", "pessimistic", {"P@1": 65.48, "MRR": 77.90}),
            Baseline("word-overlap+order", "stable", {"P@1": 73.12, "MRR": 83.60}),
        ),
    ),
    BaselineTable(
        "nq-la:dev",
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
class BaselineFigure:
    """A published percentage, and ours with the paper's words and with our own."""

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


def reproduce_baselines(
    folder: Path | None = None, reporter: Reporter = SILENT, *, seeds: int = RANDOM_SEEDS
) -> list[dict[str, Any]]:
    """Measure every baseline whose data set is here; return the figures as plain JSON types.

    Args:
        seeds: how often the random ranker is drawn.

    Raises:
        MissingDataError: none of the data sets is here.
    """
    figures: list[BaselineFigure] = []
    for table in BASELINES:
        examples = open_available(table.test, folder, reporter.say)
        examples = examples if is_large(table.test) else list(examples)
        figures.extend(compare_baselines(table, examples, seeds) if examples else ())
    if not figures:
        raise MissingDataError("none of the data sets was found; give their folder as --data")
    header = ["data set", "questions", "scorer", "ties", "words", "measure"]
    rows = [
        [
            *(f"{item.dataset} {item.split}", str(item.questions), item.scorer, item.ties),
            *(item.words, item.measure, f"{item.published:.2f}"),
            *(f"{item.measured:.2f}", f"{item.in_our_words:.2f}"),
        ]
        for item in figures
    ]
    reporter.show(PrintedTable([*header, "published", "measured", "our words"], rows))
    return [asdict(item) for item in figures]


def compare_baselines(
    table: BaselineTable, examples: Iterable[Example], seeds: int = RANDOM_SEEDS
) -> Iterator[BaselineFigure]:
    """Yield each published percentage of a table with the measured ones."""
    questions = sum(any(example.labels) for example in examples)
    dataset, _, split = table.test.partition(":")
    for row in table.rows:
        measures = list(row.published)
        theirs = measure_baseline(row, table.words, examples, measures, seeds)
        ours = measure_baseline(row, "unicode", examples, measures, seeds)
        for name, published in row.published.items():
            rules = (row.scorer, row.ties, table.words, name)
            values = (published, theirs[name], ours[name])
            yield BaselineFigure(dataset, split, questions, *rules, *values)


def measure_baseline(
    row: Baseline,
    words: str,
    examples: Iterable[Example],
    measures: Sequence[str],
    seeds: int = RANDOM_SEEDS,
) -> dict[str, float]:
    """Return the percentages of a baseline with this way to split words."""
    report = evaluate(
        row.scorer,
        examples,
        protocol=Protocol("answered", row.ties, words),
        measures=measures,
        seeds=seeds if row.scorer == "random" else 1,
    )
    return {name: round(100 * value, 2) for name, value in report.means.items()}
