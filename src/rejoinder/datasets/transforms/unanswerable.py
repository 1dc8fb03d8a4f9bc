"""Makes unanswerable questions from answerable ones."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from hashlib import sha256

from rejoinder.types import Candidate, Document, Example


def remove_answers(
    examples: Iterable[Example], *, share: float = 0.5, seed: int = 0
) -> Iterator[Example]:
    """Yield the examples, a share of them without their correct candidates.

    The other examples lose as many wrong candidates, so that the length of a list gives
    nothing away.  Sentences are removed from their documents too, so that no context reveals
    them.  The draw depends only on the seed and on the ids.
    """
    for example in examples:
        answers = [place for place, label in enumerate(example.labels) if label]
        if not share or not answers:
            yield example
        elif _draw(seed, example.id) < share:
            yield _remove(example, answers)
        else:
            yield _remove(example, _draw_wrong(example, len(answers), seed))


def _draw(*names: object) -> float:
    """Return a number from 0 to 1 that depends on the names only."""
    text = "\0".join(map(str, names)).encode("utf-8", "surrogatepass")
    return int.from_bytes(sha256(text).digest()[:8]) / 2**64


def _draw_wrong(example: Example, count: int, seed: int) -> list[int]:
    wrong = [place for place, label in enumerate(example.labels) if not label]
    return sorted(wrong, key=lambda place: _draw(seed, example.id, place))[:count]


def _remove(example: Example, places: Sequence[int]) -> Example:
    removed = [example.candidates[place] for place in places]
    remaining = [place for place in range(len(example.candidates)) if place not in places]
    documents = {item.document.id: item.document for item in removed if item.document}
    positions: dict[str, set[int | None]] = {id: set() for id in documents}
    for item in removed:
        if item.document:
            positions[item.document.id].add(item.position)
    shortened = {
        id: replace(document, sentences=_drop(document.sentences, positions[id]))
        for id, document in documents.items()
    }
    candidates = (_move(example.candidates[place], shortened, positions) for place in remaining)
    labels = tuple(example.labels[place] for place in remaining)
    return replace(example, candidates=tuple(candidates), labels=labels)


def _drop(sentences: Sequence[str], positions: set[int | None]) -> tuple[str, ...]:
    return tuple(text for place, text in enumerate(sentences) if place not in positions)


def _move(
    candidate: Candidate, shortened: dict[str, Document], positions: dict[str, set[int | None]]
) -> Candidate:
    """Return a candidate in its shortened document, at its new position."""
    document, position = candidate.document, candidate.position
    if document is None or document.id not in shortened:
        return candidate
    if position is not None:
        position -= sum(place < position for place in positions[document.id] if place is not None)
    return replace(candidate, document=shortened[document.id], position=position)
