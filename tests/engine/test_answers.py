"""Which answers have their context read together."""

from collections.abc import Iterator

import pytest

from rejoinder.engine.answers import BESIDE, MAX_BESIDE, FoundAnswer, take_group
from rejoinder.types import Candidate, Document, ScoredCandidate


def take(places: list[tuple[str, int]], top: int, form: str) -> list[int]:
    """Return the sizes of the groups."""
    documents = {name: Document(name) for name, _ in places}
    found: Iterator[FoundAnswer] = iter(
        [
            (ScoredCandidate(Candidate(str(at), "a", documents[name], position), 1.0, at), [])
            for at, (name, position) in enumerate(places, start=1)
        ]
    )
    sizes = []
    while group := take_group(found, top, form):
        sizes.append(len(group))
    return sizes


@pytest.mark.parametrize(
    ("places", "sizes"),
    [
        ([("a", 0), ("b", 0), ("c", 0), ("d", 0)], [2, 2]),
        ([("a", 0), ("a", 1), ("a", 2), ("b", 0), ("c", 0)], [4, 1]),
        ([("a", 0), ("a", BESIDE["paragraph"] + 1), ("b", 0)], [2, 1]),
        ([("a", 50), ("a", 40), ("b", 40), ("b", 41)], [3, 1]),
        ([("a", 0)] * 20, [2 * MAX_BESIDE, 2 * MAX_BESIDE, 20 - 4 * MAX_BESIDE]),
        ([], []),
    ],
)
def test_a_group_has_those_beside_the_ones_that_are_wanted(
    places: list[tuple[str, int]], sizes: list[int]
) -> None:
    assert take(places, 2, "paragraph") == sizes


def test_candidates_without_a_document_stand_alone() -> None:
    found: list[FoundAnswer] = [
        (ScoredCandidate(Candidate(str(at), "a"), 1.0, at), []) for at in range(1, 4)
    ]
    assert len(take_group(iter(found), 2, "section")) == 2
