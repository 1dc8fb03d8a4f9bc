"""Questions with what makes a sentence right, the questions about the manuals, and typos."""

import json
import random
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from benchmarks.function_words import FUNCTION_WORDS
from benchmarks.manuals.pages import normalize
from rejoinder.documents.blocks import fold

MANUALS_DEV = Path(__file__).with_name("manuals_dev.jsonl")
"""Questions over the manuals, written before the manuals were opened, and regular expressions of
their answers; null where the manuals do not answer."""
KEYBOARD = ("qwertyuiop", "asdfghjkl", "zxcvbnm")


@dataclass(frozen=True, slots=True)
class Question:
    """A question; without golds and pattern, its corpus does not answer it."""

    id: str
    text: str
    group: str
    """Results are averaged over groups."""
    golds: frozenset[str] = frozenset()
    """Right sentences, normalized."""
    pattern: re.Pattern[str] | None = None
    """Is found in every right sentence."""

    @property
    def is_answerable(self) -> bool:
        """Whether there is a right sentence."""
        return bool(self.golds or self.pattern)

    def accepts(self, sentence: str) -> bool:
        """Whether a sentence is right."""
        if self.pattern:
            return bool(self.pattern.search(fold(sentence)))
        return normalize(sentence) in self.golds

    def accepts_passage(self, passage: str) -> bool:
        """Whether a passage contains a right sentence."""
        if self.pattern:
            return bool(self.pattern.search(fold(passage)))
        text = normalize(passage)
        return any(gold in text for gold in self.golds)


def read_manual_questions(path: Path = MANUALS_DEV) -> list[Question]:
    """Return the questions about the manuals."""
    rows = map(json.loads, path.read_text(encoding="utf-8").splitlines())
    return [
        Question(
            row["id"],
            row["question"],
            "manuals",
            pattern=re.compile(row["pattern"]) if row["pattern"] else None,
        )
        for row in rows
    ]


def sample(questions: Sequence[Question], count: int | None) -> list[Question]:
    """Return so many questions of each group, evenly spread."""
    groups: dict[str, list[Question]] = {}
    for question in questions:
        groups.setdefault(question.group, []).append(question)
    chosen = []
    for group in groups.values():
        size = min(count or len(group), len(group))
        chosen += [group[place * len(group) // size] for place in range(size)]
    return chosen


def add_typo(question: Question, seed: int) -> Question:
    """Return the question with one typo in one content word, the same at each call."""
    rng = random.Random(f"{seed} {question.id}")
    words = list(re.finditer(r"[A-Za-z]{2,}", question.text))
    content = [word for word in words if word[0].lower() not in FUNCTION_WORDS]
    long = [word for word in content if len(word[0]) > 3]
    if not words:
        return question
    word = rng.choice(long or content or words)
    text = question.text[: word.start()] + misspell(word[0], rng) + question.text[word.end() :]
    return replace(question, text=text)


def misspell(word: str, rng: random.Random) -> str:
    """Swap two letters, drop one, double one, or press a neighbouring key.

    The first letter stays, as in most typos.
    """
    kind = rng.choice(["swap", "drop", "double", "neighbour"])
    place = rng.randrange(1, len(word))
    before, letter, after = word[:place], word[place], word[place + 1 :]
    if kind == "swap" and after and after[0] != letter:
        return f"{before}{after[0]}{letter}{after[1:]}"
    if kind == "drop":
        return before + after
    keys = find_neighbours(letter)
    if kind == "neighbour" and keys:
        return before + rng.choice(keys) + after
    return before + 2 * letter + after


def find_neighbours(letter: str) -> str:
    """Return the keys beside a letter.

    >>> find_neighbours("S")
    'ad'
    """
    for row in KEYBOARD:
        if (place := row.find(letter.lower())) >= 0:
            return row[max(0, place - 1) : place] + row[place + 1 : place + 2]
    return ""
