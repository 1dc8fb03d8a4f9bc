"""Long lists of candidates: the whole document first, then sentences of other questions."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from rejoinder.datasets.transforms.negatives import add_negatives
from rejoinder.types import Candidate, Example


def lengthen(examples: Sequence[Example], *, size: int, seed: int = 0) -> Iterator[Example]:
    """Yield each example with all sentences of its documents, filled up to about `size`.

    A document is taken whole even where it is longer.  Sentences that nobody judged count
    as wrong, as in ASNQ.
    """
    return add_negatives([_take_documents(item) for item in examples], size=size, seed=seed)


def lengthen_some(examples: Sequence[Example], *, size: int) -> Iterator[Example]:
    """Yield every second example as it is, and the others lengthened to about `size`."""
    for place, (short, long) in enumerate(
        zip(examples, lengthen(examples, size=size), strict=True)
    ):
        yield long if place % 2 else short


def _take_documents(example: Example) -> Example:
    documents = {item.document.id: item.document for item in example.candidates if item.document}
    judged = {(item.document.id, item.position) for item in example.candidates if item.document}
    more = [
        Candidate(f"{document.id}:{position}", text, document, position)
        for document in documents.values()
        for position, text in enumerate(document.sentences)
        if (document.id, position) not in judged
    ]
    known = {item.text for item in example.candidates}
    added = [item for item in more if item.text not in known]
    return replace(
        example,
        candidates=(*example.candidates, *added),
        labels=(*example.labels, *(False for _ in added)),
    )
