"""Whether blocks of HTML pages have the headings above them as their path.

The expected path comes from the page itself, with another parser than the readers': the headings
before the answer's text in document order, each of a higher level than the next.  A heading inside
a box may end with the box.  Terms of definition lists and bold lines of preformatted text may
follow the headings, and leading headings that repeat the title do not count.
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
PART = 40
"""Letters and digits at the ends of an answer, to find it where no block holds it whole."""
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
            (normalize(block.text), tuple(map(normalize, block.path)))
            for block in page.blocks
            if block.kind != "heading"
        ]
        for draw in draws:
            self._drawn += 1
            answer = normalize(draw.text)
            expected = set(outline.find_paths(answer))
            found = {path for text, path in blocks if answer in text}
            for part in (answer[:PART], answer[-PART:]):
                found = found or {path for text, path in blocks if part in text}
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
        terms = tree.xpath("//dt|//pre//b|//pre//strong")
        self._terms = [normalize(element.text_content()) for element in terms]
        self._title = normalize(tree.findtext(".//title") or "")
        self._starts: list[int] = []
        self._paths: list[tuple[Headings, Headings]] = []
        pieces, length = [], 0
        for boxes, headings, text in _walk(tree):
            self._starts.append(length)
            self._paths.append((boxes, headings))
            pieces.append(normalize(text))
            length += len(pieces[-1])
        self._text = "".join(pieces)

    def find_paths(self, answer: str) -> Iterator[Headings]:
        start = self._text.find(answer)
        while start >= 0:
            yield from map(self._drop_title, self._paths[bisect_right(self._starts, start) - 1])
            start = self._text.find(answer, start + 1)

    def accepts(self, path: Headings, expected: set[Headings]) -> bool:
        path = self._drop_title(path)
        while path and path not in expected and self._is_term(path[-1]):
            path = path[:-1]
        return path in expected

    def _is_term(self, heading: str) -> bool:
        return any(term.startswith(heading) for term in self._terms)

    def _drop_title(self, path: Headings) -> Headings:
        while path and path[0] in self._title:
            path = path[1:]
        return path


def _walk(tree: Any) -> Iterator[tuple[Headings, Headings, str]]:
    """Yield the texts of a page in order, with the headings above them.

    The headings come twice: those whose parent element is still open or held nothing else, and all.
    """
    stack: list[tuple[int, str]] = []
    scoped: list[tuple[int, str, Any]] = []
    for event, element in html.etree.iterwalk(tree, events=("start", "end", "comment", "pi")):
        if event == "start":
            if level := LEVELS.get(element.tag):
                heading = normalize(element.text_content())
                stack = [item for item in stack if item[0] < level] + [(level, heading)]
                scoped = [item for item in scoped if item[0] < level]
                scoped.append((level, heading, element.getparent()))
        elif event == "end":
            scoped = [item for item in scoped if item[2] is not element or _is_alone(item)]
        text = element.text if event == "start" else element.tail
        if text and element.tag not in {"script", "style", "title"}:
            yield tuple(item[1] for item in scoped), tuple(item[1] for item in stack), text


def _is_alone(item: tuple[int, str, Any]) -> bool:
    """Whether the parent of a heading holds nothing else."""
    return normalize(item[2].text_content()) == item[1]
