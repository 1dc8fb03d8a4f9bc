"""Reads reStructuredText, with the directives of Sphinx.

docutils is slow, and refuses the roles and directives of Sphinx and its extensions.  This reader
needs only their common shape: a directive has an argument, options and an indented body.
"""

import re
from collections.abc import Generator, Iterator
from typing import IO, NamedTuple

from rejoinder.documents.blocks import Block, ExtractedDocument, Kind
from rejoinder.documents.encoding import decode
from rejoinder.documents.formats.markup import rst_tables
from rejoinder.documents.formats.markup.builder import BlockBuilder, make_document
from rejoinder.documents.formats.markup.rst_inline import strip_marks
from rejoinder.documents.formats.markup.table import MarkupTable

MAX_DEPTH = 16
"""Nested bodies; the text of deeper ones becomes paragraphs."""


def read(file: IO[bytes]) -> Iterator[ExtractedDocument]:
    """Yield the document of a reStructuredText file."""
    lines = [line.expandtabs(8).rstrip() for line in decode(file.read()).splitlines()]
    yield make_document(_Reader(lines).read_body(0, len(lines)))


class _Directive(NamedTuple):
    name: str
    argument: str
    options: dict[str, str]
    start: int  # of its content
    end: int


class _Reader:
    def __init__(self, lines: list[str]) -> None:
        self._lines = lines
        self._indents = [len(line) - len(line.lstrip()) if line else -1 for line in lines]
        self._builder = BlockBuilder()
        self._styles: list[str] = []  # of headings, the highest level first
        self._depth = 0
        found = (_SUBSTITUTION.match(line) for line in lines)
        self._substitutions = {match[1]: strip_marks(match[2], {}) for match in found if match}

    def read_body(self, start: int, end: int, first: Kind = "paragraph") -> Iterator[Block]:
        """Yield the blocks of lines that form a body; `first` is the kind of its paragraph."""
        if self._depth > MAX_DEPTH:
            text = " ".join(line.strip() for line in self._lines[start:end])
            yield from self._add("paragraph", text, start)
            return
        self._depth += 1
        kind = first
        while start < end:
            if self._indents[start] < 0:
                start += 1
                continue
            before = start
            start = yield from self._read_block(start, end, kind)
            kind = "paragraph" if start > before else kind
        self._depth -= 1

    def _read_block(self, start: int, end: int, kind: Kind) -> "_Reading":
        """Yield one block with all that belongs to it, and return the line after it."""
        line = self._lines[start].strip()
        if line == ".." or line.startswith(".. "):
            return (yield from self._read_explicit(start, self._find_end(start, end)))
        if line.startswith("__ "):
            return start + 1
        if (after := self._find_heading(start, end)) > start:
            if after > start + 1:
                yield from self._read_heading(start, after)
            return after
        if _TABLE_START.match(line):
            return (yield from self._read_table(start, end))
        if item := _find_item(line, self._lines[start + 1] if start + 1 < end else ""):
            return (yield from self._read_item(start, end, item))
        if field := (_FIELD.match(line) or _OPTION.match(line)):
            return (yield from self._read_field(start, end, field))
        if line.startswith(">>> "):
            after = self._find_blank(start, end)
            yield from self._builder.block("code", self._join(start, after), start + 1)
            return after
        if start + 1 < end and self._indents[start + 1] > self._indents[start]:
            return (yield from self._read_term(start, end))
        return (yield from self._read_paragraph(start, end, kind))

    # Paragraphs, literal blocks and definitions

    def _read_paragraph(self, start: int, end: int, kind: Kind) -> "_Reading":
        indent, after = self._indents[start], start + 1
        while after < end and self._indents[after] == indent:
            after += 1
        lines = [line.strip() for line in self._lines[start:after]]
        if lines[0].startswith("| "):  # a line block
            lines = [line.removeprefix("|") for line in lines]
        text = " ".join(lines)
        if not text.endswith("::"):
            yield from self._add(kind, text, start)
            return after
        text = text[:-1] if not text.endswith(" ::") else text[:-3]
        if text != ":":
            yield from self._add(kind, text, start)
        return (yield from self._read_literal(after, end, indent))

    def _read_literal(self, start: int, end: int, indent: int) -> "_Reading":
        while start < end and self._indents[start] < 0:
            start += 1
        after = start
        if start < end and self._indents[start] > indent:
            after = self._find_end(start, end, indent)
        elif start < end and not self._lines[start].strip()[0].isalnum():  # quoted, not indented
            mark = self._lines[start].strip()[0]
            while after < end and self._lines[after].strip()[:1] == mark:
                after += 1
        yield from self._builder.block("code", self._join(start, after), start + 1)
        return after

    def _read_term(self, start: int, end: int) -> "_Reading":
        term = self._lines[start].strip()
        if term.endswith("::"):
            yield from self._add("paragraph", term[:-1], start)
            return (yield from self._read_literal(start + 1, end, self._indents[start]))
        after = self._find_end(start, end)
        yield from self._define(term.replace(" : ", ", "), start, start + 1, after)
        return after

    def _define(self, term: str, line: int, start: int, end: int) -> Iterator[Block]:
        yield from self._builder.begin_definition(self._strip(term), line + 1)
        yield from self.read_body(start, end)
        yield from self._builder.end_definition()

    # Headings

    def _find_heading(self, start: int, end: int) -> int:
        """Return the line after a heading or transition that begins here, else `start`."""
        line = self._lines[start]
        following = self._lines[start + 1] if start + 1 < end else ""
        if _RULE.match(line):
            third = self._lines[start + 2] if start + 2 < end else ""
            if following and third == line:
                return start + 3
            return start + 1 if not following and len(line) >= 4 else start
        is_rule = _RULE.match(following) and self._indents[start] == 0
        return start + 2 if is_rule and len(following) >= min(len(line), 4) else start

    def _read_heading(self, start: int, after: int) -> Iterator[Block]:
        has_overline = after - start == 3
        style = self._lines[after - 1][0] + ("^" if has_overline else "")
        if style not in self._styles:
            self._styles.append(style)
        text = self._strip(self._lines[start + has_overline].strip())
        anchor = _NOT_IN_ID.sub("-", text.lower()).strip("-")
        level = self._styles.index(style) + 1
        yield from self._builder.heading(level, text, start + has_overline + 1, anchor)

    # Lists and fields

    def _read_item(self, start: int, end: int, width: int) -> "_Reading":
        after = self._find_end(start, end)
        self._indent_text(start, width)
        yield from self.read_body(start, after, "item")
        return after

    def _read_field(self, start: int, end: int, match: re.Match[str]) -> "_Reading":
        after = self._find_end(start, end)
        name, is_field = match[1], match.re is _FIELD
        self._indent_text(start, match.end())
        if is_field and name.startswith(_INFO_FIELDS):  # ":param str name:"
            name = name.split()[-1] if " " in name else name
            name = {"return": "Returns", "returns": "Returns"}.get(name, name)
        if self._has_text(start, after) and not (
            is_field and not self._builder.path and name.islower()
        ):
            yield from self._define(name, start, start, after)
        return after

    def _indent_text(self, place: int, width: int) -> None:
        """Replace a mark at the beginning of a line by blanks."""
        line = self._lines[place]
        width += self._indents[place]
        self._lines[place] = (" " * width + line[width:]).rstrip()
        text = self._lines[place]
        self._indents[place] = len(text) - len(text.lstrip()) if text else -1

    # Explicit markup

    def _read_explicit(self, start: int, end: int) -> "_Reading":
        line = self._lines[start].strip()
        if line == "..":  # a comment; without text it ends before a blank line
            return end if start + 1 < end and self._indents[start + 1] >= 0 else start + 1
        if match := _DIRECTIVE.match(line):
            name, argument = match[1].lower().rpartition(":")[2], match[2] or ""
            yield from self._read_directive(self._parse_directive(name, argument, start, end))
        elif match := _FOOTNOTE.match(line):
            self._indent_text(start, match.end())
            yield from self.read_body(start, end)
        return end

    def _parse_directive(self, name: str, argument: str, start: int, end: int) -> _Directive:
        arguments, options, place = [argument] if argument else [], dict[str, str](), start + 1
        while place < end and self._indents[place] >= 0:
            line = self._lines[place].strip()
            if option := _FIELD.match(line):
                options[option[1]] = line[option.end() :].strip()
            elif options:
                key = next(reversed(options))
                options[key] += f" {line}"
            elif argument or name in _ARGUMENT_BELOW:
                arguments.append(line)
            else:
                break
            place += 1
        separator = ", " if name not in _TEXT_DIRECTIVES else " "
        return _Directive(name, separator.join(arguments), options, place, end)

    def _read_directive(self, directive: _Directive) -> Iterator[Block]:
        name, argument, _, start, end = directive
        if name in _CODE:
            yield from self._builder.block("code", self._join(start, end), start + 1)
        elif name in _VERSIONS:
            yield from self._read_version(directive)
        elif name in _TABLES:
            yield from self._read_table_directive(directive)
        elif name in _TEXT_DIRECTIVES:
            yield from self._add("paragraph", argument, start - 1)
            yield from self.read_body(start, end)
        elif name == "figure":
            yield from self.read_body(start, end, "caption")
        elif name == "rubric":
            yield from self._builder.heading(_RUBRIC_LEVEL, self._strip(argument), start)
        elif name not in _OUT and not name.startswith("auto"):
            yield from self._read_object(directive)

    def _read_version(self, directive: _Directive) -> Iterator[Block]:
        """Yield "New in version 3.2", with the text that follows it."""
        _, argument, _, start, end = directive
        version, _, text = argument.partition(" ")
        note = f"{_VERSIONS[directive.name]} {version}"
        if not text and not self._has_text(start, end):
            if not self._builder.qualify_term(f"{note[0].lower()}{note[1:]}"):
                yield from self._builder.block("paragraph", f"{note}.", start)
            return
        yield from self._builder.begin_definition(note, start)
        yield from self._add("paragraph", text, start - 1)
        yield from self.read_body(start, end)
        yield from self._builder.end_definition()

    def _read_object(self, directive: _Directive) -> Iterator[Block]:
        """Yield what a directive describes, such as an option or a function, and its body."""
        name, argument, _, start, end = directive
        if not self._has_text(start, end):
            return
        if argument and name not in _NO_TERM:
            yield from self._define(argument, start - 1, start, end)
        else:
            yield from self.read_body(start, end)

    # Tables

    def _read_table(self, start: int, end: int) -> "_Reading":
        indent = self._indents[start]
        is_grid = self._lines[start][indent] == "+"
        after = start + 1
        while after < end:
            if self._indents[after] < 0 and (is_grid or self._lines[after - 1][indent:][:1] == "="):
                break
            after += 1
        lines = [line[indent:] for line in self._lines[start:after]]
        table = rst_tables.read_grid(lines) if is_grid else rst_tables.read_simple(lines)
        yield from self._add_rows(table, start)
        return after

    def _read_table_directive(self, directive: _Directive) -> Iterator[Block]:
        name, title, options, start, end = directive
        if title:
            yield from self._add("caption", title, start - 1)
        if name == "table":
            yield from self.read_body(start, end)
            return
        headers = int(rows) if (rows := options.get("header-rows", "0")).isdecimal() else 0
        lines = [line.strip() if name == "csv-table" else line for line in self._lines[start:end]]
        if name == "csv-table":
            table = rst_tables.read_csv(lines, options.get("header", ""), headers)
        else:
            table = rst_tables.read_list(lines, headers)
        yield from self._add_rows(table, start)

    def _add_rows(self, table: MarkupTable, start: int) -> Iterator[Block]:
        header = [self._strip(cell) for cell in table.headings]
        for row in table.rows:
            cells = [self._strip(cell) for cell in row.cells]
            yield from self._builder.row(header, cells, start + row.line + 1)

    # Lines

    def _add(self, kind: Kind, text: str, place: int) -> Iterator[Block]:
        return self._builder.block(kind, self._strip(text), place + 1)

    def _strip(self, text: str) -> str:
        return strip_marks(text, self._substitutions)

    def _join(self, start: int, end: int) -> str:
        return "\n".join(self._lines[start:end])

    def _find_end(self, start: int, end: int, indent: int | None = None) -> int:
        """Return the first line that is not indented more than this one, or than `indent`."""
        least = self._indents[start] if indent is None else indent
        return next(
            (place for place in range(start + 1, end) if 0 <= self._indents[place] <= least), end
        )

    def _has_text(self, start: int, end: int) -> bool:
        return any(indent >= 0 for indent in self._indents[start:end])

    def _find_blank(self, start: int, end: int) -> int:
        return next((place for place in range(start, end) if self._indents[place] < 0), end)


def _find_item(line: str, following: str) -> int:
    """Return the width of the mark of a list item, or 0."""
    match = _ITEM.match(line)
    if not match or not (match[1] and not following.startswith(("  ", " \t")) and following):
        return match.end() if match else 0
    # A letter may also begin a sentence: "A. Einstein was a physicist" goes on without indent.
    return match.end() if _ITEM.match(following.strip()) else 0


_Reading = Generator[Block, None, int]
_RUBRIC_LEVEL = 90
"""A rubric heads what follows, but belongs below every section."""
_RULE = re.compile(r"([!-/:-@\[-`{-~])\1{2,}$")
_TABLE_START = re.compile(r"\+[-=][-=+]*\+$|=+ +=[= ]*$")
_ITEM = re.compile(
    r"(?:[*+•‣-]|(?:\(?(?:\d{1,9}|\#|([a-zA-Z]|[ivxlcdm]{1,9}|[IVXLCDM]{1,9}))[.)]))(?: +|$)"
)
_FIELD = re.compile(r":(?![\s:])([^:`]{1,200}):(?= |$)")
_OPTION = re.compile(
    r"((?:-\w|--?[a-zA-Z][\w-]*|/[A-Z])(?:[ =]<?[\w.-]+>?)?"
    r"(?:, (?:-\w|--?[a-zA-Z][\w-]*)(?:[ =]<?[\w.-]+>?)?){0,5})(?=  |$)"
)
_DIRECTIVE = re.compile(r"\.\. +(?:\|[^|]+\| +)?([A-Za-z][\w:.+-]*?) ?::(?: +(.*))?$")
_SUBSTITUTION = re.compile(r"\s*\.\. +\|([^|]+)\| +replace:: +(.*)$")
_FOOTNOTE = re.compile(r"\.\. +\[[^\]]+\] +")
_NOT_IN_ID = re.compile(r"[^a-z0-9]+")
_INFO_FIELDS = (
    "param ",
    "parameter ",
    "arg ",
    "argument ",
    "key ",
    "keyword ",
    "raises ",
    "return",
)
_VERSIONS = {
    "versionadded": "New in version",
    "versionchanged": "Changed in version",
    "versionremoved": "Removed in version",
    "deprecated": "Deprecated since version",
}
_CODE = frozenset(
    {"code", "code-block", "sourcecode", "parsed-literal", "prompt", "doctest", "testcode"}
    | {"testoutput", "math", "productionlist", "ipython", "console", "command-output"}
)
_TABLES = frozenset({"table", "list-table", "csv-table"})
_TEXT_DIRECTIVES = frozenset(
    {"note", "warning", "tip", "hint", "important", "caution", "danger", "error", "attention"}
    | {"seealso", "epigraph", "highlights", "pull-quote", "centered", *_VERSIONS}
)
_ARGUMENT_BELOW = frozenset({"option", "function", "method", "class", "describe", "object"})
_OUT = frozenset(
    {"toctree", "index", "image", "contents", "sectnum", "raw", "include", "literalinclude", "meta"}
    | {"highlight", "highlightlang", "module", "currentmodule", "program", "default-domain"}
    | {"sectionauthor", "codeauthor", "role", "default-role", "tabularcolumns", "todo", "todolist"}
    | {"graphviz", "digraph", "uml", "mermaid", "plot", "replace", "unicode", "date", "title"}
    | {"header", "footer", "target-notes", "bibliography", "ifconfig", "testsetup", "testcleanup"}
    | {"rst-class", "cssclass", "cmake-module", "inheritance-diagram", "video", "youtube"}
)
_NO_TERM = frozenset(
    {"only", "container", "compound", "hlist", "tabs", "tab-set", "glossary", "parsed"}
)
