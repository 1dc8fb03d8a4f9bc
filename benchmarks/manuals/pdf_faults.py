"""Two faults of text from PDFs: words that lost the space between them, and running heads.

A word lost its space if it is two words of a dictionary, and neither the dictionary nor the other
manuals have it as one word.  A running head is the first or last line of a page, of three
words or more, that shares two neighbouring words with those of a fifth of all pages.
"""

import random
import re
from collections import Counter
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

from pypdfium2 import PdfDocument

from benchmarks.manuals.pages import Page, normalize

DRAWN = 200
MIN_HEAD = 8
"""Letters and digits of a head that is searched for."""
SHORT = frozenset(re.findall("..", "anasatbebydoifinisitnoofonorsotoupwe"))
_WORD = re.compile(r"(?<![\w./@$\\-])[A-Za-z][a-z]{4,}(?![\w/@$\\(=])")
_PART_OF_NAME = re.compile(r"(?<=[_=<>/])[A-Za-z]{5,}|[A-Za-z]{5,}(?=[_=<>/]|\.[a-z]|\(\w)")
_DIGITS = re.compile(r"\d+")


class PdfFaults:
    """Counts the faults in the text of one reader."""

    def __init__(self, words: frozenset[str], known: frozenset[str], heads: frozenset[str]) -> None:
        self._words = words
        self._known = known
        self._heads = re.compile("|".join(map(re.escape, sorted(heads))) or r"\b\B")
        self._counts: Counter[str] = Counter()
        self._joined: Counter[tuple[str, str]] = Counter()
        self._with_head: list[str] = []
        self._offered: list[str] = []

    def add(self, page: Page) -> None:
        """Measure one page."""
        if page.format != "pdf":
            return
        for block in page.blocks:
            self._counts[page.file] += len(block.text.split())
            self._joined.update(
                (page.file, word) for word in _WORD.findall(block.text) if self._is_joined(word)
            )
        for text in page.offered:
            self._offered.append(text)
            if self._heads.search(_mask(text)):
                self._with_head.append(text)

    def _is_joined(self, word: str) -> bool:
        word = word.casefold()
        return word not in self._known and any(
            self._is_word(word[:cut]) and self._is_word(word[cut:])
            for cut in range(2, len(word) - 1)
        )

    def _is_word(self, word: str) -> bool:
        return word in SHORT if len(word) == 2 else word in self._words

    def report(self) -> dict[str, Any]:
        """Return the share of joined words in per cent, and the number of heads in sentences."""
        joined: Counter[str] = Counter()
        for (file, _), count in self._joined.items():
            joined[file] += count
        worst = max((joined[file] / max(1, self._counts[file]) for file in self._counts), default=0)
        return {
            "words": self._counts.total(),
            "joined": joined.total(),
            "joined_percent": round(100 * joined.total() / max(1, self._counts.total()), 3),
            "joined_percent_of_worst_file": round(100 * worst, 3),
            "running_heads_in_sentences": len(self._with_head),
        }

    def list_notes(self) -> list[str]:
        """Return the joined words, the sentences with a head, and drawn sentences."""
        drawn = random.Random(0).sample(self._offered, min(DRAWN, len(self._offered)))
        return [
            *(
                f"joined\t{count}\t{word}\t{file}"
                for (file, word), count in self._joined.most_common()
            ),
            *(f"head\t{text}" for text in self._with_head),
            *(f"drawn\t{text}" for text in drawn),
        ]


def find_vocabulary(manuals: Path) -> frozenset[str]:
    """Return the words that the manuals write as one, from sources where that is certain.

    No space is lost in HTML and text.  In PDFs a name is one word if several files have it, or if
    it is part of a longer name; a space is lost by accident.
    """
    known: set[str] = set()
    in_pdfs: Counter[str] = Counter()
    for path in manuals.rglob("*"):
        if path.suffix in {".html", ".txt"}:
            text = re.sub(r"<[^>]*>", " ", path.read_text(encoding="utf-8", errors="replace"))
            known.update(map(str.casefold, _WORD.findall(text)))
        elif path.suffix == ".pdf":
            pages = [page.get_textpage().get_text_bounded() for page in PdfDocument(path)]
            text = "\n".join(pages)
            in_pdfs.update({word.casefold() for word in _WORD.findall(text)})
            known.update(word.casefold() for word in _PART_OF_NAME.findall(text))
    return frozenset(known.union(word for word, files in in_pdfs.items() if files > 1))


def find_running_heads(manuals: Path) -> frozenset[str]:
    """Return the running heads and feet of all PDFs, with 0 for every number."""
    heads: set[str] = set()
    for path in manuals.rglob("*.pdf"):
        edges = [_find_edges(page.get_textpage()) for page in PdfDocument(path)]
        for lines in zip(*filter(None, edges), strict=True):
            common = Counter(pair for line in lines for pair in set(_pair(line)))
            heads.update(
                _mask(line)
                for line in lines
                if len(line.split()) > 2
                and any(5 * common[pair] >= len(lines) for pair in _pair(line))
            )
    return frozenset(head for head in heads if len(head) >= MIN_HEAD)


def _find_edges(page: Any) -> tuple[str, str] | None:
    """Return the highest and the lowest line of a page."""
    boxes = [page.get_rect(place) for place in range(page.count_rects())]
    if not boxes:
        return None

    def read(y: float) -> str:
        row = sorted(box for box in boxes if box[1] <= y <= box[3])
        return " ".join(page.get_text_bounded(*box) for box in row)

    top, bottom = max(boxes, key=lambda box: box[3]), min(boxes, key=lambda box: box[1])
    return read((top[1] + top[3]) / 2), read((bottom[1] + bottom[3]) / 2)


def _pair(line: str) -> Iterator[tuple[str, str]]:
    words = _DIGITS.sub("0", line).split()
    return pairwise(words)


def _mask(text: str) -> str:
    return normalize(_DIGITS.sub("0", text))
