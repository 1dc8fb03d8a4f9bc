"""Whether numbers and names keep their super- and subscripts, checked against the sources.

Right is a Unicode character (2³), or a mark with or without parentheses (2^31, x_(n+1)).
"""

import random
import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from lxml import html
from pypdfium2 import PdfDocument
from pypdfium2 import raw as pdfium

from benchmarks.manuals.pages import Page, find_format

DRAWN = 50
MARKS = {"sup": "^", "sub": "_"}


class Raised(NamedTuple):
    """A super- or subscript in a source."""

    file: str
    base: str
    mark: str
    """`^` or `_`."""
    script: str


class SuperscriptRates:
    """Counts the drawn super- and subscripts that a reader's text keeps."""

    def __init__(self, found: list[Raised], seed: int = 0) -> None:
        self._waiting: dict[str, Counter[Raised]] = defaultdict(Counter)
        self._counts: dict[str, Counter[str]] = {"html": Counter(), "pdf": Counter()}
        self._misses: list[str] = []
        for name, counts in self._counts.items():
            own = [item for item in found if find_format(item.file) == name]
            drawn = random.Random(seed).sample(own, min(DRAWN, len(own)))
            counts.update(found=len(own), drawn=len(drawn), right=0)
            for item in drawn:
                self._waiting[item.file][item] += 1

    def add(self, page: Page) -> None:
        """Measure one page."""
        text = "\n".join(block.text for block in page.blocks)
        for item, count in self._waiting.pop(page.file, Counter()).items():
            right = min(count, len(_make_pattern(item).findall(text)))
            self._counts[page.format]["right"] += right
            self._misses += [" ".join(item)] * (count - right)

    def report(self) -> dict[str, Any]:
        """Return how many were found, drawn, and right, by format."""
        return {name: dict(counts) for name, counts in self._counts.items()}

    def list_notes(self) -> list[str]:
        """Return the scripts that are not right."""
        lost = [" ".join(item) for items in self._waiting.values() for item in items.elements()]
        return self._misses + lost


def _make_pattern(item: Raised) -> re.Pattern[str]:
    script, mark = r"\s?".join(map(re.escape, item.script.split())), re.escape(item.mark)
    kind = "<super>" if item.mark == "^" else "<sub>"
    forms = [rf"{mark}\s?\(?\s?{script}"]
    characters = [_find_character(letter, kind) for letter in item.script]
    if all(characters):
        forms.append("".join(re.escape(letter) for letter in characters))
    return re.compile(rf"{re.escape(item.base)}\s?(?:{'|'.join(forms)})(?![A-Za-z0-9])")


def _find_character(letter: str, kind: str) -> str:
    return _CHARACTERS.get((letter, kind), "")


_CHARACTERS = {
    (chr(int(parts[1], 16)), parts[0]): letter
    for letter in map(chr, range(0x80, 0x2100))
    if len(parts := unicodedata.decomposition(letter).split()) == 2
}


def find_in_pages(manuals: Path) -> list[Raised]:
    """Return the super- and subscripts of all HTML pages that follow a letter or digit."""
    return [
        item
        for path in sorted(manuals.rglob("*.html"))
        if re.search(rb"<su[bp][\s>]", raw := path.read_bytes(), re.IGNORECASE)
        for item in _find_in_page(str(path.relative_to(manuals)), raw)
    ]


def _find_in_page(file: str, raw: bytes) -> Iterator[Raised]:
    for element in html.fromstring(raw).iter("sup", "sub"):
        script = " ".join(element.text_content().split())
        before = element.getprevious()
        text = element.getparent().text if before is None else before.tail
        if before is not None and not text:
            text = before.text_content()
        base = _BASE.search(text or "")
        is_note = element.find(".//a") is not None or any(element.iterancestors("a"))
        if base and not is_note and _SCRIPT.fullmatch(script):
            yield Raised(file, base[1], MARKS[element.tag], script)


_BASE = re.compile(r"([A-Za-z0-9]+)\s?$")
_SCRIPT = re.compile(r"(?!(?:st|nd|rd|th)$)[A-Za-z0-9+/ -]*[A-Za-z0-9]")


def find_in_pdfs(manuals: Path) -> list[Raised]:
    """Return the superscripts of all PDFs: smaller letters on a higher line after a number."""
    return [
        item
        for path in sorted(manuals.rglob("*.pdf"))
        for page in PdfDocument(path)
        for item in _find_in_textpage(str(path.relative_to(manuals)), page.get_textpage())
    ]


def _find_in_textpage(file: str, page: Any) -> Iterator[Raised]:
    sizes = [pdfium.FPDFText_GetFontSize(page, at) for at in range(page.count_chars())]
    letters = [chr(pdfium.FPDFText_GetUnicode(page, at)) for at in range(len(sizes))]
    at = 1
    while at < len(sizes):
        end = at
        while (
            end < len(sizes)
            and letters[end].isalnum()
            and 0 < sizes[end] < 0.9 * sizes[at - 1]
            and _get_baseline(page, end) > _get_baseline(page, at - 1) + 0.15 * sizes[at - 1]
        ):
            end += 1
        base = _BASE.search("".join(letters[max(0, at - 20) : at])) if end > at else None
        if base and base[1][-1].isdigit():
            script = "".join(letters[at:end])
            if _SCRIPT.fullmatch(script):
                yield Raised(file, base[1], "^", script)
        at = max(end, at) + 1


def _get_baseline(page: Any, at: int) -> float:
    x, y = pdfium.c_double(), pdfium.c_double()
    pdfium.FPDFText_GetCharOrigin(page, at, x, y)
    return float(y.value)
