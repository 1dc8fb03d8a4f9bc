"""Feedback as training data: marked sentences, and retrieved ones as negatives.

The marked sentences of a question come with their labels.  If one is right, the best
retrieved sentences fill the list as negatives; nobody has judged them, so near-duplicates of
a right sentence are left out.  Without a right one no negatives are added, because the right
sentence may be among them.
"""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from rejoinder.datasets.json_rows import read_json_lines
from rejoinder.engine.answers import group_by_document, is_near_duplicate
from rejoinder.errors import InputError
from rejoinder.index.feedback import StoredMark, get_marks
from rejoinder.index.index import Index
from rejoinder.types import Candidate, Document, Example, Mark

LENGTH = 8
"""Candidates per list: the training of a selector reads this many."""


def read_marks(path: Path) -> list[Mark]:
    """Read marks from JSON lines with the fields of `Mark`."""
    return [mark for _, mark in read_json_lines(path, Mark)]


def read_feedback(folder: Path) -> list[Example]:
    """Return one example per marked question of an index, in the order of marking.

    Raises:
        InputError: no answer is marked right, so there is nothing to learn from.
        StoreError: there is no index, or it cannot be read.
    """
    with Index(folder) as index:
        examples = list_examples(index)
    if not any(any(example.labels) for example in examples):
        raise InputError(f"{folder}: no answer is marked right; see 'rejoinder feedback --help'")
    return examples


def list_examples(index: Index) -> list[Example]:
    """Return one example per marked question, with documents in memory."""
    marks: dict[str, list[StoredMark]] = {}
    for stored in get_marks(index.store):
        marks.setdefault(stored.mark.question, []).append(stored)
    documents: dict[str, Document] = {}
    return [
        _detach(_to_example(index, str(number), question, own), documents)
        for number, (question, own) in enumerate(marks.items())
    ]


def _to_example(index: Index, id_: str, question: str, marks: Sequence[StoredMark]) -> Example:
    is_right = {stored.mark.sentence: stored.mark.right for stored in marks}
    marked = [index.get_candidate(stored.document, stored.position) for stored in marks]
    judged = [candidate for candidate in marked if candidate]
    right = [sentence for sentence, label in is_right.items() if label]
    if right:
        others = [item.candidate for item in index.search(question, LENGTH + 2 * len(marks))]
        unjudged = [item for item in others if item.text not in is_right]
        negatives = [item for item in unjudged if not is_near_duplicate(item.text, right)]
        judged += negatives[: max(0, LENGTH - len(judged))]
    candidates = tuple(group_by_document(judged))
    labels = tuple(is_right.get(candidate.text, False) for candidate in candidates)
    return Example(id_, question, candidates, labels)


def _detach(example: Example, documents: dict[str, Document]) -> Example:
    """Load the documents of the example into memory, each once."""

    def copy(candidate: Candidate) -> Candidate:
        document = candidate.document
        assert document is not None
        if document.id not in documents:
            documents[document.id] = replace(document, sentences=document.sentences[:])
        return replace(candidate, document=documents[document.id], tokens=None)

    return replace(example, candidates=tuple(map(copy, example.candidates)))
