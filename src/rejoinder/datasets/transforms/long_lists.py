"""Extends lists of candidates: the whole document first, then candidates of other questions.

Matsubara et al. 2020, "Reranking for Efficient Transformer-based Answer Selection",
measure rankers on lists that are longer than one page (ASNQ++).
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from zlib import crc32

from rejoinder.types import Candidate, Example


def extend_lists(examples: Sequence[Example], *, size: int, seed: int = 0) -> Iterator[Example]:
    """Yield each example with all sentences of its documents, filled up to about `size`.

    Documents are never truncated to `size`.  Sentences without a judgement count as wrong, as
    in ASNQ.
    """
    return add_negatives([_add_documents(item) for item in examples], size=size, seed=seed)


def extend_every_second(examples: Sequence[Example], *, size: int) -> Iterator[Example]:
    """Yield the examples, every second one with its list extended to about `size`."""
    extended = extend_lists(examples, size=size)
    for place, (short, long) in enumerate(zip(examples, extended, strict=True)):
        yield long if place % 2 else short


def add_negatives(
    examples: Sequence[Example], *, size: int = 1300, seed: int = 0
) -> Iterator[Example]:
    """Yield each example with negatives drawn from the others, up to `size` candidates.

    The candidates of a question stay first and unchanged.  A text is added at most once, and
    never if the question has it already; lists stay shorter if nothing is left.  The draw
    depends on the seed, the id of the question and the set of all candidates, never on the
    order of the questions.
    """
    pool = _build_pool(examples)
    places = {candidate.text: place for place, candidate in enumerate(pool)}
    for example in examples:
        missing = size - len(example.candidates)
        own = {places[candidate.text] for candidate in example.candidates}
        number = crc32(example.id.encode("utf-8", "surrogatepass"))
        drawn = _draw(len(pool), missing, own, seed=[seed, number])
        yield _append(example, [pool[place] for place in drawn])


def _add_documents(example: Example) -> Example:
    documents = {item.document.id: item.document for item in example.candidates if item.document}
    judged = {(item.document.id, item.position) for item in example.candidates if item.document}
    known = {item.text for item in example.candidates}
    return _append(
        example,
        [
            Candidate(f"{document.id}:{position}", text, document, position)
            for document in documents.values()
            for position, text in enumerate(document.sentences)
            if (document.id, position) not in judged and text not in known
        ],
    )


def _build_pool(examples: Sequence[Example]) -> list[Candidate]:
    """Return one candidate for each distinct text, in a deterministic order."""
    candidates = [candidate for example in examples for candidate in example.candidates]
    texts = {(candidate.id, candidate.text) for candidate in candidates}
    if len(texts) > len({id for id, _ in texts}):  # an id has two texts
        candidates = [
            replace(candidate, id=f"{example.id}/{candidate.id}")
            for example in examples
            for candidate in example.candidates
        ]
    pool: dict[str, Candidate] = {}
    for candidate in candidates:
        known = pool.setdefault(candidate.text, candidate)
        if candidate.id < known.id:
            pool[candidate.text] = candidate
    return [pool[text] for text in sorted(pool)]


def _draw(total: int, count: int, own: set[int], *, seed: list[int]) -> list[int]:
    """Return up to `count` different numbers below `total`, none of them in `own`."""
    # Imported here because listing the data sets must not load numpy.
    import numpy as np

    if count <= 0:
        return []
    # Enough even if every number of `own` is drawn.
    size = min(total, count + len(own))
    drawn = np.random.default_rng(seed).choice(total, size=size, replace=False)
    return [place for place in drawn.tolist() if place not in own][:count]


def _append(example: Example, added: list[Candidate]) -> Example:
    labels = (*example.labels, *(False for _ in added))
    return replace(example, candidates=(*example.candidates, *added), labels=labels)
