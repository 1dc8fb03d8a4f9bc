"""Manual pages that were formatted for a terminal and put into `<pre>`.

Headings stand in the first column, in capitals; text is indented, a definition more than its term.
"""

import re
from collections import Counter
from collections.abc import Iterator

from rejoinder.documents.blocks import Kind, fold, sanitize
from rejoinder.documents.formats.html.code import dedent
from rejoinder.documents.formats.html.drafts import Draft, define

MIN_LINES = 10
_TITLE = re.compile(r"[A-Z][A-Z0-9 ,_/()&-]{2,60}")
_WORD = re.compile(r"[A-Za-z]{2,}[.,;:)]?(?:\s|$)")
_HYPHEN = re.compile(r"(?<=[a-z])-\n\s*(?=[a-z])")


def read_manpage(text: str, line: int) -> list[Draft]:
    """Return the blocks of a formatted manual page; none for any other text."""
    lines = [line.rstrip() for line in sanitize(text).expandtabs().split("\n")]
    filled = [line for line in lines if line]
    indents = Counter(_indent(line) for line in filled)
    titles = sum(line[0] != " " and bool(_TITLE.fullmatch(line)) for line in filled)
    if len(filled) < MIN_LINES or titles < 2 or indents[0] > 0.3 * len(filled):
        return []
    del indents[0]
    margin = min(indent for indent, count in indents.most_common(2))
    return list(_read_chunks(lines, line, margin))


def _read_chunks(lines: list[str], line: int, margin: int) -> Iterator[Draft]:
    term: int | None = None  # the indentation of the term whose definition goes on
    for at, chunk in _split(lines):
        indent = min(map(_indent, chunk))
        if term is not None and indent <= term:
            yield Draft("close")
            term = None
        if indent < margin and len(chunk) == 1:
            if "   " not in chunk[0].strip():  # the running head has gaps
                yield _draft("heading", chunk, line + at, level=2 if indent == 0 else 3)
        elif indent > margin and not any(len(_WORD.findall(row)) > 4 for row in chunk):
            yield _draft("code", chunk, line + at)
        elif name := _term(chunk):
            body = [_draft("paragraph", chunk[name:], line + at + name)]
            head = _draft("paragraph", chunk[:name], line + at)
            yield from define(head, body)
            if term is None:
                term = indent
                yield Draft("open", head.text)
        else:
            yield _draft("paragraph", chunk, line + at)
    if term is not None:
        yield Draft("close")


def _split(lines: list[str]) -> Iterator[tuple[int, list[str]]]:
    """Yield the lines between blank ones and at a return to the left, with their place."""
    start, chunk = 0, list[str]()
    for at, line in enumerate([*lines, ""]):
        if chunk and (not line or (_indent(line) < _indent(chunk[-1])) or chunk[-1][0] != " "):
            yield start, chunk
            chunk = []
        if line:
            start = start if chunk else at
            chunk.append(line)


def _term(chunk: list[str]) -> int:
    """Return how many lines of a chunk are a term, with a definition that is indented more."""
    indent = _indent(chunk[0])
    lines = next((at for at, line in enumerate(chunk) if _indent(line) > indent), 0)
    return lines if lines <= 2 else 0


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _draft(kind: Kind, lines: list[str], line: int, level: int = 0) -> Draft:
    text = "\n".join(lines)
    text = dedent(text) if kind == "code" else fold(_HYPHEN.sub("", text))
    return Draft(kind, text, line, level=level, size=len(text))
