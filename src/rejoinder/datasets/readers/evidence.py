"""Reads yes/no questions and claims with their evidence: BoolQ, FEVER, FoolMeTwice, WiCE.

Evidence is an answer where it supports a claim.  What refutes a claim is a candidate that does
not answer it.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import msgspec

from rejoinder.datasets.json_rows import Id, read_json_lines
from rejoinder.datasets.readers.judged import (
    Judged,
    shuffle,
    to_ordered_example,
    to_unordered_example,
)
from rejoinder.types import Candidate, Document, Example

SEED = 0
_NO_HEADING = "Summary"
"""How FoolMeTwice calls the text above the first heading of a page."""
_TITLE = "(meta data) TITLE: "
_Label = Literal["SUPPORTS", "REFUTES"]


class _BoolQ(msgspec.Struct):
    question: str
    title: str
    passage: str


class _Fever(msgspec.Struct):
    claim: str
    label: _Label
    evidence: tuple[str, ...]


class _Evidence(msgspec.Struct):
    text: str


class _Retrieved(_Evidence):
    section_header: str

    def list_headings(self) -> tuple[str, ...]:
        headings = self.section_header.split(" | ")
        return tuple(name for name in headings if name not in ("", _NO_HEADING))


class _Fm2(msgspec.Struct):
    id: Id
    text: str
    label: _Label
    wikipedia_page: str
    gold_evidence: tuple[_Evidence, ...]
    retrieved_evidence: tuple[_Retrieved, ...]


class _Meta(msgspec.Struct):
    id: Id


class _Wice(msgspec.Struct):
    meta: _Meta
    claim: str
    evidence: tuple[str, ...]
    supporting_sentences: tuple[tuple[int, ...], ...]

    def __post_init__(self) -> None:
        for place in self.list_right():
            if not 0 <= place < len(self.evidence):
                known = len(self.evidence)
                raise ValueError(f"supporting sentence {place} is not one of {known}")

    def list_right(self) -> set[int]:
        """Return the places of the sentences that are in any supporting set."""
        return {place for chosen in self.supporting_sentences for place in chosen}


def read_boolq(path: Path) -> Iterator[Example]:
    """Yield the questions of BoolQ (Clark et al. 2019), each with the passage that decides it.

    The passage is the only candidate: nothing says which of its sentences decides.  Whether the
    answer is yes or no is not read.
    """
    for number, (_, row) in enumerate(read_json_lines(path, _BoolQ)):
        judged = [Judged(row.passage, is_answer=True)]
        yield to_ordered_example(str(number), row.question, judged, title=row.title)


def read_fever(path: Path) -> Iterator[Example]:
    """Yield claims of FEVER (Thorne et al. 2018) with their evidence, without its pages."""
    for number, (_, row) in enumerate(read_json_lines(path, _Fever)):
        judged = [Judged(text, row.label == "SUPPORTS") for text in row.evidence]
        yield to_unordered_example(str(number), row.claim, judged)


def read_fm2(path: Path) -> Iterator[Example]:
    """Yield the claims of FoolMeTwice (Eisenschlos et al. 2021) with the sentences of a search.

    The evidence often comes last, so the sentences are shuffled.
    """
    for number, (_, row) in enumerate(read_json_lines(path, _Fm2)):
        id, supports = str(row.id), row.label == "SUPPORTS"
        evidence = {item.text for item in row.gold_evidence}
        document = Document(id, row.wikipedia_page)
        found = shuffle(list(row.retrieved_evidence), seed=SEED, index=number)
        candidates = tuple(
            Candidate(f"{id}-{place}", item.text, document, headings=item.list_headings())
            for place, item in enumerate(found)
        )
        labels = tuple(supports and item.text in evidence for item in found)
        yield Example(id, row.text, candidates, labels)


def read_wice(path: Path) -> Iterator[Example]:
    """Yield the claims of WiCE (Kamoi et al. 2023) with the sentences of the page they cite.

    Each sentence of a set that supports the claim, or a part of it, is an answer.
    """
    for _, row in read_json_lines(path, _Wice):
        texts, right = row.evidence, row.list_right()
        judged = [Judged(text, place in right) for place, text in enumerate(texts)]
        title = texts[0].removeprefix(_TITLE) if texts and texts[0].startswith(_TITLE) else ""
        yield to_ordered_example(str(row.meta.id), row.claim, judged, title=title)
