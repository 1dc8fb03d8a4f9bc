"""Says which candidates stand in one order: what an order-reading scorer may read.

A segment holds the candidates of one document, in document order.  Candidates with a
position but no document are in the order of the list they came in, and make one segment.
A candidate without a position is a segment of its own.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from rejoinder.types import Candidate


def find_segments(candidates: Sequence[Candidate]) -> list[list[int]]:
    """Return the segments as lists of places in `candidates`.

    Inside a segment candidates stand by position; equal positions keep their list order.
    """
    segments: dict[object, list[int]] = {}
    for place, candidate in enumerate(candidates):
        key: object = place
        if candidate.position is not None:
            key = ("document", candidate.document.id) if candidate.document else "list"
        segments.setdefault(key, []).append(place)
    positions = [candidate.position or 0 for candidate in candidates]
    for places in segments.values():
        places.sort(key=positions.__getitem__)
    return list(segments.values())


def find_orders(candidates: Sequence[Candidate]) -> NDArray[np.int64]:
    """Return how many candidates of its segment stand before each candidate."""
    orders = np.zeros(len(candidates), dtype=np.int64)
    for places in find_segments(candidates):
        orders[places] = np.arange(len(places))
    return orders
