"""What a reader offers as answers that is none: fragments, headings, questions, navigation."""

import re
from collections import Counter, defaultdict
from itertools import compress
from pathlib import Path

from lxml import html
from pypdfium2 import PdfDocument

from benchmarks.manuals.pages import Page, normalize

MAX_CHARACTERS = 1000
EXAMPLES = 20
FAULTS = ("two_words_or_fewer", "over_1000_characters", "question", "heading", "navigation")
_NAVIGATION = re.compile(
    r"(?:(?i:prev|previous|next|up|home|top|index|contents|table of contents|search|download"
    r"|previous topic|next topic|this page|show source|quick search|navigation)|[|¶«»<>←→·\s-])+"
    r"|[|\s]*Table of Contents[^.]{0,40}|(?:Prev|Previous|Next|Up): .{0,80}(?<!\.)"
    r"|.*[\w)\].:!?]¶.*|.*(?:\. ?){5,}\d*",
    re.DOTALL | re.ASCII,
)
"""Link texts, contents with leaders, and permalinks, which follow a heading without a space."""


class OfferedRates:
    """Counts the sentences of one reader that may answer, and those that should not."""

    def __init__(self, manuals: Path) -> None:
        self._manuals = manuals
        self._counts: dict[str, Counter[str]] = defaultdict(Counter)
        self._seen: dict[str, set[int]] = defaultdict(set)
        self._examples: dict[str, Counter[str]] = defaultdict(Counter)

    def add(self, page: Page) -> None:
        """Measure one page."""
        if page.problem:
            self._examples["unread"][page.problem] += 1
        headings = _find_headings(self._manuals / page.file)
        own = Counter[str]()
        groups = ("all", page.format, page.package)
        for block in page.blocks:
            own["sentences"] += len(block.sentences)
            for sentence in block.sentences:
                if sentence.is_offered:
                    text = sentence.text
                    own["offered"] += 1
                    found = _judge(text, block.kind, headings)
                    own.update(found)
                    for name in found:
                        self._examples[name][text[:300]] += 1
                    hashed = hash(text)
                    for group in groups:
                        self._counts[group]["duplicates"] += hashed in self._seen[group]
                        self._seen[group].add(hashed)
        for group in groups:
            self._counts[group].update(own)
            self._counts[group]["documents"] += not page.problem
            self._counts[group]["unread"] += bool(page.problem)

    def report(self) -> dict[str, dict[str, int]]:
        """Return the counts of all files, of each format and of each package."""
        names = ["documents", "unread", "sentences", "offered", *FAULTS, "duplicates"]
        return {
            group: {name: counts[name] for name in names} for group, counts in self._counts.items()
        }

    def list_notes(self) -> list[str]:
        """Return the most frequent texts of each fault."""
        return [
            f"{name}\t{count}\t{text}"
            for name in ("unread", *FAULTS)
            for text, count in self._examples[name].most_common(EXAMPLES)
        ]


def _judge(text: str, kind: str, headings: frozenset[str]) -> list[str]:
    is_found = (
        len(text.split()) <= 2,
        len(text) > MAX_CHARACTERS,
        text.rstrip().endswith("?"),
        kind == "heading" or normalize(text) in headings,
        _NAVIGATION.fullmatch(text) is not None,
    )
    return list(compress(FAULTS, is_found))


def _find_headings(path: Path) -> frozenset[str]:
    """Return the headings of an HTML page, or the bookmarks of a PDF, from the source itself."""
    found: list[str] = []
    if path.suffix == ".html":
        tree = html.fromstring(path.read_bytes() or b"<p>")
        found = [element.text_content() for element in tree.xpath("//h1|//h2|//h3|//h4|//h5|//h6")]
    elif path.suffix == ".pdf":
        found = [item.get_title() for item in PdfDocument(path).get_toc()]
    return frozenset(map(normalize, found)) - {""}
