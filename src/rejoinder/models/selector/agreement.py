"""Whether a bundle scores as the network that it was made from; without torch.

The runtime must agree with it to 1e-4 in fp32.  int8 must rank a sample nearly as it does, and the
manifest states the agreement and the tolerance of scores.
"""

from itertools import pairwise
from math import ceil
from typing import Any

import numpy as np

from rejoinder.errors import BundleError
from rejoinder.models.scorer import Scores
from rejoinder.types import Example, to_candidates

MAX_DIFFERENCE = {"fp32": 1e-4, "int8": 1.0}
"""Between the scores of the runtime and of the original network, by precision."""
MIN_CORRELATION = 0.98
"""Between the ranks of int8 and of the original network over the pairs of the sample."""
MIN_PAIRS = 20
"""The correlation of fewer pairs is not meaningful."""
MARGIN = 3
"""The tolerance over the largest difference: other pairs may differ more than the sample."""
AGREEMENT = "int8 against fp32"
"""The entry of a manifest's scores that says what int8 costs."""

QUESTIONS = (
    "how long does it take to boil an egg?",
    "Who designed the lighthouse at the harbour?",
    "why do leaves turn red in autumn",
    "What is the maximum weight of hand luggage?",
    "When was the bridge opened to traffic?",
)
SENTENCES = (
    "A soft egg needs about six minutes in boiling water; a hard one needs ten.",
    "The lighthouse was designed by Marta Lindqvist, who also planned the quay.",
    "As the green pigment breaks down, red and yellow ones become visible.",
    "Hand luggage may weigh up to 8 kg, and must fit under the seat.",
    "It was opened to traffic on 14 May 1931, two years late.",
    "Boil the water before you add salt.",
    "The harbour is closed from November to March.",
    "Trees lose water through their leaves.",
    "Checked luggage is weighed at the counter (see table 3).",
    "Tickets cost €4.50; children under 6 travel free.",
    "No.",
)


def make_sample() -> list[Example]:
    """Return every question with sentences, parts of them, and texts of two and of all.

    A part of an answer has a score between right and wrong, where int8 costs most.
    """
    halves = [text[: len(text) // 2] for text in SENTENCES]
    joined = [" ".join(two) for two in pairwise(SENTENCES)]
    candidates = tuple(to_candidates([*SENTENCES, *halves, *joined, " ".join(SENTENCES)]))
    labels = (False,) * len(candidates)  # nobody reads them
    return [Example(text, text, candidates, labels) for text in QUESTIONS]


def check_agreement(actual: Scores, expected: Scores, precision: str) -> dict[str, Any]:
    """Return the manifest's fields about agreement.

    Raises:
        BundleError: the scores differ too much.
    """
    largest = MAX_DIFFERENCE[precision]
    difference = float(np.abs(actual - expected).max(initial=0.0))
    remedy = "; export in fp32 (--no-int8)" if precision == "int8" else ""
    if not difference <= largest:
        raise BundleError(
            f"scores in {precision} differ by {difference:.2g} from those of the original network,"
            f" more than {largest:.2g}: nothing was written{remedy}"
        )
    if precision == "fp32" or not len(actual):
        return {"tolerance": largest}
    correlation = correlate_ranks(actual, expected)
    if len(actual) >= MIN_PAIRS and not correlation >= MIN_CORRELATION:
        raise BundleError(
            f"ranks in {precision} correlate by {correlation:.3f} with those of the original"
            f" network, less than {MIN_CORRELATION}: nothing was written{remedy}"
        )
    agreement = {
        "pairs": len(actual),
        "spearman": round(correlation, 4),
        "largest difference": round(difference, 4),
    }
    tolerance = ceil(100 * MARGIN * difference) / 100
    return {"tolerance": tolerance, "scores": {AGREEMENT: agreement}}


def correlate_ranks(one: Scores, other: Scores) -> float:
    """Return Spearman's correlation; equal scores take ranks in their order."""
    if len(one) < 2:
        return 1.0
    first, second = (np.argsort(np.argsort(scores, kind="stable")) for scores in (one, other))
    # Ranks are all different, so Spearman's own formula holds.
    distance = float(((first - second) ** 2).sum())
    return 1 - 6 * distance / (len(one) * (len(one) ** 2 - 1))
