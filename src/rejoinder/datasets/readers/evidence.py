"""Reads yes/no questions and claims with their evidence: BoolQ, FEVER, FoolMeTwice, WiCE.

Evidence is an answer where it supports a claim.  What refutes a claim is a candidate that does
not answer it.
"""

from collections.abc import Iterator
from pathlib import Path

from rejoinder.datasets.files import JsonObject, read_json_lines
from rejoinder.datasets.readers.judged import (
    Judged,
    shuffle,
    to_ordered_example,
    to_unordered_example,
)
from rejoinder.types import Candidate, Document, Example

SEED = 0
_LABELS = {"SUPPORTS": True, "REFUTES": False}
_NO_HEADING = "Summary"
"""How FoolMeTwice calls the text above the first heading of a page."""
_TITLE = "(meta data) TITLE: "


def read_boolq(path: Path) -> Iterator[Example]:
    """Yield the questions of BoolQ (Clark et al. 2019), each with the passage that decides it.

    The passage is the only candidate: nothing says which of its sentences decides.  Whether the
    answer is yes or no is not read.
    """
    for number, row in enumerate(read_json_lines(path)):
        judged = [Judged(row.get("passage", str), is_answer=True)]
        title = row.get("title", str)
        yield to_ordered_example(str(number), row.get("question", str), judged, title=title)


def read_fever(path: Path) -> Iterator[Example]:
    """Yield claims of FEVER (Thorne et al. 2018) with their evidence, without its pages."""
    for number, row in enumerate(read_json_lines(path)):
        supports = _read_label(row)
        judged = [Judged(text, supports) for text in row.get_list("evidence", str)]
        yield to_unordered_example(str(number), row.get("claim", str), judged)


def read_fm2(path: Path) -> Iterator[Example]:
    """Yield the claims of FoolMeTwice (Eisenschlos et al. 2021) with the sentences of a search.

    The evidence often comes last, so the sentences are shuffled.
    """
    for number, row in enumerate(read_json_lines(path)):
        id, supports = row.get_id("id"), _read_label(row)
        evidence = {item.get("text", str) for item in row.get_objects("gold_evidence")}
        document = Document(id, row.get("wikipedia_page", str))
        found = shuffle(row.get_objects("retrieved_evidence"), seed=SEED, index=number)
        texts = [item.get("text", str) for item in found]
        candidates = tuple(
            Candidate(f"{id}-{place}", text, document, headings=_read_headings(item))
            for place, (text, item) in enumerate(zip(texts, found, strict=True))
        )
        labels = tuple(supports and text in evidence for text in texts)
        yield Example(id, row.get("text", str), candidates, labels)


def read_wice(path: Path) -> Iterator[Example]:
    """Yield the claims of WiCE (Kamoi et al. 2023) with the sentences of the page they cite.

    Each sentence of a set that supports the claim, or a part of it, is an answer.
    """
    for row in read_json_lines(path):
        texts = row.get_list("evidence", str)
        right = _read_sets(row, len(texts))
        judged = [Judged(text, place in right) for place, text in enumerate(texts)]
        title = texts[0].removeprefix(_TITLE) if texts and texts[0].startswith(_TITLE) else ""
        id = row.get_object("meta").get_id("id")
        yield to_ordered_example(id, row.get("claim", str), judged, title=title)


def _read_label(row: JsonObject) -> bool:
    label = row.get("label", str)
    if label not in _LABELS:
        raise row.error(f"label must be {' or '.join(_LABELS)}, found {label!r}")
    return _LABELS[label]


def _read_sets(row: JsonObject, sentences: int) -> set[int]:
    """Return the places of the sentences that are in any supporting set."""
    right = set()
    for chosen in row.get_list("supporting_sentences", list):
        for place in chosen:
            if type(place) is not int or not 0 <= place < sentences:
                raise row.error(f"supporting sentence {place!r} is not one of {sentences}")
            right.add(place)
    return right


def _read_headings(item: JsonObject) -> tuple[str, ...]:
    headings = item.get("section_header", str).split(" | ")
    return tuple(name for name in headings if name not in ("", _NO_HEADING))
