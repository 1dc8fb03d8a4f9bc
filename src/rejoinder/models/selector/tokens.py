"""A question and a candidate as one input of a BERT-like encoder, and what stands around them.

[CLS] question [SEP] candidate [SEP], then each sentence around with a [SEP] of its own; each
token has the kind of its part.  Without anything around it is the plain pair.  What is too long
is cut at the candidate's end; the question keeps at most half of the room.
"""

from collections.abc import Iterable, Sequence
from itertools import chain

from rejoinder.text.wordpiece import CLS, SEP, WordPiece

QUESTION, CANDIDATE, LOCAL, PAGE = range(4)
"""The kinds of tokens."""
KINDS = 4
MAX_NEIGHBOUR = 48
"""Tokens of a neighbour: two of them leave room for the page."""
MAX_TITLE = 16


class PairTokens:
    """Joins the word pieces of a question with those of its candidates."""

    def __init__(self, pieces: WordPiece, *, max_tokens: int) -> None:
        self._pieces = pieces
        self._first = pieces.vocabulary.index(CLS)
        self._between = pieces.vocabulary.index(SEP)
        self._max_tokens = max_tokens

    def cut(self, text: str) -> list[int]:
        """Return the word pieces of a text."""
        return list(chain.from_iterable(self._pieces.tokenize(text)))

    def join(
        self,
        question: Sequence[int],
        candidate: Sequence[int],
        around: Sequence[tuple[int, Sequence[int]]] = (),
        *,
        max_around: int = 0,
    ) -> tuple[list[int], list[int]]:
        """Return ids and kinds of a pair.

        Args:
            around: kind and pieces of sentences, the most important first.  A neighbour is cut
                where it is too long, a sentence of the page is left out.
            max_around: how many tokens those may have together.
        """
        asked = [self._first, *question[: self._max_tokens // 2 - 2], self._between]
        given = [*candidate[: self._max_tokens - len(asked) - 1], self._between]
        ids, kinds = [*asked, *given], [QUESTION] * len(asked) + [CANDIDATE] * len(given)
        room = min(max_around, self._max_tokens - len(ids))
        for kind, pieces in around:
            kept = pieces[: min(MAX_NEIGHBOUR, room - 1)] if kind == LOCAL else pieces
            if kept and len(kept) < room:
                ids += [*kept, self._between]
                kinds += [kind] * (len(kept) + 1)
                room -= len(kept) + 1
        return ids, kinds

    def is_too_long(self, question: Sequence[int], candidates: Iterable[Sequence[int]]) -> bool:
        """Return whether `join` would cut something off the pair itself."""
        room = self._max_tokens - 3
        return len(question) > self._max_tokens // 2 - 2 or any(
            len(question) + len(candidate) > room for candidate in candidates
        )
