"""Scores a data set with a scorer and measures the rankings."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

from rejoinder.errors import InputError
from rejoinder.evaluation.measures import DEFAULT_MEASURES, Values, measure, parse_measures
from rejoinder.evaluation.protocol import Protocol
from rejoinder.models.scorer import Scorer
from rejoinder.types import Example


@dataclass(frozen=True, slots=True)
class Judged:
    """One question as it was ranked: candidate ids and labels best first, with scores."""

    question_id: str
    question: str
    candidate_ids: tuple[str, ...]
    labels: tuple[bool, ...]
    scores: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Report:
    """What a scorer reached under a protocol: per question, and as means."""

    scorer: str
    protocol: Protocol
    judged: tuple[Judged, ...]
    values: Values

    @property
    def means(self) -> dict[str, float]:
        """Of each measure, the mean over the questions that count."""
        return {name: fmean(values) for name, values in self.values.items()}

    def to_dict(self) -> dict[str, Any]:
        """Return the means with their protocol as plain JSON types."""
        return {
            "scorer": self.scorer,
            "protocol": self.protocol.questions,
            "ties": self.protocol.ties,
            "words": self.protocol.words,
            "questions": len(self.judged),
            "candidates": sum(len(item.labels) for item in self.judged),
            **self.means,
        }

    def list_questions(self) -> list[dict[str, Any]]:
        """Return one plain object per question: its values, and its candidates best first."""
        return [
            {
                "id": item.question_id,
                "question": item.question,
                **{name: values[place] for name, values in self.values.items()},
                "candidates": [
                    {"id": id_, "label": int(label), "score": score}
                    for id_, label, score in zip(
                        item.candidate_ids, item.labels, item.scores, strict=True
                    )
                ],
            }
            for place, item in enumerate(self.judged)
        ]


def evaluate(
    scorer: Scorer,
    examples: Iterable[Example],
    *,
    protocol: Protocol | None = None,
    measures: Sequence[str] = DEFAULT_MEASURES,
) -> Report:
    """Rank every question that counts, and measure the rankings.

    `protocol.words` is only reported: the scorer was made with its words.

    Raises:
        InputError: no question counts under the protocol, or no measure is named.
        UnknownNameError: no measure has this name.
    """
    parse_measures(measures)  # before the work, not after it
    protocol = protocol or Protocol()
    judged = tuple(
        _judge(scorer, example, protocol) for example in examples if protocol.counts(example)
    )
    if not judged:
        raise InputError(f"no question counts under protocol {protocol.questions!r}")
    values = measure([item.labels for item in judged], measures)
    return Report(scorer.name, protocol, judged, values)


def _judge(scorer: Scorer, example: Example, protocol: Protocol) -> Judged:
    scores = scorer.score(example.question, example.candidates)
    order = protocol.order(scores, example.labels)
    return Judged(
        question_id=example.id,
        question=example.question,
        candidate_ids=tuple(example.candidates[place].id for place in order),
        labels=tuple(example.labels[place] for place in order),
        scores=tuple(float(scores[place]) for place in order),
    )
