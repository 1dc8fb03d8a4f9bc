"""Reads man pages: roff with the macros of man(7) or mdoc(7), and tables of tbl(1)."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import IO

from rejoinder.documents.blocks import Block, ExtractedDocument, Kind, fold, sanitize
from rejoinder.documents.encoding import decode
from rejoinder.documents.formats.markup import mdoc, tbl
from rejoinder.documents.formats.markup.builder import BlockBuilder
from rejoinder.documents.formats.markup.roff import join_lines, replace_escapes, split_arguments
from rejoinder.errors import InputError

MAX_STRING = 500
"""Characters of a string of the page; strings may repeat strings, which grows exponentially."""
MAX_CONDITIONS = 20
"""Conditions on one line."""
MAX_TERM = 150
"""Characters of a paragraph that an indented one follows, as its term."""


def is_man(name: str) -> bool:
    """Return whether a file is a man page by its name, such as `ls.1` or `open.3pm`.

    Other files have such names too; `read` refuses those without the macros of a man page.

    >>> is_man("ls.1"), is_man("x.1ssl"), is_man("tea.man"), is_man("tea.10"), is_man("a.7z")
    (True, True, True, False, False)
    """
    stem, _, suffix = name.lower().rpartition(".")
    return bool(stem) and suffix not in _NOT_SECTIONS and bool(_SECTION.fullmatch(suffix))


def read(file: IO[bytes]) -> Iterator[ExtractedDocument]:
    """Yield the document of a man page, with a title such as "ls(1)"."""
    text = decode(file.read())
    if not _MACROS.search(text):
        raise InputError("not a man page")
    match = _TITLE.search(text)
    title = _find_title(split_arguments(match[1]), text[match.end() :]) if match else ""
    yield ExtractedDocument(title, _Reader(text).read())


def _find_title(arguments: list[str], page: str) -> str:
    """Return the name of a page as its text writes it; its title line may be in capitals."""
    name, section = (replace_escapes(word, {}) for word in (*arguments, "", "")[:2])
    pattern = re.escape(name).replace(r"\-", r"\\?-")
    found = re.search(pattern, page, re.IGNORECASE) if name else None
    name = replace_escapes(found[0], {}) if found else name.lower()
    return fold(sanitize(f"{name}({section.lower()})" if section else name))


_SECTION = re.compile(r"[1-9][a-z]{0,8}|man|mdoc|roff")
_NOT_SECTIONS = frozenset({"7z", "3gp", "3g2", "3ds", "3mf", "1st"})
_MACROS = re.compile(r"^[.'][ \t]*(?:TH|Dt|SH|Sh|so)\b", re.MULTILINE)
_TITLE = re.compile(r"^\.[ \t]*(?:TH|Dt)[ \t]+(.*)$", re.MULTILINE)


class _Reader:
    """Interprets a page line by line."""

    def __init__(self, text: str) -> None:
        self._lines = join_lines(text)
        self._builder = BlockBuilder()
        self._strings = dict(_STRINGS)
        self._defined: set[str] = set()  # macros of the page
        self._was_true = True  # the last condition
        self._name = ""  # of the page, which `.Nm` repeats
        self._line = 0
        self._words: list[str] = []  # of the paragraph
        self._code: list[str] | None = None
        self._begin = 0  # the line of the paragraph or code
        self._kind: Kind = "paragraph"
        self._expects = ""  # the request whose text is on the next line
        self._bodies = [False]  # for each indentation, whether a term is open
        self._lists: list[str] = []  # the types of mdoc's lists
        self._section = ""
        self._handlers = self._make_handlers()

    def read(self) -> Iterator[Block]:
        for number, line in self._lines:
            self._line = number
            request = self._evaluate(line)
            if request is None:
                continue
            if request[:1] in {".", "'"}:
                match = _REQUEST.match(request)
                if match:
                    yield from self._interpret(match[1], match[2].strip())
            else:
                yield from self._add_line(request)
        yield from self._end_paragraph()
        yield from self._builder.end_definitions()

    # Conditions and definitions

    def _evaluate(self, line: str) -> str | None:
        """Return the line that a condition allows, or None; skip blocks that it excludes."""
        for _ in range(MAX_CONDITIONS):
            match = _CONDITION.match(line)
            if not match:
                break
            name, condition, line = match.groups()
            if name == "el":
                is_true = not self._was_true
            else:
                is_true = self._was_true = _is_true(condition or "")
            if not is_true:
                self._skip_block(line)
                return None
            line = line.removeprefix("\\{").strip()
            if not line:
                return None
        line = line.replace("\\}", "") if "\\}" in line else line
        return line

    def _skip_block(self, line: str) -> None:
        depth = line.count("\\{") - line.count("\\}")
        while depth > 0 and (following := next(self._lines, None)):
            depth += following[1].count("\\{") - following[1].count("\\}")

    def _skip_definition(self, end: str) -> None:
        for _, line in self._lines:
            if line.startswith(end) and line.rstrip() == end:
                return

    # Requests

    def _interpret(self, name: str, rest: str) -> Iterator[Block]:
        if name in mdoc.CALLABLE:
            yield from self._read_macros([name, *split_arguments(rest)])
        elif name in self._handlers:
            yield from self._handlers[name](name, rest)
        elif name in self._defined and name != "IX":
            yield from self._add_words(name, rest)

    def _make_handlers(self) -> dict[str, Callable[[str, str], Iterable[Block]]]:
        handlers: dict[Callable[[str, str], Iterable[Block]], str] = {
            self._add_words: "B I R SM SB CW C UR MT SY Fd D1",
            self._join_words: "BI BR IB IR RB RI",
            self._add_optional: "OP",
            self._begin_section: "SH Sh SS Ss",
            self._begin_paragraph: "PP LP P Pp Sp sp Lp HP",
            self._begin_item: "TP TQ IP It",
            self._begin_code: "nf EX Vb Bd Dl",
            self._end_code: "fi EE Ve Ed",
            self._indent: "RS RE Bl El",
            self._read_table: "TS",
            self._define: "de de1 am ig ds",
            self._skip_equation: "EQ",
        }
        return {name: handler for handler, names in handlers.items() for name in names.split()}

    def _add_words(self, name: str, rest: str) -> Iterator[Block]:  # noqa: ARG002
        if words := self._split(rest):
            yield from self._add_text(" ".join(words))

    def _join_words(self, name: str, rest: str) -> Iterator[Block]:  # noqa: ARG002
        if words := self._split(rest):  # of alternating fonts
            yield from self._add_text("".join(words))

    def _add_optional(self, name: str, rest: str) -> Iterator[Block]:  # noqa: ARG002
        return self._add_text(f"[{' '.join(self._split(rest))}]")

    def _skip_equation(self, name: str, rest: str) -> Iterable[Block]:  # noqa: ARG002
        self._skip_definition(".EN")
        return ()

    def _define(self, name: str, rest: str) -> Iterable[Block]:
        defined, _, content = rest.partition(" ")
        if name == "ds":
            text = self._unescape(content.strip().removeprefix('"'))
            self._strings.setdefault(defined, text[:MAX_STRING])
        elif name == "ig":
            self._skip_definition(f".{defined}" if defined else "..")
        else:
            self._defined.add(defined)
            self._skip_definition(f".{content.strip()}" if content.strip() else "..")
        return ()

    def _read_macros(self, words: Sequence[str]) -> Iterator[Block]:
        text = mdoc.format_macros(words, self._name)
        if words[0] == "Nm" and len(words) > 1 and not self._name:
            self._name = self._unescape(words[1])
        yield from self._add_text(self._unescape(text))

    def _begin_section(self, name: str, rest: str) -> Iterator[Block]:
        yield from self._end_paragraph()
        yield from self._end_code()
        level = 1 if name in {"SH", "Sh"} else 2
        self._bodies, self._lists = [False], []
        text = " ".join(self._split(rest))
        self._expects = "" if text else f"heading {level}"
        if text:
            yield from self._add_heading(level, text)

    def _add_heading(self, level: int, text: str) -> Iterator[Block]:
        self._section = text if level == 1 else self._section
        yield from self._builder.heading(level, text, self._line)

    def _begin_paragraph(self, name: str, rest: str) -> Iterator[Block]:  # noqa: ARG002
        yield from self._end_paragraph()
        if name in {"PP", "LP", "P", "HP"} and self._bodies[-1]:
            yield from self._builder.end_definition()
            self._bodies[-1] = False

    def _begin_item(self, name: str, rest: str) -> Iterator[Block]:
        yield from self._end_paragraph()
        words = self._split(rest)
        self._expects = name if name in {"TP", "TQ"} else ""
        if name == "IP" and words:
            yield from self._add_term(words[0])
        elif name == "It":
            kind = self._lists[-1] if self._lists else "tag"
            text = self._unescape(mdoc.format_macros(split_arguments(rest), self._name))
            if kind == "column":
                yield from self._builder.row((), text.split(mdoc.CELL), self._line)
            else:
                yield from self._add_term(text if kind == "tag" else "•")

    def _add_term(self, term: str) -> Iterator[Block]:
        """Begin a definition, or a list item where the term is a bullet or number."""
        is_item = bool(_BULLET.match(term.strip()))
        if self._bodies[-1] and not is_item and self._builder.merge_term(term):
            return
        if self._bodies[-1]:
            yield from self._builder.end_definition()
        self._bodies[-1] = not is_item
        if is_item:
            self._kind = "item"
        else:
            yield from self._builder.begin_definition(term, self._line)

    def _indent(self, name: str, rest: str) -> Iterator[Block]:
        if name == "RS" and self._is_term():
            term, self._words = " ".join(self._words), []
            yield from self._builder.begin_definition(term, self._begin)
            self._bodies.append(True)
            return
        yield from self._end_paragraph()
        if name in {"RS", "Bl"}:
            self._bodies.append(False)
            if name == "Bl":
                self._lists.append(next((t for t in _LIST_TYPES if f"-{t}" in rest), "tag"))
            return
        if self._bodies.pop():
            yield from self._builder.end_definition()
        self._bodies = self._bodies or [False]
        if name == "El" and self._lists:
            self._lists.pop()

    def _is_term(self) -> bool:
        """Return whether the paragraph is a term, as DocBook and AsciiDoc write definitions."""
        text = " ".join(self._words).rstrip()
        return 0 < len(text) < MAX_TERM and not text.endswith((".", ":")) and text[:2] != "$ "

    # Text and code

    def _begin_code(self, name: str, rest: str) -> Iterator[Block]:
        if name == "Dl":
            yield from self._end_paragraph()
            text = mdoc.format_macros(split_arguments(rest), self._name)
            yield from self._builder.block("code", self._unescape(text), self._line)
        elif self._code is None and (name != "Bd" or "-literal" in rest or "-unfilled" in rest):
            yield from self._end_paragraph()
            self._code, self._begin = [], self._line + 1

    def _end_code(self, name: str = "", rest: str = "") -> Iterator[Block]:  # noqa: ARG002
        code, self._code = self._code, None
        if code:
            yield from self._builder.block("code", "\n".join(code), self._begin)

    def _add_line(self, line: str) -> Iterator[Block]:
        if self._code is not None:
            self._code.append(self._unescape(line))
        elif not line.strip():
            yield from self._end_paragraph()
        else:
            yield from self._add_text(self._unescape(line))

    def _add_text(self, text: str) -> Iterator[Block]:
        expects, self._expects = self._expects, ""
        if expects.startswith("heading"):
            yield from self._add_heading(int(expects[-1]), text)
        elif expects:
            yield from self._add_term(text)
        elif self._code is not None:
            self._code.append(text)
        else:
            self._begin = self._begin if self._words else self._line
            self._words.append(text)

    def _end_paragraph(self) -> Iterator[Block]:
        if self._words and self._words[0].startswith("$ "):  # a command
            yield from self._builder.block("code", "\n".join(self._words), self._begin)
        elif self._words:
            text = " ".join(self._words)
            if match := _ITEM.match(text):  # as DocBook writes list items
                text, self._kind = text[match.end() :], "item"
            is_name = self._section.upper() == "NAME" and " - " in text
            kind = "definition" if is_name else self._kind
            yield from self._builder.block(kind, text, self._begin)
        if self._words:
            self._words, self._kind = [], "paragraph"

    def _read_table(self, name: str, rest: str) -> Iterator[Block]:  # noqa: ARG002
        yield from self._end_paragraph()
        table = tbl.read_table(line for _, line in tbl.take_table(self._lines))
        for row in table.rows:
            cells = [self._unescape(cell) for cell in row.cells]
            headings = [self._unescape(cell) for cell in table.headings if len(cells) > 1]
            yield from self._builder.row(headings, cells, self._line + row.line)

    def _split(self, rest: str) -> list[str]:
        return [self._unescape(word) for word in split_arguments(rest)]

    def _unescape(self, text: str) -> str:
        return replace_escapes(text, self._strings)


def _is_true(condition: str) -> bool:
    """Return whether a condition holds for a terminal."""
    is_negated = condition.startswith("!")
    condition = condition.lstrip("!")
    return (condition in {"n", "1"} or condition.startswith("\\n(.g")) is not is_negated


_REQUEST = re.compile(r"[.'][ \t]*([^\s\\]+)(.*)$", re.DOTALL)
_CONDITION = re.compile(
    r"[.'][ \t]*(if|ie|el)(?:(?<!el)[ \t]*(!?(?:'[^']*'[^']*'|\S+)))?[ \t]*(.*)$"
)
_LIST_TYPES = ("bullet", "dash", "hyphen", "enum", "item", "column")
_BULLET = re.compile(r"(?:[•·*+o‣◦○□▪—–-]|[(\[]?(?:\d{1,3}|[a-z])[.)\]])$")
_ITEM = re.compile(r"(?:•\s*|\d{1,2}\.\s+)(?=\S)")
_STRINGS = {
    "C`": "",
    "C'": "",
    'L"': "“",
    'R"': "”",
    "lq": "“",
    "rq": "”",
    "Aq": "'",
    "--": "—",
    "PI": "π",
    "R": "®",
    "Tm": "™",
}
