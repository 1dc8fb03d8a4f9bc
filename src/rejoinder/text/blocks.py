"""Blocks of plain text: paragraphs, headings, list items, definitions, table rows and code.

Plain text shows its structure by blank lines, indentation and light marks, such as those of
Markdown.  Every rule looks at one paragraph, that is, the lines between two blank lines, and at
the first line of the next one, so that a text is read in one pass, in linear time.
"""

import re
from collections.abc import Iterable, Iterator
from itertools import chain, pairwise
from typing import Literal, NamedTuple

MAX_HEADING_WORDS = 12
MAX_HEADING_LENGTH = 200
CODE_INDENT = 4

TextKind = Literal["heading", "paragraph", "item", "definition", "row", "code"]


class TextBlock(NamedTuple):
    """A block at `text[start:end]`, without its list or heading mark."""

    start: int
    end: int
    kind: TextKind
    level: int = 0
    """Of a heading: a lower one stands above; only the order of two levels has a meaning."""
    indent: int = 0
    """Columns of white space before its first line."""
    term_end: int = 0
    """Of a definition: its term is `text[start:term_end]`."""


def find_blocks(text: str) -> Iterator[TextBlock]:
    r"""Yield the blocks of a text in order; marks, rules, page headers and space are between them.

    >>> text = "Tea\n===\n\nYou need:\n- water\n- a cup"
    >>> [(block.kind, text[block.start : block.end]) for block in find_blocks(text)]
    [('heading', 'Tea'), ('paragraph', 'You need:'), ('item', 'water'), ('item', 'a cup')]
    """
    if "\r" in text:
        text = text.replace("\r\n", " \n").replace("\r", "\n")  # offsets hold
    place = 0
    for code_start, code_end, end in _find_fenced_code(text):
        yield from _find_in_prose(text, place, code_start)
        first = text.find("\n", code_start, code_end) + 1
        if code := _trim_code(text, first, code_end):
            yield code
        place = end
    yield from _find_in_prose(text, place, len(text))


_FENCE = re.compile(r"^[ \t]{0,12}(```|~~~)([^`\n]*)$", re.MULTILINE)


def _find_fenced_code(text: str) -> Iterator[tuple[int, int, int]]:
    """Yield the start of each opening fence, and the start and end of its closing fence.

    A fence that is never closed is not one: the rest of the text would become code.
    """
    if "```" not in text and "~~~" not in text:
        return
    fences = [match for match in _FENCE.finditer(text)]
    last = {match[1]: number for number, match in enumerate(fences) if not match[2].strip("`~ ")}
    opening: re.Match[str] | None = None
    for number, fence in enumerate(fences):
        if opening is None:
            opening = fence if last.get(fence[1], 0) > number else None
        elif fence[1] == opening[1] and not fence[2].strip("`~ "):
            yield opening.start(), fence.start(), fence.end()
            opening = None


def _trim_code(text: str, start: int, end: int) -> TextBlock | None:
    code = text[start:end]
    body = code.lstrip()
    if not body:
        return None
    return TextBlock(end - len(body), start + len(code.rstrip()), "code")


class _Line(NamedTuple):
    start: int
    text: str
    """Without the white space around it."""
    indent: int

    @property
    def end(self) -> int:
        return self.start + len(self.text)


class _Paragraph(NamedTuple):
    lines: list[_Line]
    distance: int
    """Line ends before it."""


def _read_paragraphs(text: str, start: int, end: int) -> Iterator[_Paragraph]:
    lines: list[_Line] = []
    distance = line_ends = 0
    while start < end:
        stop = text.find("\n", start, end)
        line = text[start : stop if stop >= 0 else end]
        content = line.strip()
        if content:
            if not lines:
                distance, line_ends = line_ends, 0
            indent = line.index(content[0])
            space = line[:indent]
            columns = len(space.expandtabs(4)) if "\t" in space else indent
            lines.append(_Line(start + indent, content, columns))
        else:
            if lines:
                yield _Paragraph(lines, distance)
                lines, line_ends = [], 1
            line_ends += 1
        start += len(line) + 1
    if lines:
        yield _Paragraph(lines, distance)


def _find_in_prose(text: str, start: int, end: int) -> Iterator[TextBlock]:
    found = _join_definitions(_read_paragraphs(text, start, end))
    paragraphs = chain(found, [_Paragraph([], MAX_DISTANCE)])
    list_indent: int | None = None
    margin: int | None = None  # of a paragraph that ends with a colon
    code: TextBlock | None = None
    for paragraph, following in pairwise(paragraphs):
        lines = paragraph.lines
        if list_indent is not None and lines[0].indent <= list_indent:
            list_indent = None
        least = CODE_INDENT if margin is None else margin + 2
        may_be_code = list_indent is None or margin is not None
        if may_be_code and _is_code(lines, following, least):
            begin = lines[0].start if code is None else code.start
            code = TextBlock(begin, lines[-1].end, "code", indent=lines[0].indent)
            continue
        if code is not None:
            yield code
            code = None
        for block in _split_paragraph(paragraph, following, is_listed=list_indent is not None):
            if block.kind == "item" and list_indent is None:
                list_indent = lines[0].indent
            yield block
        margin = lines[-1].indent if lines[-1].text[-1] == ":" else None
    if code is not None:
        yield code


MAX_DISTANCE = 9


_OPTION = re.compile(r"-|[^\sA-Z]\S*$|\S*[=_]")


def _join_definitions(paragraphs: Iterable[_Paragraph]) -> Iterator[_Paragraph]:
    """Join the name of an option with the indented paragraph below it; a title stays apart."""
    name: _Paragraph | None = None
    for paragraph in paragraphs:
        if name is not None:
            joined = name.lines + paragraph.lines
            if _find_term(joined):
                yield _Paragraph(joined, name.distance)
                name = None
                continue
            yield name
            name = None
        if len(paragraph.lines) == 1 and _OPTION.match(paragraph.lines[0].text):
            name = paragraph
        else:
            yield paragraph
    if name is not None:
        yield name


def _split_paragraph(
    paragraph: _Paragraph, following: _Paragraph, *, is_listed: bool
) -> Iterable[TextBlock]:
    lines = paragraph.lines
    first = lines[0]
    if len(lines) == 1:
        if _is_page_header(first, max(paragraph.distance, following.distance)):
            return ()
        return _read_line(first, following.lines, is_listed=is_listed)
    if term_end := _find_term(lines):
        return (TextBlock(first.start, lines[-1].end, "definition", 0, first.indent, term_end),)
    if _is_table(lines):
        return _join_lines(_mark_rows(lines))
    if _is_capitals(first.text) and not lines[1].text.isupper():
        heading = TextBlock(first.start, first.end, "heading", CAPITALS, first.indent)
        if len(lines) == 2:
            return chain((heading,), _join_lines(_mark_lines(lines[1:])))
        body = _Paragraph(lines[1:], 1)
        return chain((heading,), _split_paragraph(body, following, is_listed=is_listed))
    return _join_lines(_mark_lines(lines))


_Mark = Literal["prose", "item", "row", "rule"] | int
"""What a line is: an integer is the level of a heading; "prose" continues the line before it."""

_MAY_BE_MARKED = re.compile(r"\W|\d|\w{1,3}[.)]\s|[A-Z][a-z]{2} [ \d]\d ")
_HEADING = re.compile(r"(#{1,6})[ \t]+(?=\S)")
_UNDERLINE = re.compile(r"={3,}|-{3,}|~{3,}")
_RULE = re.compile(r"[-*_=~|:+\s]+|`{3,}[\w+.#-]*")
_ITEM = re.compile(r"(?:[-*+•‣◦▪–]|\(?(?:\d{1,3}|[a-zA-Z])[.)])\s+(?=\S)")
_TIME_STAMP = re.compile(
    r"[\[(<]?(?:\d{4}-\d\d-\d\d[ T])?\d\d:\d\d[:.]\d\d"  # 2024-05-06 07:08:09, [07:08:09]
    r"|[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d"  # May  6 07:08:09
)
_LEVELS = {"=": 1, "-": 2, "~": 3}
CAPITALS, UNMARKED = 7, 8
"""Levels of headings without a mark: below those of Markdown."""


def _mark_lines(lines: list[_Line]) -> Iterator[tuple[_Line, _Mark, int]]:
    """Yield each line with what it is, and the length of its mark."""
    for line, below in pairwise(chain(lines, (None,))):
        assert line is not None
        text = line.text
        if below is not None and below.text[0] in _LEVELS and _UNDERLINE.fullmatch(below.text):
            is_rule = _RULE.fullmatch(text)
            yield line, "rule" if is_rule else _LEVELS[below.text[0]], 0
        elif not _MAY_BE_MARKED.match(text):
            yield line, "prose", 0
        elif line.indent < CODE_INDENT and (heading := _HEADING.match(text)):
            yield line, len(heading[1]), heading.end()
        elif _RULE.fullmatch(text):
            yield line, "rule", 0
        elif item := _ITEM.match(text):
            yield line, "item", item.end()
        elif (text[0] == "|" == text[-1]) or _TIME_STAMP.match(text):
            yield line, "row", 0
        else:
            yield line, "prose", 0


def _join_lines(marked: Iterable[tuple[_Line, _Mark, int]]) -> Iterator[TextBlock]:
    block: TextBlock | None = None
    for line, mark, length in marked:
        if mark == "prose" and block is not None and block.kind != "heading":
            block = block._replace(end=line.end)
            continue
        if block is not None:
            yield block
        block = None
        if isinstance(mark, int):
            block = TextBlock(line.start + length, line.end, "heading", mark, line.indent)
        elif mark != "rule":
            kind: TextKind = "paragraph" if mark == "prose" else mark
            block = TextBlock(line.start + length, line.end, kind, 0, line.indent)
    if block is not None:
        yield block


_NUMBERED = re.compile(r"(\d{1,3}(?:\.\d{1,3}){0,5})\.?[ \t]+(?=[^\W\d_])")
_ENDS_SENTENCE = re.compile(r"""[.!?:;,…。！？।؟]["'”’)\]]*$""")
_NOT_IN_TITLES = re.compile(r"^[/~$%<>{\\]|://|\S@\S|[.…·_]{4}|^copyright|©", re.IGNORECASE)
PAGE_WIDTH = 80


def _read_line(line: _Line, following: list[_Line], *, is_listed: bool) -> Iterable[TextBlock]:
    """Return the block of a paragraph of one line: often a heading, but not inside a list."""
    level = 0 if is_listed else _find_level(line, following[0] if following else _Line(0, "", 0))
    if level:
        return (TextBlock(line.start, line.end, "heading", level, line.indent),)
    if _has_columns(line.text) and not _RULE.fullmatch(line.text):
        return (TextBlock(line.start, line.end, "row", 0, line.indent),)
    return _join_lines(_mark_lines([line]))


def _find_level(line: _Line, following: _Line) -> int:
    """Return the level of a title, or 0 where the line is none, or has Markdown's mark."""
    text = line.text
    if len(text) > MAX_HEADING_LENGTH or not any(map(str.isalpha, text)):
        return 0
    numbered = _NUMBERED.match(text)
    if _ENDS_SENTENCE.search(text) and not (numbered and text[-1] == "?"):
        return 0
    words = text.split(None, MAX_HEADING_WORDS)
    if len(words) > MAX_HEADING_WORDS or text[0] in "#|" or _NOT_IN_TITLES.search(text):
        return 0
    if numbered:
        # One after the other, without text between them, they are the items of a list.
        is_list = "." not in numbered[1] and _NUMBERED.match(following.text)
        return 0 if is_list else numbered[1].count(".") + 1
    is_phrase = len(words) > MAX_HEADING_WORDS // 2 and text[0].islower()
    if is_phrase or _has_columns(text) or _ITEM.match(text) or _TIME_STAMP.match(text):
        return 0
    is_centred = abs(line.indent * 2 + len(text) - PAGE_WIDTH) < PAGE_WIDTH // 8
    if is_centred and line.indent >= following.indent + PAGE_WIDTH // 8:
        return 1
    return CAPITALS if _is_capitals(text) else UNMARKED + line.indent


def _is_page_header(line: _Line, distance: int) -> bool:
    """Whether a line has parts at both margins and a number at its end, far from other text."""
    is_short = len(line.text) <= MAX_HEADING_LENGTH
    return distance > 2 and is_short and bool(_PAGE_HEADER.search(line.text))


_PAGE_HEADER = re.compile(r"[ \t]{8}.*\d[\])]?$")


def _is_capitals(text: str) -> bool:
    """Whether a line is in capital letters and short enough for a heading."""
    return (
        text.isupper()
        and 4 <= len(text) <= PAGE_WIDTH
        and text[0].isalpha()
        and text[-1] not in ".,;:"
        and not _NOT_IN_WORDS.search(text)
    )


_NOT_IN_WORDS = re.compile(r"[=<>{}$_|\\]")


def _find_term(lines: list[_Line]) -> int:
    """Return the end of the term that the lines define, or 0.

    The definition is further to the right than its term, and begins beside or below it.
    """
    term, body = lines[0], lines[1]
    if body.indent < term.indent + 2 or any(line.indent < body.indent for line in lines[2:]):
        return 0
    text = term.text[: body.indent - term.indent]
    if len(text) < len(term.text) and text.endswith("  "):
        return term.start + len(text.rstrip())
    is_title = len(term.text.split(None, MAX_HEADING_WORDS)) <= MAX_HEADING_WORDS
    if not is_title or _ENDS_SENTENCE.search(term.text) or _is_capitals(term.text):
        return 0
    if _ITEM.match(term.text) or _ITEM.match(body.text) or not _reads_as_prose(lines[1:], 0.6):
        return 0
    return term.end


_COLUMN = re.compile(r" {4,}|\t\s*")


def _has_columns(text: str) -> bool:
    return "    " in text or "\t" in text


def _is_table(lines: list[_Line]) -> bool:
    """Whether most lines have columns, with gaps wider than those of justified text."""
    count = sum(_has_columns(line.text) for line in lines)
    return count > 1 and 2 * count >= len(lines)


def _mark_rows(lines: list[_Line]) -> Iterator[tuple[_Line, _Mark, int]]:
    for line in lines:
        is_row = _has_columns(line.text) or line.indent <= lines[0].indent
        yield line, "rule" if _RULE.fullmatch(line.text) else "row" if is_row else "prose", 0


def _is_code(lines: list[_Line], following: _Paragraph, least: int) -> bool:
    """Whether lines are indented as code is, and do not read as indented prose does."""
    first = lines[0].text
    if any(line.indent < least for line in lines) or _ITEM.match(first):
        return False
    if _NUMBERED.match(first) or (first[0] == "|" == first[-1]) or _RULE.fullmatch(first):
        return False
    if len(lines) == 1:
        if _is_page_header(lines[0], MAX_DISTANCE):
            return False
        below = following.lines
        is_above = bool(below) and below[0].indent > lines[0].indent
        if is_above and _reads_as_prose(below, 0.7):
            return False  # a term above its definition
        beside = _COLUMN.split(first, 1)[-1]
        return not _reads_as_prose([lines[0]._replace(text=beside)], 0.7)
    if _find_term(lines):
        return False
    return not _reads_as_prose(lines, 0.5 if _is_table(lines) else 0.7)


_PLAIN_WORD = re.compile(
    r"""["'“\u2018(\[`]*(?:[A-Za-z][a-z]*(?:['’-][A-Za-z][a-z]*)*|[A-Z]+|[^\W\d_]*[^\x00-\x7f][^\W\d_]*)[.,;:!?)\]"'”’…]*"""
)
MAX_PROSE_LINES = 20


def _reads_as_prose(lines: list[_Line], share: float) -> bool:
    """Whether so many words are plain, and it begins or ends as a sentence does."""
    text = " ".join(line.text for line in lines[:MAX_PROSE_LINES])[:2000]
    if len(text.encode("utf-8", "replace")) > 1.5 * len(text):
        return True  # of a script other than Latin
    words = text.split()
    plain = sum(_PLAIN_WORD.fullmatch(word) is not None for word in words)
    begins, ends = not text[0].islower(), text.rstrip(")\"'")[-1:] in (".", "!", "?", ":")
    if begins and ends:
        return plain >= len(words) / 2
    return (begins or ends) and plain >= (share if len(words) > 3 else 1) * len(words)
