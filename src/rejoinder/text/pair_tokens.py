"""A question and a candidate as one input of a BERT-like encoder.

[CLS] question [SEP] candidate [SEP], the question's part of kind 0, the candidate's of kind 1.
What is too long is cut at the candidate's end; the question keeps at most half of the room.
"""

from collections.abc import Iterable, Sequence
from itertools import chain

from rejoinder.text.pieces import Pieces

FIRST, BETWEEN = "[CLS]", "[SEP]"


class PairTokens:
    """Joins the word pieces of a question with those of its candidates."""

    def __init__(self, pieces: Pieces, *, max_tokens: int) -> None:
        self._pieces = pieces
        self._first = pieces.vocabulary.index(FIRST)
        self._between = pieces.vocabulary.index(BETWEEN)
        self._max_tokens = max_tokens

    def cut(self, text: str) -> list[int]:
        """Return the word pieces of a text."""
        return list(chain.from_iterable(self._pieces.cut_text(text)))

    def join(
        self, question: Sequence[int], candidate: Sequence[int]
    ) -> tuple[list[int], list[int]]:
        """Return ids and kinds of a pair."""
        asked = [self._first, *question[: self._max_tokens // 2 - 2], self._between]
        given = [*candidate[: self._max_tokens - len(asked) - 1], self._between]
        return [*asked, *given], [0] * len(asked) + [1] * len(given)

    def is_too_long(self, question: Sequence[int], candidates: Iterable[Sequence[int]]) -> bool:
        """Return whether `join` would cut something off."""
        room = self._max_tokens - 3
        return len(question) > self._max_tokens // 2 - 2 or any(
            len(question) + len(candidate) > room for candidate in candidates
        )
