"""The text around an answer: its paragraph, list or table, or its whole section.

    sentence    nothing
    paragraph   the block of the sentence; of a list or a table, the items or rows around it and
                the line that introduces them
    section     everything below the same heading

A context has a maximum length, so that an answer stays small in any document.
"""

import re
from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeVar

from rejoinder.documents.blocks import Kind
from rejoinder.errors import UnknownNameError
from rejoinder.index.candidates import get_number
from rejoinder.index.sqlite.documents import DocumentStore, StoredBlock
from rejoinder.types import Candidate, ContextBlock, Source

FORMS = ("sentence", "paragraph", "section")
RUNS: tuple[Kind, ...] = ("item", "definition", "row")
"""Blocks that are shown with their neighbours of the same kind."""
LEADS: tuple[Kind, ...] = ("heading", "paragraph", "caption")
"""Blocks that may introduce what follows; a paragraph does so by its last words."""
MARGIN = 1_000
"""Characters that are shown before and after the sentence, of a block that is too long."""


Block = TypeVar("Block", StoredBlock, "ReadBlock")


class Limit(NamedTuple):
    """How much context there may be."""

    blocks: int
    """Before the sentence, and after it."""
    characters: int


LIMITS = {"paragraph": Limit(30, 2_000), "section": Limit(300, 10_000)}


class ReadBlock(NamedTuple):
    """A block of a document with its text."""

    kind: Kind
    path: tuple[str, ...]
    start: int
    end: int
    text: str


class Surroundings(NamedTuple):
    """A sentence's source, the blocks around it, and other places that say the same."""

    source: Source | None
    context: tuple[ContextBlock, ...] = ()
    copies: tuple[Source, ...] = ()


def check_form(form: str) -> None:
    """Raise UnknownNameError if there is no such form of context."""
    if form not in FORMS:
        raise UnknownNameError("context", form, FORMS)


def read_context(
    store: DocumentStore, candidate: Candidate, source: Source, form: str
) -> tuple[ContextBlock, ...]:
    """Return the blocks around a candidate, in the order of its document.

    Empty if the form is `sentence`, or if the store does not have the candidate.

    Args:
        source: where the candidate is.
    """
    number, position = get_number(candidate.document), candidate.position
    if form == "sentence" or number < 0 or position is None:
        return ()
    near = store.get_blocks_near(number, position, LIMITS[form].blocks)
    if not near:
        return ()
    own = next(at for at, block in enumerate(near) if block.end > source.start)
    chosen = choose_blocks(near, own, form)
    first = chosen[0].start
    text = store.get_text(number, first, chosen[-1].end)
    read = [ReadBlock(*block, text[block.start - first : block.end - first]) for block in chosen]
    return _to_context(read, source, form)


def choose_context(
    blocks: Sequence[ReadBlock], source: Source, form: str
) -> tuple[ContextBlock, ...]:
    """Return the blocks that are shown together with the sentence at a source."""
    own = next(at for at, block in enumerate(blocks) if block.end > source.start)
    return _to_context(choose_blocks(blocks, own, form), source, form)


def _to_context(chosen: Sequence[ReadBlock], source: Source, form: str) -> tuple[ContextBlock, ...]:
    """Return chosen blocks, without a paragraph before a list or a table that is not about it."""
    first, *rest = chosen
    if form == "paragraph" and rest and first.kind == "paragraph" and not introduces(first.text):
        chosen = rest
    return tuple(
        cut_block(block.kind, block.text, block.start, source.start, source.end) for block in chosen
    )


def introduces(text: str) -> bool:
    r"""Return whether a paragraph ends by announcing what comes below it.

    >>> introduces("You need:"), introduces("Tea is old."), introduces("The table below has more.")
    (True, False, True)

    One with code announces its code:

    >>> introduces("Type this:\n\nif hot:")
    False
    """
    if _EMPTY_LINE.search(text):
        return False
    return text.rstrip().endswith((":", "\uff1a")) or bool(_ANNOUNCES.search(text))


_EMPTY_LINE = re.compile(r"\n\s*\n")
_ANNOUNCES = re.compile(r"\b(?:following|follows|below)\b[^.!?]*[.!?]?\s*$", re.IGNORECASE)


def choose_blocks(blocks: Sequence[Block], own: int, form: str) -> Sequence[Block]:
    """Return the blocks that are shown together with one of them.

    Args:
        blocks: of one document, one after the other.
        own: the place of the block that holds the sentence.
    """
    kind, path = blocks[own].kind, blocks[own].path
    leads: tuple[Kind, ...]
    room = LIMITS[form].characters
    if form == "section":
        first, last = _extend(blocks, own, room, lambda block: block.path == path)
        leads, above = ("heading",), path[:-1]  # the heading of a section is not below itself
    elif kind in RUNS:
        run = (kind, path)
        first, last = _extend(blocks, own, room, lambda block: (block.kind, block.path) == run)
        leads, above = LEADS, path
    else:
        return [blocks[own]]
    if first and blocks[first - 1].kind in leads and blocks[first - 1].path == above:
        first -= 1
    return blocks[first : last + 1]


def _extend(
    blocks: Sequence[Block], own: int, room: int, belongs: Callable[[Block], bool]
) -> tuple[int, int]:
    """Return the places of the first and the last block around `own` that belong to it.

    Blocks are added in turn after it and before it, while they fit into `room` characters.
    """
    places = [own, own]
    room -= blocks[own].end - blocks[own].start
    steps = {1: 1, 0: -1}  # the last place, then the first
    while steps:
        for side, step in list(steps.items()):
            at = places[side] + step
            block = blocks[at] if 0 <= at < len(blocks) else None
            if block is None or not belongs(block) or block.end - block.start > room:
                del steps[side]
            else:
                places[side] = at
                room -= block.end - block.start
    return places[0], places[1]


def cut_block(kind: str, text: str, start: int, first: int, last: int) -> ContextBlock:
    """Return a block; of a very long one, only the text around the sentence.

    Args:
        start: the offset of the text in its document.
        first: the offset of the sentence in the same document, `last` its end.
    """
    if len(text) <= 2 * MARGIN + last - first:
        return ContextBlock(kind, text, start, start + len(text))
    begin = max(0, min(first - start, len(text)) - MARGIN)
    end = min(len(text), max(last - start, 0) + MARGIN)
    return ContextBlock(kind, text[begin:end], start + begin, start + end)
