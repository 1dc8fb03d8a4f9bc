"""How many of the recorded answers a reader keeps whole, and offers as answers.

Texts are compared by their letters and digits.  An answer is kept if one block of at most 1,500
characters contains it.  It is offered if a sentence that may answer contains it, or is a part of it
with at least 15 letters and digits or half of the answer.
"""

import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.manuals.pages import (
    MAX_BLOCK,
    Page,
    ReadBlock,
    find_format,
    normalize,
    normalize_row,
)
from rejoinder.documents.blocks import fold

MIN_PART = 15


class Question(NamedTuple):
    """A question with an answer, and where the answer was found."""

    id: str
    package: str
    pattern: re.Pattern[str]
    answers: tuple[tuple[str, str], ...]
    """File below the folder of all manuals, and text."""


def read_questions(path: Path) -> list[Question]:
    """Return the questions of a JSON-lines file that have an answer."""
    rows = map(json.loads, path.read_text(encoding="utf-8").splitlines())
    return [
        Question(
            row["id"],
            row["package"],
            re.compile(row["pattern"]),
            tuple((f"{row['package']}/{item['file']}", item["text"]) for item in row["answers"]),
        )
        for row in rows
        if row["answers"]
    ]


class AnswerRates:
    """Counts the recorded answers in the pages of one reader."""

    def __init__(self, questions: list[Question]) -> None:
        self._questions = questions
        self._files = {file for question in questions for file, _ in question.answers}
        self._blocks: dict[str, list[ReadBlock]] = defaultdict(list)
        self._lengths: dict[str, list[int]] = defaultdict(list)
        self._misses: list[str] = []

    def add(self, page: Page) -> None:
        """Measure one page."""
        lengths = [len(block.text) for block in page.blocks if block.kind != "heading"]
        for group in ("all", page.format, page.package):
            self._lengths[group].extend(lengths)
        if page.file in self._files:
            self._blocks[page.file].extend(page.blocks)

    def report(self) -> dict[str, Any]:
        """Return shares in per cent, of all answers, of each format and of each package."""
        counts: dict[str, Counter[str]] = defaultdict(Counter)
        self._misses = []
        files = {file: _Searchable(self._blocks[file]) for file in self._files}
        for question in self._questions:
            groups = ("all", question.package, find_format(question.answers[0][0]))
            for group, verdict in product(groups, self._judge(question, files)):
                counts[group].update(verdict)
        shares = {group: _to_shares(count) for group, count in counts.items()}
        return {
            group: {**own, "blocks": _summarize(self._lengths[group])}
            for group, own in shares.items()
            if group in self._lengths
        }

    def list_notes(self) -> list[str]:
        """Return the answers that are not kept or not offered, with the block nearest to each."""
        return self._misses

    def _judge(
        self, question: Question, files: dict[str, "_Searchable"]
    ) -> Iterator[dict[str, int]]:
        for file, text in question.answers:
            verdict = files[file].judge(text)
            yield verdict
            if not (verdict["in_block"] and verdict["offered"]):
                reason = "not in a block" if not verdict["in_block"] else "not offered"
                self._misses.append(self._describe(question.id, file, text, reason))
        searched = [files[file] for file in {file for file, _ in question.answers}]
        yield {
            "questions": 1,
            "pattern_offered": any(_search(question.pattern, item.offered) for item in searched),
            "pattern_in_block": any(_search(question.pattern, item.texts) for item in searched),
        }

    def _describe(self, id_: str, file: str, text: str, reason: str) -> str:
        words = set(text.casefold().split())
        nearest = max(
            self._blocks[file],
            key=lambda block: len(words & set(block.text[: 2 * MAX_BLOCK].casefold().split())),
            default=None,
        )
        shown = f"{nearest.kind}: {fold(nearest.text)[:MAX_BLOCK]}" if nearest else "nothing read"
        return f"{id_}\t{reason}\t{file}\n  answer  {text}\n  nearest {shown}\n"


class _Searchable:
    """The blocks of one file, normalized once."""

    def __init__(self, blocks: list[ReadBlock]) -> None:
        offered = [
            (block.kind, sentence.text)
            for block in blocks
            for sentence in block.sentences
            if sentence.is_offered
        ]
        self.texts = [fold(block.text) for block in blocks]
        self.offered = [fold(text) for _, text in offered]
        self._blocks = [
            (len(block.text), form)
            for block in blocks
            for form in _normalize(block.kind, block.text)
        ]
        self._sentences = [form for kind, text in offered for form in _normalize(kind, text)]

    def judge(self, text: str) -> dict[str, int]:
        answer = normalize(text)
        enough = min(MIN_PART, (len(answer) + 1) // 2)
        return {
            "answers": 1,
            "in_block": any(size <= MAX_BLOCK and answer in block for size, block in self._blocks),
            "offered": any(
                answer in sentence or (len(sentence) >= enough and sentence in answer)
                for sentence in self._sentences
            ),
        }


def _search(pattern: re.Pattern[str], texts: list[str]) -> bool:
    return any(map(pattern.search, texts))


def _normalize(kind: str, text: str) -> Iterator[str]:
    """Yield a normalized text, and that of a row without its column headings too."""
    yield normalize(text)
    if kind == "row":
        yield normalize_row(text)


def _to_shares(counts: Counter[str]) -> dict[str, Any]:
    totals = {"in_block": "answers", "offered": "answers"}
    totals |= {"pattern_in_block": "questions", "pattern_offered": "questions"}
    shares = {
        name: round(100 * counts[name] / max(1, counts[total]), 1) for name, total in totals.items()
    }
    return {"answers": counts["answers"], "questions": counts["questions"], **shares}


def _summarize(lengths: list[int]) -> dict[str, int]:
    ordered = sorted(lengths)
    return {
        "blocks": len(ordered),
        "median_characters": ordered[len(ordered) // 2],
        "p90_characters": ordered[9 * len(ordered) // 10],
        "max_characters": ordered[-1],
    }
