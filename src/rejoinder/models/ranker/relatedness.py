"""How close each word of a text is to the closest word of another text.

Bonadiman & Moschitti 2020, section 3.1.1: of all cosines between the words of the question
and of the candidate, each word keeps its largest.  Candidates of one question share
words, so each distinct word meets the question once.

Axes: Q words of the question, W distinct words of all candidates, N words of all candidates
one after another, C candidates.
"""

import numpy as np
from numpy.typing import NDArray

MAX_CELLS = 4_000_000
"""How many similarities are spread over the candidates' words at a time (16 MB)."""


def take_closest(
    similarities: NDArray[np.float32], words: NDArray[np.int64], lengths: NDArray[np.int64]
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Return the largest similarity of each word to the other side.

    Args:
        similarities: of question words to distinct words, shape (Q, W).
        words: the distinct word at each place of the candidates, shape (N,).
        lengths: how many words each candidate has, at least 1, shape (C,).

    Returns:
        For the candidates' words, shape (N,); for the question's words, once per
        candidate, shape (C, Q).
    """
    of_candidates = similarities.max(axis=0)[words]
    of_question = np.empty((len(lengths), len(similarities)), dtype=np.float32)
    ends = np.cumsum(lengths)
    starts = ends - lengths
    step = max(1, MAX_CELLS // max(1, len(similarities)) // max(1, int(lengths.max(initial=1))))
    for first in range(0, len(lengths), step):
        last = min(first + step, len(lengths))
        spread = similarities[:, words[starts[first] : ends[last - 1]]]
        bounds = starts[first:last] - starts[first]
        of_question[first:last] = np.maximum.reduceat(spread, bounds, axis=1).T
    return of_candidates, of_question
