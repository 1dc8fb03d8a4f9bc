"""What a contender gets and gives.

Nothing here or in the worker imports more than it must: the memory and the start of its process are
measured.
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

ANSWERS = 5
RERANKED = 20
"""Sentences that a cross-encoder reads."""
MAX_TOKENS = 512


@dataclass(frozen=True)
class Setting:
    """Where a contender finds things, and how many threads it may use."""

    set: str
    folder: Path
    """Of the set: its sentences, its documents and all indexes of it."""
    threads: int
    weights: Path | None
    """The folder of pretrained models."""
    cache: Path
    """Exported networks and embeddings."""
    manuals: Path | None = None
    """The files that are indexed, if the set is of files."""


class Sentence(NamedTuple):
    """A sentence, and the title of its document."""

    place: int
    title: str
    text: str

    @property
    def titled(self) -> str:
        """The text as a model reads it that knows no titles."""
        return f"{self.title}: {self.text}" if self.title else self.text


Rank = Callable[[str, Sequence[str]], list[int]]
"""Returns the places of sentences, the best first."""
Find = Callable[[str, int], list[Sentence]]
Answer = Callable[[str], list[str]]
"""Returns the best sentences of a corpus, the best first."""
Indexing = Callable[[], float | None]
"""Builds an index of what was read before; returns its seconds if the call takes others."""


class Search(NamedTuple):
    """A corpus that is asked."""

    answer: Answer
    answer_five: Answer | None = None
    """If five answers are another request than one."""


def read_sentences(setting: Setting) -> list[Sentence]:
    """Return all sentences of a corpus that may answer."""
    with (setting.folder / "sentences.jsonl").open(encoding="utf-8") as file:
        return [Sentence(place, *json.loads(line)) for place, line in enumerate(file)]


def take_five(sentences: Sequence[Sentence]) -> list[str]:
    """Return the first five texts that differ."""
    return list(dict.fromkeys(item.text for item in sentences))[:ANSWERS]


def complete(places: Sequence[int], count: int) -> list[int]:
    """Return places, then those that are missing, in their order."""
    return list(dict.fromkeys((*places, *range(count))))


def sort_by(scores: Sequence[float]) -> list[int]:
    """Return the places of scores, the highest first; equal ones keep their order."""
    return sorted(range(len(scores)), key=lambda place: -scores[place])
