"""Sentences that may answer, each with the sentences around it in its section.

A sentence often leaves out its topic, which the sentences before it or the headings above name.
What is indexed and embedded of a sentence are the nearest sentences on both sides.  Cross-encoders
read equal parts of a section instead, so that the sentences of one part are read once.
"""

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from rejoinder.documents.parsed import Sentence

NEIGHBOURS = 4
"""Sentences before and after that belong to a sentence's passage."""

PART_LENGTH = 700
"""Characters of a part of a section, about; a paragraph of 170 tokens."""

Section = tuple[tuple[str, ...], Sequence[Sentence]]
"""A heading path, and the sentences of one block below it."""


class Passage(NamedTuple):
    """A sentence that may answer, and its passage."""

    sentence: Sentence
    headings: tuple[str, ...]
    """The heading path, outermost first."""
    before: tuple[Sentence, ...]
    after: tuple[Sentence, ...]
    """Up to `NEIGHBOURS` sentences below the same heading, in the order of the document."""


def iterate_passages(blocks: Iterable[Section]) -> Iterator[Passage]:
    """Yield the passage of each sentence that may answer; a document is read as a stream.

    >>> one, two = Sentence(0, "It rained.", 0, 10), Sentence(1, "It stopped.", 11, 22)
    >>> [len(passage.before) for passage in iterate_passages([((), [one, two])])]
    [0, 1]
    """
    path: tuple[str, ...] = ()
    window: deque[Sentence] = deque(maxlen=2 * NEIGHBOURS + 1)
    waiting = 0
    """How many sentences at the end of the window have not been yielded."""
    for own, sentences in blocks:
        if own != path:
            yield from _finish(window, waiting, path)
            path, waiting = own, 0
            window.clear()
        for sentence in sentences:
            window.append(sentence)
            waiting += 1
            if waiting > NEIGHBOURS:
                yield from _make(window, len(window) - waiting, path)
                waiting -= 1
    yield from _finish(window, waiting, path)


def _finish(window: Sequence[Sentence], waiting: int, path: tuple[str, ...]) -> Iterator[Passage]:
    for place in range(len(window) - waiting, len(window)):
        yield from _make(window, place, path)


def _make(window: Sequence[Sentence], place: int, path: tuple[str, ...]) -> Iterator[Passage]:
    sentences = tuple(window)
    if sentences[place].may_answer:
        yield Passage(
            sentences[place],
            path,
            sentences[max(0, place - NEIGHBOURS) : place],
            sentences[place + 1 : place + 1 + NEIGHBOURS],
        )


def find_part(start: int, section: tuple[int, int]) -> tuple[int, int]:
    """Return the offsets of the part of a section in which a sentence starts.

    All parts of a section have the same length, so none is a remainder of few words.

    >>> find_part(900, (0, 2000)), find_part(40, (0, 50))
    ((667, 1334), (0, 50))
    """
    first, last = section
    length = max(1, last - first)
    parts = max(1, round(length / PART_LENGTH))
    number = min(max(0, start - first) * parts // length, parts - 1)
    return first + -(-number * length // parts), first + -(-(number + 1) * length // parts)
