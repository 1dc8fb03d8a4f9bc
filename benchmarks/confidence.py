"""Measure how far the confidence of an answer can be trusted, over whole corpora.

Usage: python -m benchmarks.confidence --data DATA --manuals FOLDER --cache FOLDER
           [--scorer default] [--plot docs/confidence.png]
           [--results benchmarks/results/confidence.json]

The corpora and their questions are those of `benchmarks.open_corpus`; the shipped confidence was
fitted to other documents (`benchmarks.corpus_lists --calibration`).  Each corpus is asked:

    own      its own questions
    removed  its own questions that have an answer, with all right sentences taken out of what
             the search finds
    foreign  questions of the other corpus, as many as its own

The last two have no answer.  `all` is the three together.  As many sentences are ranked of each,
as an engine does for one answer: stages with a `stop` stop reading.
It prints the chief figures beside their goals; the results have all.
"""

import argparse
import json
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks.common import describe_machine
from benchmarks.corpora.pooled import read_pool
from benchmarks.corpora.questions import Question, read_manual_questions, sample
from benchmarks.manuals.readers import ROOT
from benchmarks.open_corpus import CORPORA, open_corpus
from rejoinder.cascade.cascade import Cascade
from rejoinder.cascade.loading import load
from rejoinder.engine.answers import group_by_document
from rejoinder.engine.engine import RETRIEVED
from rejoinder.evaluation.calibration.confidence import (
    BINS,
    Confidences,
    Correct,
    measure_calibration_error,
    trace_curve,
)
from rejoinder.index.index import Index
from rejoinder.models.ranking import order
from rejoinder.types import Candidate

RESULTS = ROOT / "benchmarks" / "results" / "confidence.json"
RATES = (0.25, 0.5, 0.75)
SPARE = 20
"""Sentences that take the place of right ones that are taken out: a shorter list would tell."""


class Goal(NamedTuple):
    """A figure, what it must reach, and on which questions it is measured."""

    name: str
    corpus: str
    questions: str
    figure: str
    least: float = 0.0
    most: float = 1.0


GOALS = (
    Goal("calibration error", "pooled", "all", "calibration_error", most=0.05),
    Goal("calibration error", "manuals", "all", "calibration_error", most=0.10),
    Goal("precision of the most confident half", "pooled", "own", "precision_of_half", least=0.85),
    Goal("unanswerable questions refused", "pooled", "all", "unanswerable_refused", least=0.80),
    Goal("right first answers stated", "pooled", "all", "right_stated", least=0.75),
    Goal("answerable questions refused", "manuals", "all", "answerable_refused", most=0.40),
)


class Observation(NamedTuple):
    """The first answer to one question."""

    confidence: float
    is_stated: bool
    is_right: bool
    is_answerable: bool


@dataclass(frozen=True)
class Asked:
    """Observations as arrays."""

    confidences: Confidences
    is_stated: Correct
    correct: Correct
    answerable: Correct

    @classmethod
    def from_rows(cls, rows: Sequence[Observation]) -> "Asked":
        """Return the observations."""
        return cls(*map(np.array, zip(*rows, strict=True)))


def main() -> None:
    options = parse_options()
    scorer = load(options.scorer)
    assert isinstance(scorer, Cascade)
    assert scorer.calibration, f"{options.scorer} is not calibrated"
    result: dict[str, Any] = {
        "machine": describe_machine(),
        "scorer": options.scorer,
        "threshold": scorer.calibration.threshold,
        "corpora": {},
    }
    asked: dict[str, Asked] = {}
    for corpus in CORPORA:
        print(corpus, file=sys.stderr)
        with open_corpus(corpus, options) as (index, _, questions):
            foreign = sample_foreign(corpus, options.data, len(questions))
            rows = ask_all(index, scorer, questions, foreign)
        rows["all"] = [row for own in rows.values() for row in own]
        parts = {name: Asked.from_rows(own) for name, own in rows.items()}
        asked[corpus] = parts["all"]
        result["corpora"][corpus] = {name: describe(part) for name, part in parts.items()}
    print(show_goals(result["corpora"]))
    options.results.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    if options.plot:
        plot(options.plot, asked)


def parse_options() -> argparse.Namespace:
    summary, _, rest = (__doc__ or "").partition("\n")
    parser = argparse.ArgumentParser(
        description=summary, epilog=rest, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, help="the data sets; $REJOINDER_DATA by default")
    parser.add_argument("--manuals", type=Path, default=Path("manuals"))
    parser.add_argument("--cache", type=Path, default=Path("open-corpus"))
    parser.add_argument("--scorer", default="default")
    parser.add_argument("--plot", type=Path)
    parser.add_argument("--results", type=Path, default=RESULTS)
    options = parser.parse_args()
    options.questions = options.typos = options.index = None
    return options


def sample_foreign(corpus: str, data: Path | None, count: int) -> list[Question]:
    """Return questions that another corpus answers."""
    others = read_manual_questions() if corpus == "pooled" else read_pool(data).questions
    answerable = [question for question in others if question.is_answerable]
    groups = len({question.group for question in answerable})
    return sample(answerable, -(-count // groups))[:count]


def ask_all(
    index: Index, scorer: Cascade, questions: Iterable[Question], foreign: Iterable[Question]
) -> dict[str, list[Observation]]:
    """Return the observations of each kind of question."""
    own, removed = list(questions), [item for item in questions if item.is_answerable]
    return {
        "own": [ask(index, scorer, item) for item in own],
        "removed": [ask(index, scorer, item, without=item.accepts) for item in removed],
        "foreign": [ask(index, scorer, item, without=item.accepts) for item in foreign],
    }


def ask(
    index: Index,
    scorer: Cascade,
    question: Question,
    without: Callable[[str], bool] | None = None,
) -> Observation:
    """Rank what the search finds, as an engine does for one answer, without some sentences."""
    kept = find(index, question, scorer, without)
    ranking = order(question.text, kept, scorer=scorer, only_first=True)
    is_right = bool(ranking.items) and without is None
    return Observation(
        ranking.confidence or 0.0,
        bool(ranking.items) and not ranking.abstains,
        is_right and question.accepts(ranking.items[0].candidate.text),
        question.is_answerable and without is None,
    )


def find(
    index: Index,
    question: Question,
    scorer: Cascade,
    without: Callable[[str], bool] | None = None,
) -> list[Candidate]:
    """Return the candidates that an engine ranks; others take the place of those of `without`.

    The number that is searched for changes the order a little, so only the latter search for more.
    """
    hits = index.search(question.text, RETRIEVED + SPARE if without else RETRIEVED)
    found = [hit.candidate for hit in hits if without is None or not without(hit.candidate.text)]
    kept = found[:RETRIEVED]
    return group_by_document(index.read_passages(kept) if scorer.reads_passages else kept)


def show_goals(corpora: dict[str, Any]) -> str:
    """Return each goal's figure on a line, and whether it is reached."""
    lines = []
    for goal in GOALS:
        figure = corpora[goal.corpus][goal.questions][goal.figure]
        asked = f"at most {goal.most:.2f}" if goal.most < 1 else f"at least {goal.least:.2f}"
        verdict = "reached" if goal.least <= figure <= goal.most else "missed"
        lines.append(f"{goal.corpus:8} {goal.name:38} {figure:.3f}  {asked}: {verdict}")
    return "\n".join(lines)


def describe(asked: Asked) -> dict[str, Any]:
    """Return the figures of some questions."""
    curve = trace_curve(asked.confidences, asked.correct)
    precisions = {
        rate: round(float(curve.precisions[int(rate * len(curve.rates)) - 1]), 4) for rate in RATES
    }
    is_stated = asked.is_stated
    bins = np.minimum((asked.confidences * BINS).astype(int), BINS - 1)
    return {
        "questions": len(asked.correct),
        "calibration_error": round(measure_calibration_error(asked.confidences, asked.correct), 4),
        "precision_at_rate": {str(rate): precision for rate, precision in precisions.items()},
        "precision_of_half": precisions[0.5],
        "right_stated": _share(is_stated, asked.correct),
        "answerable_refused": _share(~is_stated, asked.answerable),
        "unanswerable_refused": _share(~is_stated, ~asked.answerable),
        "distinct_confidences": _share_distinct(asked.confidences),
        "reliability": [
            {
                "confidence": round(float(asked.confidences[bins == number].mean()), 4),
                "right": round(float(asked.correct[bins == number].mean()), 4),
                "questions": int((bins == number).sum()),
            }
            for number in range(BINS)
            if (bins == number).any()
        ],
    }


def _share(is_so: Correct, among: Correct) -> float | None:
    return round(float(is_so[among].mean()), 4) if among.any() else None


def _share_distinct(confidences: Confidences) -> float:
    return round(len(np.unique(confidences.round(9))) / len(confidences), 4)


def plot(path: Path, asked: dict[str, Asked]) -> None:
    """Draw a reliability diagram, and precision against answer rate."""
    import matplotlib.pyplot as plt

    figure, (left, right) = plt.subplots(1, 2, figsize=(9, 4))
    left.plot([0, 1], [0, 1], color="0.7", linestyle="--")
    for name, own in asked.items():
        rows = describe(own)["reliability"]
        left.plot(
            [row["confidence"] for row in rows],
            [row["right"] for row in rows],
            marker="o",
            label=name,
        )
        curve = trace_curve(own.confidences, own.correct)
        right.plot(curve.rates, curve.precisions, label=name)
    left.set(xlabel="confidence", ylabel="share of right first answers")
    right.set(xlabel="answer rate", ylabel="precision", ylim=(0, 1.02))
    left.legend()
    right.legend()
    figure.tight_layout()
    figure.savefig(path, dpi=150)


if __name__ == "__main__":
    main()
