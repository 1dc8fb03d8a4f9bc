"""Whether blocks of HTML pages have the headings above them as their path.

The expected path comes from the page itself, with another parser than the readers': the headings
before the answer's text in document order, each of a higher level than the next.  Terms of
definition lists may follow them, and a first heading that repeats the title may be missing.
"""

import random
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from lxml import html

from benchmarks.manuals.answers import Question
from benchmarks.manuals.pages import Page, find_format, normalize

DRAWN = 100
LEVELS = {f"h{level}": level for level in range(1, 7)}

Headings = tuple[str, ...]


class _Draw(NamedTuple):
    id: str
    file: str
    text: str


class HeadingPathRates:
    """Compares the paths of blocks that hold recorded answers with the pages."""

    def __init__(self, questions: list[Question], manuals: Path, seed: int = 0) -> None:
        self._manuals = manuals
        self._waiting: dict[str, list[_Draw]] = defaultdict(list)
        answers = [
            _Draw(question.id, file, text)
            for question in questions
            for file, text in question.answers
            if find_format(file) == "html"
        ]
        for draw in random.Random(seed).sample(answers, min(DRAWN, len(answers))):
            self._waiting[draw.file].append(draw)
        self._right = self._drawn = 0
        self._misses: list[str] = []

    def add(self, page: Page) -> None:
        """Measure one page."""
        draws = self._waiting.pop(page.file, None)
        if draws is None:
            return
        outline = _PageOutline(self._manuals / page.file)
        blocks = [
            (normalize(block.text), tuple(map(normalize, block.path))) for block in page.blocks
        ]
        for draw in draws:
            self._drawn += 1
            answer = normalize(draw.text)
            expected = set(outline.find_paths(answer))
            found = {path for text, path in blocks if answer in text}
            found = found or {path for text, path in blocks if len(text) > 15 and text in answer}
            is_right = bool(found) and all(outline.accepts(path, expected) for path in found)
            self._right += is_right
            if not is_right:
                self._misses.append(
                    f"{draw.id}\t{draw.file}\n  {draw.text[:300]}\n"
                    f"  found    {sorted(found)}\n  expected {sorted(expected)}"
                )

    def report(self) -> dict[str, Any]:
        """Return how many of the drawn answers have the right path."""
        lost = sum(map(len, self._waiting.values()))
        return {"drawn": self._drawn + lost, "right": self._right}

    def list_notes(self) -> list[str]:
        """Return the drawn answers with a wrong path."""
        return [*self._misses, *(f"not read: {file}" for file in self._waiting)]


class _PageOutline:
    """The letters and digits of a page, and the headings above each of them."""

    def __init__(self, path: Path) -> None:
        tree = html.fromstring(path.read_bytes() or b"<p>")
        self._terms = {normalize(element.text_content()) for element in tree.iter("dt")}
        self._title = normalize(tree.findtext(".//title") or "")
        self._starts: list[int] = []
        self._paths: list[Headings] = []
        pieces, length = [], 0
        for headings, text in _walk(tree):
            self._starts.append(length)
            self._paths.append(headings)
            pieces.append(normalize(text))
            length += len(pieces[-1])
        self._text = "".join(pieces)

    def find_paths(self, answer: str) -> Iterator[Headings]:
        start = self._text.find(answer)
        while start >= 0:
            yield self._paths[bisect_right(self._starts, start) - 1]
            start = self._text.find(answer, start + 1)

    def accepts(self, path: Headings, expected: set[Headings]) -> bool:
        while path:
            if path in expected:
                return True
            if any(item[1:] == path and item[0] in self._title for item in expected if item):
                return True
            if path[-1] not in self._terms:
                return False
            path = path[:-1]
        return any(len(item) < 2 and "".join(item) in self._title for item in expected)


def _walk(tree: Any) -> Iterator[tuple[Headings, str]]:
    """Yield the texts of a page in order, with the headings above them."""
    stack: list[tuple[int, str]] = []
    for event, element in html.etree.iterwalk(tree, events=("start", "end", "comment", "pi")):
        if event == "start" and isinstance(element.tag, str):
            if level := LEVELS.get(element.tag):
                while stack and stack[-1][0] >= level:
                    stack.pop()
                stack.append((level, normalize(element.text_content())))
            if element.tag not in {"script", "style", "title"} and element.text:
                yield tuple(text for _, text in stack), element.text
        elif event != "start" and element.tail:
            yield tuple(text for _, text in stack), element.tail
