"""Measures of rankings, question by question, and the protocol they are computed under.

ir-measures (trec_eval underneath) breaks ties by candidate id.  It never sees a tie: each
ranking is passed as strictly decreasing numbers, with its ties already broken.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rejoinder.errors import InputError, MissingExtraError, UnknownNameError
from rejoinder.models.scorer import Scores
from rejoinder.types import Example

DEFAULT_MEASURES = ("P@1", "MAP", "MRR")
KNOWN_MEASURES = ("P@k", "MAP", "MRR", "nDCG@k", "recall@k")
MAX_CUTOFF = 1_000_000
"""The largest k: longer than any list, and trec_eval does not accept arbitrary integers."""
QUESTIONS = ("answered", "mixed", "all")
TIES = ("stable", "pessimistic")

Values = dict[str, list[float]]
"""For each measure, one value per question."""


@dataclass(frozen=True, slots=True)
class Protocol:
    """The rules of an evaluation.  Every number is printed with them."""

    questions: str = "answered"
    """Which questions count: those with a correct candidate (`answered`; WikiQA test: 243 of
    633), those with a correct and a wrong one (`mixed`; TREC-QA's "clean" 68 of 100, WikiQA's
    237), or every question that has candidates (`all`; one without a correct one counts as 0)."""
    ties: str = "stable"
    """Order of equal scores: the original one (`stable`), or wrong candidates before correct
    ones (`pessimistic`), so that a tie is never won by luck."""
    words: str = "unicode"
    """How lexical scorers split words."""

    def __post_init__(self) -> None:
        if self.questions not in QUESTIONS:
            raise UnknownNameError("protocol", self.questions, QUESTIONS)
        if self.ties not in TIES:
            raise UnknownNameError("tie rule", self.ties, TIES)

    def counts(self, example: Example) -> bool:
        """Return whether the question counts."""
        if self.questions == "all":
            return bool(example.candidates)
        has_answer = any(example.labels)
        return has_answer and (self.questions == "answered" or not all(example.labels))

    def order(self, scores: Scores, labels: Sequence[bool]) -> list[int]:
        """Return the indices of the candidates, best first."""
        if self.ties == "stable":
            best_first = np.argsort(-scores, kind="stable")
        else:
            best_first = np.lexsort((np.asarray(labels), -scores))
        return [int(place) for place in best_first]


def measure(
    rankings: Sequence[Sequence[bool]], measures: Sequence[str], unranked: Sequence[int] = ()
) -> Values:
    """Return the value of each measure for each ranking.

    Args:
        rankings: for each question, whether each candidate is an answer, best first.
            All candidates must be present: answer selection ranks a closed list.
        unranked: for each question, how many answers are missing all the same.
        measures: such as P@1, MAP, MRR, nDCG@10, recall@5.  MAP and MRR are means over
            questions; this function returns the average precision and reciprocal rank of each.
    """
    parsed = parse_measures(measures)
    judgements = {
        str(q): {str(place): int(label) for place, label in enumerate(labels)}
        for q, labels in enumerate(rankings)
    }
    run = {
        q: {place: float(len(labels) - int(place)) for place in labels}
        for q, labels in judgements.items()
    }
    for q, count in enumerate(unranked):
        judgements[str(q)] |= {f"unranked {place}": 1 for place in range(count)}
    values: Values = {name: [0.0] * len(rankings) for name in measures}
    for result in _ir_measures().iter_calc(list(parsed.values()), judgements, run):
        for name, parsed_measure in parsed.items():
            if parsed_measure == result.measure:
                values[name][int(result.query_id)] = float(result.value)
    return values


def parse_measures(names: Sequence[str]) -> dict[str, Any]:
    """Return the measures of ir-measures by our names."""
    if not names:
        raise InputError(f"no measure is named; known: {', '.join(KNOWN_MEASURES)}")
    return {name: _parse(name) for name in names}


def _parse(name: str) -> Any:
    names = _ir_measures()
    if name in ("MAP", "MRR"):
        return names.AP if name == "MAP" else names.RR
    match = re.fullmatch(r"(P|nDCG|recall)@([1-9]\d*)", name)
    if match is None:
        raise UnknownNameError("measure", name, KNOWN_MEASURES)
    if len(match[2]) > len(str(MAX_CUTOFF)) or int(match[2]) > MAX_CUTOFF:
        raise InputError(f"{match[1]}@k takes a k of {MAX_CUTOFF:,} at most")
    family = {"P": names.P, "nDCG": names.nDCG, "recall": names.R}[match[1]]
    return family @ int(match[2])


def _ir_measures() -> Any:
    try:
        import ir_measures
    except ImportError as error:
        raise MissingExtraError("evaluation", extra="evaluate") from error
    return ir_measures
