"""Decides whether a sentence may be given as an answer."""

from rejoinder.documents.blocks import Kind


def may_answer(kind: Kind, sentence: str) -> bool:
    """Return whether a sentence of a block of this kind may answer."""
    is_answerable = kind not in ("heading", "code") and len(sentence.split()) > 2
    return is_answerable and not sentence.endswith(("?", ":"))
