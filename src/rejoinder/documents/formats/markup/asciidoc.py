"""Reads AsciiDoc: .adoc and .asciidoc.

There is no reader of AsciiDoc in Python that is kept up; blocks are marked by lines, so one pass
over the lines suffices.
"""

import re
from collections.abc import Iterator
from typing import IO

from rejoinder.documents.blocks import Block, ExtractedDocument, Kind
from rejoinder.documents.encoding import decode
from rejoinder.documents.formats.markup.asciidoc_inline import strip_marks
from rejoinder.documents.formats.markup.asciidoc_tables import read_table
from rejoinder.documents.formats.markup.builder import BlockBuilder, make_document


def read(file: IO[bytes]) -> Iterator[ExtractedDocument]:
    """Yield the document of an AsciiDoc file."""
    lines = [line.expandtabs(4).rstrip() for line in decode(file.read()).splitlines()]
    yield make_document(_Reader(lines).read())


class _Reader:
    def __init__(self, lines: list[str]) -> None:
        self._lines = lines
        self._place = 0
        self._builder = BlockBuilder()
        self._attributes = dict(_ATTRIBUTES)
        self._options = ""  # the block attributes for the next block
        self._anchor = ""
        self._terms: list[str] = []  # the marks of the definitions that are open
        self._attached = False  # after `+`, the next block belongs to the item
        self._containers: set[str] = set()  # the delimiters of the blocks that are open
        self._kind: Kind = "paragraph"
        self._words: list[str] = []
        self._begin = 0

    def read(self) -> Iterator[Block]:
        while self._place < len(self._lines):
            line = self._lines[self._place]
            self._place += 1
            if not line:
                yield from self._end_paragraph()
            elif _DELIMITER.fullmatch(line):
                yield from self._read_delimited(line)
            elif not self._is_hidden(line):
                yield from self._read_line(line)
        yield from self._end_paragraph()
        yield from self._builder.end_definitions()

    def _is_hidden(self, line: str) -> bool:
        """Return whether a line holds no text; attributes are remembered."""
        if attribute := _ATTRIBUTE.match(line):
            if not self._words:
                self._attributes[attribute[1].lower()] = (attribute[2] or "").strip()
            return not self._words
        return line.startswith("//") or bool(_DIRECTIVE.match(line))

    # Lines

    def _read_line(self, line: str) -> Iterator[Block]:
        if line == "+":
            yield from self._end_paragraph()
            self._attached = True
        elif options := _OPTIONS.fullmatch(line):
            yield from self._end_paragraph()
            self._read_options(options)
        elif heading := _HEADING.match(line):
            title = heading[2].removesuffix(f" {heading[1]}")
            yield from self._add_heading(len(heading[1]), title)
        elif not self._words and self._find_underline(line):
            yield from self._add_heading(_UNDERLINES.index(self._lines[self._place][0]) + 1, line)
        elif title := (not self._words and _BLOCK_TITLE.match(line)):
            yield from self._add("caption", title[1])
        elif term := _TERM.match(line):
            yield from self._begin_definition(term)
        elif item := _ITEM.match(line):
            yield from self._end_paragraph()
            self._begin_text("item", line[item.end() :])
        elif line.startswith(" ") and not self._words and not self._builder.is_pending:
            yield from self._read_literal()
        else:
            yield from self._begin_or_continue(line)

    def _read_options(self, match: re.Match[str]) -> None:
        self._options = match[1]
        anchor = _ANCHOR.match(match[1])
        self._anchor = (anchor[1] or anchor[2]) if anchor else self._anchor

    def _begin_or_continue(self, line: str) -> Iterator[Block]:
        if self._words:
            self._words.append(line.strip().removesuffix(" +"))
            return
        if not self._attached and not self._builder.is_pending:
            yield from self._end_definitions()
        label = _LABEL.match(line)
        self._begin_text(
            "paragraph", f"{label[1].capitalize()}: {line[label.end() :]}" if label else line
        )

    def _begin_text(self, kind: Kind, text: str) -> None:
        self._kind, self._words, self._begin = kind, [text.strip().removesuffix(" +")], self._place
        self._options, self._attached = "", False

    def _end_paragraph(self) -> Iterator[Block]:
        words, self._words = self._words, []
        if words:
            text = " ".join(words)
            yield from self._builder.block(self._kind, self._strip(text), self._begin)

    def _add(self, kind: Kind, text: str) -> Iterator[Block]:
        return self._builder.block(kind, self._strip(text), self._place)

    def _strip(self, text: str) -> str:
        return strip_marks(text, self._attributes)

    # Headings and definitions

    def _find_underline(self, line: str) -> bool:
        """Return whether the next line underlines this one."""
        rule = self._lines[self._place] if self._place < len(self._lines) else ""
        is_rule = bool(_UNDERLINE.fullmatch(rule)) and abs(len(rule) - len(line)) < 2
        return is_rule and rule not in self._containers and any(map(str.isalnum, line))

    def _add_heading(self, level: int, text: str) -> Iterator[Block]:
        yield from self._end_paragraph()
        line = self._place
        if self._find_underline(self._lines[line - 1]):
            self._place += 1
        text = self._strip(text)
        anchor = self._anchor or "_" + _NOT_IN_ID.sub("_", _NOT_WORD.sub("", text.lower())).strip(
            "_"
        )
        self._terms, self._options, self._anchor, self._attached = [], "", "", False
        yield from self._builder.heading(level, text, line, anchor if level > 1 else "")
        if level == 1:  # the author and revision of the document
            while self._place < len(self._lines) and _is_header(self._lines[self._place]):
                self._is_hidden(self._lines[self._place])
                self._place += 1

    def _begin_definition(self, match: re.Match[str]) -> Iterator[Block]:
        yield from self._end_paragraph()
        term, mark, rest = self._strip(match[1]), match[2], match[3]
        is_shared = self._terms[-1:] == [mark] and self._builder.merge_term(term)
        if not is_shared:
            while mark in self._terms:
                self._terms.pop()
                yield from self._builder.end_definition()
            yield from self._builder.begin_definition(term, self._place)
            self._terms.append(mark)
        self._options, self._attached = "", False
        if rest:
            self._begin_text("paragraph", rest)

    def _end_definitions(self) -> Iterator[Block]:
        self._terms = []
        return self._builder.end_definitions()

    # Delimited blocks

    def _read_delimited(self, line: str) -> Iterator[Block]:
        yield from self._end_paragraph()
        if line[0] in "*_=" or line == "--":  # the content of examples and quotes is text
            self._containers ^= {line}
            return
        begin, mark = self._place, line if line[0] != "`" else "```"
        while self._place < len(self._lines) and self._lines[self._place] != mark:
            self._place += 1
        content = self._lines[begin : self._place]
        self._place += 1
        if line[0] in "-.`":
            yield from self._builder.block("code", _CALLOUT.sub("", "\n".join(content)), begin + 1)
        elif line[0] in "|,:!":
            table = read_table(content, line[0], self._options)
            headings = [self._strip(cell) for cell in table.headings]
            for row in table.rows:
                cells = [self._strip(cell) for cell in row.cells]
                yield from self._builder.row(headings, cells, begin + row.line)
        self._options, self._attached = "", False

    def _read_literal(self) -> Iterator[Block]:
        """Yield an indented paragraph, which is code."""
        begin = self._place
        while self._place < len(self._lines) and self._lines[self._place].startswith(" "):
            self._place += 1
        text = "\n".join(self._lines[begin - 1 : self._place])
        yield from self._builder.block("code", text, begin)


def _is_header(line: str) -> bool:
    return bool(line) and not line.startswith(("=", "[", "include::"))


_DELIMITER = re.compile(r"-{4,}|\.{4,}|={4,}|\*{4,}|_{4,}|\+{4,}|/{4,}|--|```[\w-]*|[|,:!]={3,}")
_ATTRIBUTE = re.compile(r":!?([\w-]+)!?:(?: +(.*)|$)")
_DIRECTIVE = re.compile(
    r"(?:include|image|video|audio|ifdef|ifndef|ifeval|endif|toc)::[^\s]*|'''$|<<<$"
)
_OPTIONS = re.compile(r"\[(.*)\]")
_ANCHOR = re.compile(r"\[([\w.:-]+)[^\]]*\]|[\w%.-]*#([\w:-]+)")
_HEADING = re.compile(r"(={1,6}|#{1,6}) +(\S.*)$")
_UNDERLINES = "=-~^+"
_UNDERLINE = re.compile(r"([=~^+-])\1+")
_BLOCK_TITLE = re.compile(r"\.([^\s.].*)$")
_TERM = re.compile(r" *(\S.*?|\S)(:::?:?|;;)(?: +(.*))?$")
_ITEM = re.compile(
    r" *(?:\*{1,6}|-|\.{1,6}|\d{1,4}\.|[a-zA-Z]\.|<(?:\d+|\.)>) +(?:\[[ x*]\] +)?(?=\S)"
)
_LABEL = re.compile(r"(NOTE|TIP|IMPORTANT|WARNING|CAUTION): +")
_CALLOUT = re.compile(  # bounded: code may hold any number of blanks and angle brackets
    r"(?:(?://|#|--|;;)[ \t]{0,9})?(?:<(?:\d{1,3}|\.)>[ \t]{0,9}){1,9}$", re.MULTILINE
)
_NOT_WORD = re.compile(r"[^\w .-]")
_NOT_IN_ID = re.compile(r"[ .-]+")
_ATTRIBUTES = {
    "nbsp": " ", "plus": "+", "sp": " ", "empty": "", "zwsp": "", "apos": "'", "quot": '"',
    "lt": "<", "gt": ">", "amp": "&", "asterisk": "*", "tilde": "~", "caret": "^", "vbar": "|",
    "backslash": "\\", "startsb": "[", "endsb": "]", "deg": "°", "cpp": "C++",
    "litdd": "--", "two-colons": "::",
}  # fmt: skip
