"""Makes questions without an answer out of questions with one."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from hashlib import sha256

from rejoinder.types import Candidate, Document, Example


def take_answers_out(
    examples: Iterable[Example], *, share: float = 0.5, seed: int = 0
) -> Iterator[Example]:
    """Yield the examples, of a share of them without the candidates that answer.

    From the others as many wrong candidates are taken, so that the length of a list tells
    nothing.  Sentences leave their documents too, so that no context gives them away.
    What is taken depends on the seed and on the ids alone.
    """
    for example in examples:
        answers = [place for place, label in enumerate(example.labels) if label]
        if not share or not answers:
            yield example
        elif _draw(seed, example.id) < share:
            yield _without(example, answers)
        else:
            yield _without(example, _draw_wrong(example, len(answers), seed))


def _draw(*names: object) -> float:
    """Return a number from 0 to 1 that these names always give."""
    text = "\0".join(map(str, names)).encode("utf-8", "surrogatepass")
    return int.from_bytes(sha256(text).digest()[:8]) / 2**64


def _draw_wrong(example: Example, count: int, seed: int) -> list[int]:
    wrong = [place for place, label in enumerate(example.labels) if not label]
    return sorted(wrong, key=lambda place: _draw(seed, example.id, place))[:count]


def _without(example: Example, places: Sequence[int]) -> Example:
    taken = [example.candidates[place] for place in places]
    kept = [place for place in range(len(example.candidates)) if place not in places]
    documents = {item.document.id: item.document for item in taken if item.document}
    gone = {
        name: {item.position for item in taken if item.document and item.document.id == name}
        for name in documents
    }
    rest = {name: _cut(document, gone[name]) for name, document in documents.items()}
    return replace(
        example,
        candidates=tuple(_move(example.candidates[place], rest, gone) for place in kept),
        labels=tuple(example.labels[place] for place in kept),
    )


def _cut(document: Document, gone: set[int | None]) -> Document:
    kept = (text for place, text in enumerate(document.sentences) if place not in gone)
    return replace(document, sentences=tuple(kept))


def _move(
    candidate: Candidate, rest: dict[str, Document], gone: dict[str, set[int | None]]
) -> Candidate:
    """Return a candidate as it stands in what is left of its document."""
    document, position = candidate.document, candidate.position
    if document is None or document.id not in rest:
        return candidate
    if position is not None:
        position -= sum(place < position for place in gone[document.id] if place is not None)
    return replace(candidate, document=rest[document.id], position=position)
