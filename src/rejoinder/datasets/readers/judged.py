"""Turns judged sentences into an example: one page in its order, or a list without one."""

from collections.abc import Sequence
from typing import NamedTuple, TypeVar

from rejoinder.types import Candidate, Document, Example

T = TypeVar("T")


class Judged(NamedTuple):
    """A sentence and whether it answers the question."""

    text: str
    is_answer: bool


def to_ordered_example(
    id: str, question: str, judged: Sequence[Judged], *, title: str = ""
) -> Example:
    """Return an example whose sentences are one document in its order."""
    document = Document(id, title, tuple(item.text for item in judged))
    return Example(
        id=id,
        question=question,
        candidates=tuple(
            Candidate(f"{id}-{place}", item.text, document, place)
            for place, item in enumerate(judged)
        ),
        labels=tuple(item.is_answer for item in judged),
    )


def to_unordered_example(id: str, question: str, judged: Sequence[Judged]) -> Example:
    """Return an example whose sentences share no document, and whose order means nothing."""
    return Example(
        id=id,
        question=question,
        candidates=tuple(
            Candidate(f"{id}-{place}", item.text) for place, item in enumerate(judged)
        ),
        labels=tuple(item.is_answer for item in judged),
    )


def shuffle(items: Sequence[T], *, seed: int, index: int) -> list[T]:
    """Return the items of the question at this index in an order that is always the same.

    For files that put the correct candidates first: their order gives the labels away, to
    a scorer that reads order and to every tie.  Number candidates after shuffling, so
    that their ids tell nothing either.
    """
    # Imported here: listing the data sets must not wait for numpy.
    import numpy as np

    order = np.random.default_rng([seed, index]).permutation(len(items))
    return [items[place] for place in order.tolist()]
