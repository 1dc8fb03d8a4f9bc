"""Drafts: blocks before it is decided which of them are content, and below which headings."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal, cast

from rejoinder.documents.blocks import Block, Kind, fold
from rejoinder.documents.notation import join_term

Mark = Literal["open", "close", "end", "dropped"]
MAX_DEPTH = 12
"""Terms in a heading path; more only occur in hostile pages."""
MAX_DEFINITION = 300
"""Characters up to which the paragraphs of a definition are one block."""


@dataclass(slots=True)
class Draft:
    """A block, or a mark between blocks.

    `open` and `close` enclose the body of a term, `end` ends the section of a heading,
    and `dropped` stands where navigation was.
    """

    kind: Kind | Mark
    text: str = ""
    line: int | None = None
    anchor: str = ""
    level: int = 0
    """Of a heading or an `end`; 0 is the title of the page."""
    size: int = 0
    """Characters of words."""
    linked: int = 0
    """Characters of words that are links."""
    links: int = 0
    steps: int = 0
    """Links to the previous, next or parent page."""
    emphatic: bool = False
    """All of it is bold or code, so that it may head a table row."""
    bare: bool = False
    """A term without a definition."""


def define(term: Draft, body: list[Draft]) -> Iterator[Draft]:
    """Yield a term with the first paragraphs of its body, then the rest of the body below it."""
    count = size = 0
    for draft in body:
        size += len(draft.text)
        if draft.kind != "paragraph" or (count and size > MAX_DEFINITION):
            break
        count += 1
    if count:
        definition = join("definition", [term, *body[:count]])
        definition.text = join_term(term.text, " ".join(draft.text for draft in body[:count]))
        yield definition
    else:
        term.kind, term.bare = "definition", not (body and body[0].kind == "code")
        yield term
    if body[count:]:
        yield Draft("open", term.text)
        yield from body[count:]
        yield Draft("close")


def join(kind: Kind, drafts: list[Draft], separator: str = " ") -> Draft:
    """Make one block of several."""
    return Draft(
        kind,
        separator.join(fold(draft.text) for draft in drafts),
        drafts[0].line,
        drafts[0].anchor,
        size=sum(draft.size for draft in drafts),
        linked=sum(draft.linked for draft in drafts),
        links=sum(draft.links for draft in drafts),
        steps=sum(draft.steps for draft in drafts),
    )


def to_blocks(drafts: list[Draft]) -> Iterator[Block]:
    """Yield blocks with their heading paths."""
    headings: list[tuple[int, str]] = []  # level and text; never changed in place
    enclosing: list[tuple[int, list[tuple[int, str]]]] = []  # to return to at `close`
    floor = 0  # headings that the headings of a term's body cannot end
    path: tuple[str, ...] = ()
    for draft in _without_empty_sections(drafts):
        before = headings
        if draft.kind == "open":
            enclosing.append((floor, headings))
            headings = [*headings[:MAX_DEPTH], (0, draft.text)]
            floor = len(headings)
        elif draft.kind == "close":
            floor, headings = enclosing.pop()
        elif draft.kind in {"heading", "end"}:
            while len(headings) > floor and headings[-1][0] >= draft.level:
                headings = headings[:-1]
        if headings is not before:
            path = tuple(text for _, text in headings)
        if draft.kind in _MARKS:
            continue
        kind = cast("Kind", "heading" if draft.bare else draft.kind)
        yield Block(kind, draft.text, path, draft.line, anchor=draft.anchor)
        if draft.kind == "heading":
            headings = [*headings, (draft.level, draft.text)]
            path = (*path, draft.text)


_MARKS = frozenset({"open", "close", "end", "dropped"})


def _without_empty_sections(drafts: list[Draft]) -> Iterable[Draft]:
    """Leave out headings of sections that held nothing but navigation."""
    kept: list[Draft] = []
    dropped = False  # directly below
    level: int | None = 0  # of the heading that follows at once, or None where content follows
    for draft in reversed(drafts):
        if draft.kind == "dropped":
            dropped = level is not None
        elif draft.kind == "heading":
            if dropped and level is not None and draft.level >= level:
                continue
            dropped, level = False, draft.level
        elif draft.kind not in _MARKS:
            dropped, level = False, None
        kept.append(draft)
    return reversed(kept)
