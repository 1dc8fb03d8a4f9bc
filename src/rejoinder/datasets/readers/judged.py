"""Turns judged sentences into an example: one ordered document, or an unordered list."""

from collections.abc import Sequence
from typing import NamedTuple, TypeVar

from rejoinder.types import Candidate, Document, Example

T = TypeVar("T")


class Judged(NamedTuple):
    """A sentence and whether it answers the question."""

    text: str
    is_answer: bool


def to_ordered_example(
    id: str,
    question: str,
    judged: Sequence[Judged],
    *,
    title: str = "",
    answer_strings: Sequence[str] = (),
) -> Example:
    """Return an example whose sentences are one document in its order."""
    document = Document(id, title, tuple(item.text for item in judged))
    candidates = tuple(
        Candidate(f"{id}-{place}", text, document, place) for place, (text, _) in enumerate(judged)
    )
    labels = tuple(item.is_answer for item in judged)
    return Example(id, question, candidates, labels, tuple(answer_strings))


def to_unordered_example(id: str, question: str, judged: Sequence[Judged]) -> Example:
    """Return an example whose sentences have no document, and whose order means nothing."""
    candidates = tuple(Candidate(f"{id}-{place}", text) for place, (text, _) in enumerate(judged))
    return Example(id, question, candidates, tuple(item.is_answer for item in judged))


def shuffle(items: Sequence[T], *, seed: int, index: int) -> list[T]:
    """Return the items of the question at this index in a deterministic random order.

    For files that list the correct candidates first: their order leaks the labels, to scorers
    that read order and to every tie.  Number candidates after shuffling, so that their ids
    leak nothing either.
    """
    # Imported here because listing the data sets must not load numpy.
    import numpy as np

    order = np.random.default_rng([seed, index]).permutation(len(items))
    return [items[place] for place in order.tolist()]
