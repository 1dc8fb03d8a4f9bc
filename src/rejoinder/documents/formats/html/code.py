"""The text of code: lines without numbers and without common indentation."""

from collections.abc import Iterator
from typing import Any

from lxml import etree

from rejoinder.documents.blocks import sanitize
from rejoinder.documents.formats.html.navigation import part_of
from rejoinder.documents.notation import strip_code, subscript, superscript

_TEXT = etree.XPath("string()", smart_strings=False)
_PLAIN = etree.XPath(
    "not(.//*[self::br or self::sup or self::sub or self::div or self::p or self::li or self::tr"
    " or self::a[@class] or contains(@class, 'line') or @hidden or @aria-hidden])"
)
HOLDS_BLOCKS = etree.XPath(
    "boolean(.//*[self::p or self::pre or self::table or self::ul or self::ol or self::dl"
    " or self::h1 or self::h2 or self::h3 or self::h4])"
)
"""An element that is marked as code but holds other text, often one that was never closed."""
_SCRIPTS = {"sup": superscript, "sub": subscript}
_LINES = frozenset({"div", "p", "li", "tr"})


def read_code(element: Any) -> str:
    """Return the lines of code, without line numbers and without common indentation."""
    text = _TEXT(element) if _PLAIN(element) else "".join(_read_lines(element))
    return strip_code(sanitize(text).replace("\r\n", "\n"))


def _read_lines(element: Any) -> Iterator[str]:
    walk = etree.iterwalk(element, events=("start", "end"))
    at_start, skipped = True, False
    for event, child in walk:
        text = ""
        if event == "start":
            part = part_of(child.tag, child.items())
            skipped = part in {"hidden", "navigation"} and child is not element
            if not skipped and child.tag in _SCRIPTS:
                skipped, text = True, _SCRIPTS[child.tag](_TEXT(child))
            if skipped:
                walk.skip_subtree()
            else:
                text = child.text or ""
        else:
            if not skipped and _is_line(child) and not at_start and child is not element:
                yield "\n"
                at_start = True
            skipped = False
            text = (child.tail or "") if child is not element else ""
            if at_start and _is_line(child):
                text = text.lstrip("\r\n")
        if text:
            yield text
            at_start = text.endswith("\n")


def _is_line(element: Any) -> bool:
    return element.tag in _LINES or element.tag == "br" or element.get("class") == "line"
