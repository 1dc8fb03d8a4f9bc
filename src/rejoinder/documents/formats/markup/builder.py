"""Builds the blocks of markup files: each with the headings, terms and anchor above it."""

import re
from collections.abc import Iterator, Sequence
from itertools import chain, islice

from rejoinder.documents.blocks import Block, ExtractedDocument, Kind, Outline, fold, sanitize
from rejoinder.documents.notation import format_row, join_term, strip_code

MAX_BEFORE_TITLE = 8
"""Blocks before the first heading (badges, notices) of a document that is named by it."""
MAX_TERMS = 8
"""Terms in a path; hostile files nest definitions without end."""
MAX_MERGED = 200
"""Characters of terms that share a body."""


class BlockBuilder:
    """Gives every block its path and anchor, and joins a term with the first block of its body.

    >>> builder = BlockBuilder()
    >>> _ = [*builder.heading(1, "Options"), *builder.begin_definition("-q", 3)]
    >>> [*builder.block("paragraph", "Be quiet.", 4), *builder.block("paragraph", "Really.", 6)]
    ... # doctest: +NORMALIZE_WHITESPACE
    [Block(kind='definition', text='-q: Be quiet.', path=('Options',), line=3, ...
    """

    def __init__(self, *, slugs: bool = False) -> None:
        self._outline = Outline()
        self._terms: list[str] = []
        self._pending: Block | None = None  # a term that waits for its body
        self._anchor = ""
        self._slugs: dict[str, int] | None = {} if slugs else None

    @property
    def path(self) -> tuple[str, ...]:
        """The headings and terms above the next block."""
        return (*self._outline.path, *filter(None, self._terms[:MAX_TERMS]))

    @property
    def is_pending(self) -> bool:
        """Whether a term waits for its body."""
        return self._pending is not None

    def heading(
        self, level: int, text: str, line: int | None = None, anchor: str = ""
    ) -> Iterator[Block]:
        """Yield a heading; it ends all definitions."""
        yield from self.end_definitions()
        if text := _clean(text):
            if anchor or self._slugs is not None:
                self._anchor = anchor or self._number_slug(slugify(text))
            above = self._outline.enter(level, text)
            yield Block("heading", text, above, line, anchor=self._anchor)

    def block(self, kind: Kind, text: str, line: int | None = None) -> Iterator[Block]:
        """Yield a block; the first paragraph or item after a term becomes its definition."""
        text = sanitize(strip_code(text)) if kind == "code" else _clean_lines(text)
        if not text:
            return
        if self._pending and kind in {"paragraph", "item"}:
            term, self._pending = self._pending, None
            yield term._replace(text=join_term(term.text, text))
            return
        yield from self._flush()
        yield Block(kind, text, self.path, line, anchor=self._anchor)

    def row(
        self, headings: Sequence[str], cells: Sequence[str], line: int | None = None
    ) -> Iterator[Block]:
        """Yield a table row with the headings of its columns."""
        text = format_row([_clean(head) for head in headings], [_clean(cell) for cell in cells])
        return self.block("row", text, line)

    def begin_definition(self, term: str, line: int | None = None) -> Iterator[Block]:
        """Begin the body of a term, inside the body that is open."""
        yield from self._flush()
        if term := _clean(term):
            self._pending = Block("definition", term, self.path, line, anchor=self._anchor)
        self._terms.append(term)

    def qualify_term(self, note: str) -> bool:
        """Add a note in parentheses to a term whose body has not begun."""
        if self._pending:
            self._pending = self._pending._replace(text=f"{self._pending.text} ({note})")
            return True
        return False

    def merge_term(self, term: str) -> bool:
        """Add a term that shares the body of the one before it, which has not begun."""
        term = _clean(term)
        if not self._pending or len(self._pending.text) + len(term) > MAX_MERGED:
            return False
        merged = f"{self._pending.text}, {term}" if term else self._pending.text
        self._pending = self._pending._replace(text=merged)
        self._terms[-1] = merged
        return True

    def end_definition(self) -> Iterator[Block]:
        """End the innermost body."""
        yield from self._flush()
        if self._terms:
            self._terms.pop()

    def end_definitions(self) -> Iterator[Block]:
        """End all bodies that are open."""
        yield from self._flush()
        self._terms.clear()

    def _flush(self) -> Iterator[Block]:
        term, self._pending = self._pending, None
        if term:
            yield term

    def _number_slug(self, slug: str) -> str:
        """Return a slug, with a number where an earlier heading has the same one."""
        seen = self._slugs if self._slugs is not None else {}
        number = seen.get(slug, 0)
        seen[slug] = number + 1
        return f"{slug}-{number}" if number else slug


def make_document(blocks: Iterator[Block], title: str = "") -> ExtractedDocument:
    """Return a document; without a title it is named by a heading near its beginning."""
    first = list(islice(blocks, MAX_BEFORE_TITLE))
    headings = (block.text for block in first if block.kind == "heading")
    return ExtractedDocument(_clean(title) or next(headings, ""), chain(first, blocks))


def slugify(heading: str) -> str:
    """Return the anchor that GitHub gives to a heading.

    >>> slugify("What's new in C++?")
    'whats-new-in-c'
    """
    return _NOT_IN_SLUG.sub("", heading.lower()).replace(" ", "-")


def _clean(text: str) -> str:
    return fold(sanitize(text))


def _clean_lines(text: str) -> str:
    """Return text with its line ends, by which the line of each sentence is counted."""
    return "\n".join(map(_clean, text.strip().split("\n")))


_NOT_IN_SLUG = re.compile(r"[^\w\- ]")
