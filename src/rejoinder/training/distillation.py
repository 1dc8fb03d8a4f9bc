"""Teaches a small model what a large one knows: soft targets, also across documents.

A target is a mean of the label and of the teacher's probability, the sigmoid of its score.
Normalised over a list it says which candidates are better (the listwise term of the loss);
as it is, it says how good each one is (the pointwise term), so that the pupil's scores mean
the same in every list.
"""

import random
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from rejoinder.evaluation.score_cache import CachedScorer
from rejoinder.models.scorer import Scorer
from rejoinder.types import Candidate, Example

TEACHER_SHARE = 0.7
JOINED_SHARE = 0.5


def join_lists(
    examples: Sequence[Example], *, share: float = JOINED_SHARE, seed: int = 0
) -> list[Example]:
    """Return the examples, a share of them with the candidates of another one behind theirs.

    What a search finds stands in several documents; a model that only ever saw one document
    at a time has no reason to score them alike.
    """
    rng = random.Random(seed)
    return [
        _join(example, examples[rng.randrange(len(examples))]) if rng.random() < share else example
        for example in examples
    ]


def _join(example: Example, other: Example) -> Example:
    own = {candidate.text for candidate in example.candidates}
    added = [_mark(candidate, other) for candidate in other.candidates if candidate.text not in own]
    return Example(
        example.id,
        example.question,
        (*example.candidates, *added),
        (*example.labels, *(False for _ in added)),
    )


def _mark(candidate: Candidate, other: Example) -> Candidate:
    """Return the candidate with an id that no candidate of the other list has."""
    return Candidate(
        f"{other.id}/{candidate.id}", candidate.text, candidate.document, candidate.position
    )


def soften(
    labels: Sequence[bool], scores: Sequence[float], *, share: float = TEACHER_SHARE
) -> list[float]:
    """Return the targets of one list.

    >>> soften([True, False], [0.0, 0.0])
    [0.65, 0.35]
    """
    believed = 1 / (1 + np.exp(-np.asarray(scores, dtype=np.float64)))
    mixed = share * believed + (1 - share) * np.asarray(labels, dtype=np.float64)
    return [round(float(target), 6) for target in mixed]


def ask_teacher(
    teacher: Scorer,
    examples: Sequence[Example],
    *,
    kept: Path,
    on_done: Callable[[int, int], None] = lambda _, __: None,
) -> list[list[float]]:
    """Return the teacher's scores of each list.

    They are kept in a file as they come, and read from it where a list was scored before: the
    teacher is slow, and a kill must not cost its work.

    Raises:
        InputError: the file cannot be written, or holds what another teacher said.
    """
    asked = CachedScorer(teacher, path=kept)
    scores = []
    for example in examples:
        scores.append(asked.score(example.question, example.candidates).tolist())
        on_done(len(scores), len(examples))
    return scores
