"""Fills lists of candidates with candidates of other questions, as ASNQ++ does.

Matsubara et al. 2020, "Reranking for Efficient Transformer-based Answer Selection",
measure rankers on lists that are longer than one page.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from zlib import crc32

from rejoinder.types import Candidate, Example


def add_negatives(
    examples: Sequence[Example], *, size: int = 1300, seed: int = 0
) -> Iterator[Example]:
    """Yield each example with negatives drawn from the others, up to `size` candidates.

    A question's own candidates stay first and as they are.  A text is added at most once,
    and never where the question has it already; lists stay shorter where nothing is left.
    What is added depends on the seed, the question's id and the set of candidates, never
    on the place of the question among the others.
    """
    pool = _build_pool(examples)
    places = {candidate.text: place for place, candidate in enumerate(pool)}
    for example in examples:
        missing = size - len(example.candidates)
        own = {places[candidate.text] for candidate in example.candidates}
        drawn = _draw(len(pool), missing, own, seed=[seed, _to_number(example.id)])
        yield _append(example, [pool[place] for place in drawn])


def _build_pool(examples: Sequence[Example]) -> list[Candidate]:
    """Return one candidate for each distinct text, in an order that is always the same."""
    candidates = [candidate for example in examples for candidate in example.candidates]
    if not _ids_name_texts(candidates):
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


def _ids_name_texts(candidates: list[Candidate]) -> bool:
    """Return whether no id stands for two texts, so that lists can be mixed as they are."""
    texts: dict[str, str] = {}
    return all(
        texts.setdefault(candidate.id, candidate.text) == candidate.text for candidate in candidates
    )


def _draw(total: int, count: int, own: set[int], *, seed: list[int]) -> list[int]:
    """Return up to `count` different numbers below `total`, none of them in `own`."""
    # Imported here: listing the data sets must not wait for numpy.
    import numpy as np

    if count <= 0:
        return []
    # Even if every number of `own` is drawn, this many leave enough of the others.
    size = min(total, count + len(own))
    drawn = np.random.default_rng(seed).choice(total, size=size, replace=False)
    return [place for place in drawn.tolist() if place not in own][:count]


def _to_number(text: str) -> int:
    return crc32(text.encode("utf-8", "surrogatepass"))


def _append(example: Example, added: list[Candidate]) -> Example:
    return replace(
        example,
        candidates=(*example.candidates, *added),
        labels=(*example.labels, *(False for _ in added)),
    )
