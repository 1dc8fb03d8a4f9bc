"""Which word pieces of an encoder a bundle keeps, in which order."""

from collections.abc import Sequence

from rejoinder.text.wordpiece import CLS, SEP


def order_pieces(vocabulary: Sequence[str]) -> list[int]:
    """Return the rows that a bundle keeps, in its order.

    First come all pieces of words as they are, so that pieces stored for the shipped
    vectors, which leave out the same ones, are read as they are; then the two marks.
    Other pieces in brackets stand for nothing in a text.
    """
    marks = [vocabulary.index(mark) for mark in (CLS, SEP)]
    return [row for row, piece in enumerate(vocabulary) if not _is_special(piece)] + marks


def _is_special(piece: str) -> bool:
    is_bracketed = len(piece) > 2 and piece[0] == "[" and piece[-1] == "]"
    return is_bracketed and piece not in ("[PAD]", "[UNK]")
