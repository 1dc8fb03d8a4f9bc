"""Manual pages that were formatted for a terminal and put into `<pre>`.

Headings stand in the first column, in capitals; text is indented, a definition more than its term.
"""

import re
from collections import Counter
from collections.abc import Iterator
from itertools import pairwise

from rejoinder.documents.blocks import Kind, fold, sanitize
from rejoinder.documents.formats.html.drafts import Draft, define
from rejoinder.documents.notation import strip_code

MIN_LINES = 10
MIN_INDENTED = 0.7
MAX_TERM_LINES = 2
MIN_PROSE_WORDS = 4
TAG_WIDTH = 7
"""Columns from a term to its definition, on the same line."""
_TITLE = re.compile(r"[A-Z][A-Z0-9 ,_/&-]{2,60}")
_WORD = re.compile(r"[A-Za-z]{2,}[.,;:)]?(?:\s|$)")
_HYPHEN = re.compile(r"(?<=[a-z])[-\u2010]\n\s*(?=[a-z])")
_BULLETS = frozenset("o*-+•")


def read_manpage(text: str, line: int) -> list[Draft]:
    """Return the blocks of a formatted manual page; none for any other text."""
    lines = [line.rstrip() for line in sanitize(text).expandtabs().split("\n")]
    filled = [line for line in lines if line]
    margins = Counter(
        _indent(below) for above, below in pairwise(filled) if _TITLE.fullmatch(above)
    )
    indented = sum(line[0] == " " for line in filled)
    if len(filled) < MIN_LINES or margins.total() < 2 or indented < MIN_INDENTED * len(filled):
        return []
    return list(_read_chunks(lines, line, margins.most_common(1)[0][0]))


def _read_chunks(lines: list[str], line: int, margin: int) -> Iterator[Draft]:
    term: int | None = None  # the indentation of the term whose definition goes on
    for at, chunk in _split(lines, margin):
        indent = min(map(_indent, chunk))
        if term is not None and indent <= term:
            yield Draft("close")
            term = None
        if indent < margin and len(chunk) == 1:
            if "   " not in chunk[0].strip():  # the running head has gaps
                yield _draft("heading", chunk, line + at, level=2 if indent == 0 else 3)
        elif indent > margin and not any(map(_is_prose, chunk)):
            yield _draft("code", chunk, line + at)
        else:
            name, body = _split_term(chunk)
            body_line = line + at + len(chunk) - len(body)
            if not name:
                yield _draft("paragraph", body, body_line)
            elif name[0].strip() in _BULLETS:
                yield _draft("item", body, body_line)
            else:
                head = _draft("paragraph", name, line + at)
                yield from define(head, [_draft("paragraph", body, body_line)])
                if term is None:
                    term = indent
                    yield Draft("open", head.text)
    if term is not None:
        yield Draft("close")


def _split(lines: list[str], margin: int) -> Iterator[tuple[int, list[str]]]:
    """Yield the lines up to a blank one, a title, or a return to the left, with their place."""
    start, chunk = 0, list[str]()
    for at, line in enumerate([*lines, ""]):
        last = _indent(chunk[-1]) if chunk else 0
        if chunk and (not line or _indent(line) < last or last < margin):
            yield start, chunk
            chunk = []
        if line:
            start = start if chunk else at
            chunk.append(line)


def _split_term(chunk: list[str]) -> tuple[list[str], list[str]]:
    """Return the lines of a term, and those of its definition, which is indented more.

    A short term stands on the first line of its definition.
    """
    indent = _indent(chunk[0])
    column = _indent(chunk[1]) if len(chunk) > 1 else indent + TAG_WIDTH
    if column > indent and chunk[0][column - 2 : column] == "  " and chunk[0][column:].strip():
        return [chunk[0][:column].rstrip()], [chunk[0][column:], *chunk[1:]]
    lines = next((at for at, line in enumerate(chunk) if _indent(line) > indent), 0)
    return (chunk[:lines], chunk[lines:]) if lines <= MAX_TERM_LINES else ([], chunk)


def _is_prose(line: str) -> bool:
    return line.endswith(".") or len(_WORD.findall(line)) > MIN_PROSE_WORDS


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _draft(kind: Kind, lines: list[str], line: int, level: int = 0) -> Draft:
    text = "\n".join(lines)
    text = strip_code(text) if kind == "code" else fold(_HYPHEN.sub("", text))
    return Draft(kind, text, line, level=level, size=len(text))
