"""Feedback as training data: what users marked, among what the engine would have ranked.

Of each question, the marked sentences come with their labels.  Where one is right, the list is
filled with the best that retrieval finds, as wrong: nobody has judged them, so what says nearly
the same as a right one is left out.  Without a right one nothing is added, since the right one
may be among it.
"""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from rejoinder.engine.duplicates import is_near
from rejoinder.engine.order import group_by_document
from rejoinder.errors import InputError
from rejoinder.index.feedback import StoredMark, get_marks
from rejoinder.index.index import Index
from rejoinder.types import Candidate, Document, Example

LENGTH = 8
"""Of a filled list: the training of a selector reads all of so many."""


def read_feedback(folder: Path) -> list[Example]:
    """Return one example per marked question of an index, in the order of marking.

    Raises:
        InputError: no answer is marked right, so that there is nothing to learn from.
        StoreError: there is no index, or it cannot be read.
    """
    with Index(folder) as index:
        examples = list_examples(index)
    if not any(any(example.labels) for example in examples):
        raise InputError(f"{folder}: no answer is marked right; see 'rejoinder feedback --help'")
    return examples


def list_examples(index: Index) -> list[Example]:
    """Return one example per marked question, with whole documents and without the index."""
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
    found = [index.get_candidate(stored.document, stored.position) for stored in marks]
    judged = [candidate for candidate in found if candidate]
    right = [sentence for sentence, says_so in is_right.items() if says_so]
    if right:
        others = [item.candidate for item in index.search(question, LENGTH + 2 * len(marks))]
        unjudged = [item for item in others if item.text not in is_right]
        kept = [item for item in unjudged if not is_near(item.text, right)]
        judged += kept[: max(0, LENGTH - len(judged))]
    candidates = tuple(group_by_document(judged))
    labels = tuple(is_right.get(candidate.text, False) for candidate in candidates)
    return Example(id_, question, candidates, labels)


def _detach(example: Example, documents: dict[str, Document]) -> Example:
    """Return the example with documents in memory, each of them once."""

    def copy(candidate: Candidate) -> Candidate:
        document = candidate.document
        assert document is not None
        if document.id not in documents:
            documents[document.id] = replace(document, sentences=document.sentences[:])
        return replace(candidate, document=documents[document.id], tokens=None)

    return replace(example, candidates=tuple(map(copy, example.candidates)))
