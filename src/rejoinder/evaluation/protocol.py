"""What must stand beside a number: which questions count, how ties are broken, how words are cut.

Which questions count:

- `answered`: those with at least one correct candidate (WikiQA test: 243 of 633);
- `mixed`: those with a correct and a wrong one, where order matters at all (TREC-QA's
  "clean" 68 of 100, WikiQA's 237);
- `all`: every question that has candidates; one without a correct one counts as 0.

How ties are broken: `stable`, equal scores keep the original order; `pessimistic`, a wrong
candidate comes before a correct one of the same score, so that nothing is won by luck.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rejoinder.errors import UnknownNameError
from rejoinder.models.scorer import Scores
from rejoinder.types import Example

QUESTIONS = ("answered", "mixed", "all")
TIES = ("stable", "pessimistic")


@dataclass(frozen=True, slots=True)
class Protocol:
    """The rules of an evaluation, by name."""

    questions: str = "answered"
    ties: str = "stable"
    words: str = "unicode"

    def __post_init__(self) -> None:
        if self.questions not in QUESTIONS:
            raise UnknownNameError("protocol", self.questions, QUESTIONS)
        if self.ties not in TIES:
            raise UnknownNameError("tie rule", self.ties, TIES)

    def counts(self, example: Example) -> bool:
        """Whether the question takes part."""
        if self.questions == "all":
            return bool(example.candidates)
        has_answer = any(example.labels)
        return has_answer and (self.questions == "answered" or not all(example.labels))

    def order(self, scores: Scores, labels: Sequence[bool]) -> list[int]:
        """Return the places of the candidates, best first."""
        if self.ties == "stable":
            best_first = np.argsort(-scores, kind="stable")
        else:
            best_first = np.lexsort((np.asarray(labels), -scores))
        return [int(place) for place in best_first]
