"""Reads Markdown: CommonMark with GitHub's tables, front matter and admonitions.

markdown-it-py parses it: it follows CommonMark exactly, knows the line of every block, bounds
nesting, and is installed already, because rich needs it.
"""

import html
import re
from collections.abc import Iterator
from functools import cache
from typing import IO

from markdown_it import MarkdownIt
from markdown_it.rules_block import StateBlock, blockquote
from markdown_it.token import Token

from rejoinder.documents.blocks import Block, ExtractedDocument, Kind
from rejoinder.documents.encoding import decode
from rejoinder.documents.formats.markup.builder import BlockBuilder, make_document
from rejoinder.documents.notation import subscript, superscript

MAX_NESTING = 20
MAX_INLINE = 20_000
"""Characters of a block whose marks are parsed together; hostile marks need quadratic time."""
MAX_QUOTES = 8
"""Calls of the rule for quotes per line of a file; documents need up to 4."""
MAX_UNCLOSED = 100
"""Brackets without an end; each takes the time of twenty, and text with more is not Markdown."""


def read(file: IO[bytes]) -> Iterator[ExtractedDocument]:
    """Yield the document of a Markdown file."""
    title, text = split_front_matter(decode(file.read()))
    yield make_document(read_markdown(text, BlockBuilder(slugs=True)), title)


def split_front_matter(text: str) -> tuple[str, str]:
    """Return the title that the front matter gives, and the text with its lines left empty."""
    match = _FRONT_MATTER.match(text)
    end = text.find(f"\n{match[1]}", match.end()) if match else -1
    if not match or end < 0 or end > MAX_FRONT_MATTER:
        return "", text
    found = _TITLE.search(text, 0, end)
    title = found[1].strip().strip("\"'") if found else ""
    end += 1 + len(match[1])
    return title, "\n" * text.count("\n", 0, end) + text[end:]


MAX_FRONT_MATTER = 100_000
_FRONT_MATTER = re.compile(r"\ufeff?(---|\+\+\+)[ \t]*\r?\n(?=\s*(?:[\w-]+[ \t]*[:=]|#))")
_TITLE = re.compile(r"^title[ \t]*[:=]([^\r\n]*)", re.MULTILINE | re.IGNORECASE)


def read_markdown(text: str, builder: BlockBuilder) -> Iterator[Block]:
    """Yield the blocks of Markdown text without front matter."""
    env: dict[str, object] = {}  # link targets
    tokens = _make_parser().parse(_open_admonitions(text), env)
    yield from _Walker(builder, env).walk(tokens)


@cache
def _make_parser() -> MarkdownIt:
    parser = MarkdownIt("commonmark", {"maxNesting": MAX_NESTING})
    parser.enable(["table", "strikethrough"])
    parser.block.ruler.at("blockquote", _read_quote, {"alt": list(_QUOTE_ENDS)})
    # The text of a block is parsed when the block is yielded, which saves memory.
    return parser.disable(["inline", "text_join"])


def _read_quote(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """Apply the rule for quotes, a limited number of times: empty ones need quadratic time."""
    left = state.env.get("quotes", MAX_QUOTES * state.lineMax + 1000)
    state.env["quotes"] = left - 1
    return left > 0 and blockquote(state, start, end, silent)


_QUOTE_ENDS = ("paragraph", "reference", "blockquote", "list")
"""Rules whose blocks a quote ends; as in markdown-it."""


class _Walker:
    """Walks over the tokens of a document."""

    def __init__(self, builder: BlockBuilder, env: dict[str, object]) -> None:
        self._builder = builder
        self._env = env
        self._kind: Kind = "paragraph"  # of the next paragraph
        self._element = ""  # the innermost one that holds text
        self._line: int | None = None
        self._header: list[str] = []
        self._cells: list[str] = []

    def walk(self, tokens: list[Token]) -> Iterator[Block]:
        for token in tokens:
            if token.map:
                self._line = token.map[0] + 1
            if token.type == "inline":
                yield from self._read_text(token.content)
            elif token.type in {"fence", "code_block"}:
                yield from self._builder.block("code", token.content, self._line)
            elif token.type == "html_block":
                yield from _read_html(token.content, self._builder, self._line)
            elif token.type == "tr_close" and self._element == "td":
                yield from self._builder.row(self._header, self._cells, self._line)
            else:
                self._enter(token)

    def _enter(self, token: Token) -> None:
        if token.type in {"list_item_open", "list_item_close"}:
            self._kind = "item" if token.nesting > 0 else "paragraph"
        elif token.type == "tr_open":
            self._cells = []
        elif token.type == "thead_close":
            self._header = self._cells
        elif token.nesting > 0:
            self._element = token.tag

    def _read_text(self, content: str) -> Iterator[Block]:
        if self._element in {"td", "th"}:
            self._cells.append(self._strip_marks(content))
        elif self._element in _HEADINGS:
            anchor = _HEADING_ID.search(content)
            text = self._strip_marks(content[: anchor.start()] if anchor else content)
            level = int(self._element[1])
            yield from self._builder.heading(level, text, self._line, anchor[1] if anchor else "")
        else:
            kind, self._kind = self._kind, "paragraph"
            if kind != "item" or not _CONTENTS_ENTRY.match(content):
                yield from self._read_paragraph(kind, content)

    def _read_paragraph(self, kind: Kind, content: str) -> Iterator[Block]:
        content = _BLOCK_MARK.sub("", content, count=1)
        if alert := _ALERT.match(content):
            content = f"{alert[1].capitalize()}: {content[alert.end() :]}"
        if _DEFINITION.match(content):
            term, *bodies = re.split(r"\n:[ \t]+", content)
            yield from self._builder.begin_definition(self._strip_marks(term), self._line)
            for body in bodies:
                yield from self._builder.block("paragraph", self._strip_marks(body), self._line)
            yield from self._builder.end_definition()
        else:
            yield from self._builder.block(kind, self._strip_marks(content), self._line)

    def _strip_marks(self, content: str) -> str:
        """Return the text that a reader sees: without emphasis, link targets, images and tags."""
        tokens: list[Token] = []
        parser = _make_parser()
        for start in range(0, len(content), MAX_INLINE):
            part = content[start : start + MAX_INLINE]
            if part.count("[") > part.count("]") + MAX_UNCLOSED:
                tokens.append(Token("text", "", 0, content=part))
            else:
                parser.inline.parse(part, parser, self._env, tokens)
        parts: list[str] = []
        raised: tuple[str, int] = ("", 0)  # the script tag that is open, and its first part
        for token in tokens:
            if token.type in {"text", "text_special", "code_inline"}:
                is_code = token.type == "code_inline"
                parts.append(token.content if is_code else _FOOTNOTE.sub("", token.content))
            elif token.type in {"softbreak", "hardbreak"}:
                parts.append("\n")
            elif token.type == "html_inline":
                tag = token.content.lower()
                if tag in {"<sup>", "<sub>"}:
                    raised = tag, len(parts)
                elif raised[0] and tag == f"</{raised[0][1:]}":
                    inside = "".join(parts[raised[1] :])
                    convert = superscript if raised[0] == "<sup>" else subscript
                    parts[raised[1] :] = [convert(inside) if inside.strip() else ""]
                    raised = "", 0
                elif tag.startswith("<br"):
                    parts.append(" ")
        return "".join(parts)


_HEADING_ID = re.compile(r"[ \t]*\{#([\w.:-]{1,200})[^{}]*\}[ \t]*$")
_BLOCK_MARK = re.compile(r"\A(?:\[[ xX]\][ \t]+|\[\^[^\]\s]{1,80}\]:[ \t]*)")
_CONTENTS_ENTRY = re.compile(r"\[[^\[\]]*\]\(#[^()\s]*\)\s*$")  # links inside the document
_ALERT = re.compile(r"\[!(NOTE|TIP|IMPORTANT|WARNING|CAUTION)\][ \t]*\n?", re.IGNORECASE)
_DEFINITION = re.compile(r"[^\n]+\n:[ \t]+\S")
_FOOTNOTE = re.compile(r"\[\^[^\]\s]{1,80}\]")


def _read_html(content: str, builder: BlockBuilder, line: int | None) -> Iterator[Block]:
    """Yield the visible text of an HTML block, cut where block elements begin and end."""
    start, opened = 0, ""
    content = _CELL_END.sub("; ", _HIDDEN.sub("", content))
    for tag in (*_BLOCK_TAG.finditer(content), None):
        text = html.unescape(_TAG.sub("", content[start : tag.start() if tag else None]))
        if opened in _HEADINGS:
            yield from builder.heading(int(opened[1]), text, line)
        elif opened == "tr":
            yield from builder.block("row", text.strip("; \r\n\t"), line)
        else:
            yield from builder.block(_HTML_KINDS.get(opened, "paragraph"), text, line)
        if tag:
            start, opened = tag.end(), tag[1].lower()


_HEADINGS = {f"h{level}" for level in range(1, 7)}
_HTML_KINDS: dict[str, Kind] = {"li": "item", "pre": "code", "caption": "caption"}
_TAG = re.compile(r"</?[a-zA-Z][^<>]*>")
_CELL_END = re.compile(r"</t[dh]\s*>", re.IGNORECASE)
_BLOCK_TAG = re.compile(
    r"<(/?(?:h[1-6]|p|div|li|ul|ol|tr|table|thead|tbody|caption|pre|details|summary|dl|dt|dd"
    r"|blockquote|section|center|hr|figure|figcaption))\b[^<>]*>",
    re.IGNORECASE,
)
# The end of the text ends what is not closed, so that every match succeeds: linear time.
_HIDDEN = re.compile(
    r"<!--.*?(?:-->|\Z)|<(script|style|svg)\b.*?(?:</\1\s*>|\Z)", re.IGNORECASE | re.DOTALL
)


def _open_admonitions(text: str) -> str:
    """Return text in which the bodies of MkDocs' and Docusaurus' admonitions are paragraphs.

    The number of lines stays the same.
    """
    if not _ADMONITION.search(text):
        return text
    lines = text.splitlines()
    fence, indent = "", 0  # the fence that is open; the indentation of the body that is open
    for number, line in enumerate(lines):
        start = line.lstrip()
        depth = len(line) - len(start)
        if indent and start and depth < indent:
            indent = 0
        lines[number] = line[indent:]
        if fence:
            fence = "" if start.startswith(fence) else fence
        elif start.startswith(("```", "~~~")):
            fence = start[:3]
        elif match := _ADMONITION.match(line[indent:]):
            lines[number] = f"**{match[2]}:**" if match[2] else ""
            indent += 4 if match[1] else 0
    return "\n".join(lines)


_ADMONITION = re.compile(
    r"^(?:(!!!|\?\?\?\+?|===)(?=[ \t])|:::+)[\w \t-]*(?:[\"\[]([^\"\[\]\n]*)[\"\]][ \t]*)?$",
    re.MULTILINE,
)
