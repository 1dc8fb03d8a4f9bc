"""Calibrated confidence in the best candidate, and when a cascade abstains.

Two probabilities answer two questions.  The *confidence* is the probability that the first
candidate is right.  The *answerability* is the probability that any candidate answers.  They
part where many sentences say nearly the same: the first of them is often not the best, yet the
documents do answer.  A cascade abstains if the answerability is below its threshold, or, where
only a confidence was fitted, if that is.

Both are logistic functions of what the stages found (`Features`).
"""

from collections.abc import Mapping
from dataclasses import astuple, dataclass, fields
from math import exp
from typing import Annotated

import numpy as np
from msgspec import Meta, Struct

from rejoinder.models.scorer import Scores

Facts = Mapping[str, str | int | float]
"""The protocol beside a number: data set, questions, measured quality."""
NotNegative = Annotated[float, Meta(ge=0)]


@dataclass(frozen=True, slots=True)
class Features:
    """What the probabilities are computed from."""

    best: float
    """The best score of the last stage, with the document prior."""
    margin: float
    """How far it is above the second best."""
    count: float
    """The logarithm of the number of candidates that the first stage got."""
    prior: float = 0.0
    """The document prior in the best score."""
    rank: float = 0.0
    """The logarithm of the best candidate's rank in the first stage."""
    headings: float = 0.0
    """The share of the candidates that are below headings."""


FEATURES = tuple(item.name for item in fields(Features))


class Logistic(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A logistic function of the features: an intercept, and a weight for each feature."""

    intercept: float
    best: float
    margin: float = 0.0
    count: float = 0.0
    prior: float = 0.0
    rank: float = 0.0
    headings: float = 0.0

    def rate(self, features: Features) -> float:
        """Return the probability."""
        return to_probability(self.weigh(features))

    def weigh(self, features: Features) -> float:
        """Return the log-odds."""
        return self.intercept + float(self.weights @ np.array(astuple(features)))

    @property
    def weights(self) -> Scores:
        """The weights of the features, in their order."""
        return np.array([getattr(self, name) for name in FEATURES])


class Calibration(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """How a cascade computes its confidence, and when it abstains."""

    confidence: Logistic
    answerability: Logistic | None = None
    """None where no question to fit it to was unanswerable."""
    threshold: float = 0.5
    """The answerability, or without one the confidence, below which the cascade abstains."""
    knots: tuple[tuple[float, float], ...] = ()
    """Points (log-odds, confidence), both rising, between which the confidence is interpolated.  In
    older files; they are not fitted any more, because they give many questions one value."""
    facts: Facts = {}

    def rate(self, features: Features) -> float:
        """Return the confidence: the probability that the first candidate is right."""
        if not self.knots:
            return self.confidence.rate(features)
        values, confidences = zip(*self.knots, strict=True)
        return float(np.interp(self.confidence.weigh(features), values, confidences))

    @property
    def min_confidence(self) -> float | None:
        """The confidence below which the cascade abstains; None if the answerability decides."""
        return None if self.answerability else self.threshold

    def abstains(self, features: Features) -> bool:
        """Return whether the cascade abstains, unless its caller compares the confidence."""
        decisive = self.answerability.rate if self.answerability else self.rate
        return decisive(features) < self.threshold


class StageCalibration(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """How the score of a stage becomes a probability."""

    intercept: float
    score: NotNegative
    """The weight of the stage's score; positive, so that a higher score never rates lower."""
    lead: NotNegative
    """The weight of the lead; positive or zero, as well."""

    def rate(self, scores: Scores, leads: Scores) -> Scores:
        """Return the probabilities."""
        odds = self.intercept + self.score * scores + self.lead * leads
        return np.asarray(1 / (1 + np.exp(-np.clip(odds, -500, 500))), dtype=np.float64)


class SentenceCalibration(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """The calibration of a cascade's sentences (`rejoinder calibrate --sentences`)."""

    stages: Mapping[str, StageCalibration]
    """By the name of the scorer; the cascade's other stages do not take part."""
    floor: float
    """A sentence that a stage rates below this is not read by later stages."""
    keep: Annotated[int, Meta(ge=1)]
    """How many sentences of a text the last stage reads at most, the most likely ones."""
    threshold: float
    """The probability from which a sentence is highlighted."""
    pruning: float
    """The probability from which a sentence is kept when a text is pruned."""
    facts: Facts = {}


def to_probability(value: float) -> float:
    """Return the logistic function of a value, without overflow."""
    return 1 / (1 + exp(-value)) if value >= 0 else 1 - 1 / (1 + exp(value))
