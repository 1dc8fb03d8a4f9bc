"""Extracts the text of HTML: blocks become paragraphs, with the line that each begins on.

Python's own parser knows the line of every word and needs no dependency.  On hostile input it
is slow rather than wrong, so it runs in the sandbox (sandbox.py) with a time limit.
"""

import re
from html.parser import HTMLParser

from rejoinder.documents.encoding import decode
from rejoinder.documents.parsed import ExtractedText, join_blocks, sanitize

_HEADINGS = {f"h{level}": "#" * level + " " for level in range(1, 7)}
_MARKS = {**_HEADINGS, "li": "- ", "dt": "- ", "dd": "- "}
_SILENT = frozenset(
    {"script", "style", "template", "noscript", "svg", "math", "nav", "iframe", "object"}
    | {"select", "button", "textarea"}
)
_BLOCKS = frozenset(
    {"address", "article", "aside", "blockquote", "body", "caption", "center", "details"}
    | {"dialog", "div", "dl", "fieldset", "figcaption", "figure", "footer", "form", "header"}
    | {"hr", "html", "main", "ol", "p", "pre", "section", "summary", "table", "tbody"}
    | {"tfoot", "thead", "tr", "ul", *_MARKS}
)
_CHARSET = re.compile(rb"""<meta[^>]{0,200}?charset\s*=\s*["']?\s*([\w.:-]{1,40})""", re.IGNORECASE)


def read_html(raw: bytes) -> ExtractedText:
    """Return the text of a page, without scripts, styles and navigation."""
    declared = _CHARSET.search(raw[:2048])
    parser = _Parser()
    parser.feed(decode(raw, declared=declared[1].decode("ascii") if declared else None))
    parser.close()
    return parser.to_extract()


class _Parser(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self._blocks: list[str] = []  # with their marks
        self._lines: list[int] = []
        self._words: list[str] = []
        self._mark = ""
        self._line = 0
        self._silent = ""  # the tag whose content is skipped, and its nesting depth
        self._depth = 0
        self._title: list[str] | None = None
        self._in_row = False

    def parse_marked_section(self, i: int, report: bool = True) -> int:
        """Skip sections that browsers ignore too; `<![title` would end Python's parser."""
        try:
            return super().parse_marked_section(i, report)
        except AssertionError:
            return self.parse_bogus_comment(i, report)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:  # noqa: ARG002
        if self._silent:
            self._depth += tag == self._silent
        elif tag in _SILENT:
            self._silent, self._depth = tag, 1
        elif tag == "title" and self._title is None:
            self._end_block()
            self._title = []
        elif tag in _BLOCKS and not (self._in_row and tag != "tr"):
            self._end_block()
            self._mark = _MARKS.get(tag, "")
            self._in_row = tag == "tr"
        elif tag in {"td", "th"}:
            self._words.append(" | ")
        elif tag == "br":
            self._words.append(" ")

    def handle_endtag(self, tag: str) -> None:
        if self._silent:
            self._depth -= tag == self._silent
            self._silent = self._silent if self._depth else ""
        elif tag == "title":
            self._title, self._words = self._words, []
        elif tag in {"tr", "table"} or (tag in _BLOCKS and not self._in_row):
            self._end_block()
            self._in_row = False

    def handle_data(self, data: str) -> None:
        if self._silent:
            return
        if not self._line and data.strip():
            before = len(data) - len(data.lstrip())
            self._line = self.getpos()[0] + data.count("\n", 0, before)
        self._words.append(data)

    def to_extract(self) -> ExtractedText:
        self._end_block()
        title = " ".join("".join(self._title or []).split())
        return join_blocks(sanitize(title), self._blocks, "line", self._lines)

    def _end_block(self) -> None:
        text = " ".join(sanitize("".join(self._words)).split())
        if self._in_row and (cells := text.strip("| ")):
            text = f"| {cells} |"
        if text.strip("| "):
            self._blocks.append(self._mark + text)
            self._lines.append(self._line)
        self._words, self._mark, self._line = [], "", 0
