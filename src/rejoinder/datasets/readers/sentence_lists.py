"""Reads JSON records that hold a question and a list of sentences: SelQA, QED, training pool."""

from collections import Counter
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Literal

import msgspec

from rejoinder.datasets.json_rows import Id, read_json, read_json_lines
from rejoinder.datasets.readers.judged import Judged, to_ordered_example, to_unordered_example
from rejoinder.types import Example

_NOT_FOUND = (-1, -1)


class _Section(msgspec.Struct):
    """A row of SelQA."""

    article: str
    question: str
    candidates: tuple[str, ...]
    answers: tuple[int, ...]

    def __post_init__(self) -> None:
        for answer in self.answers:
            if not 0 <= answer < len(self.candidates):
                raise ValueError(f"answer {answer} is not one of {len(self.candidates)} candidates")


class _Paragraph(msgspec.Struct):
    """A row of QED."""

    example_id: Id
    title_text: str
    question_text: str
    paragraph_text: str
    sentence_starts: tuple[int, ...]
    answer_spans: tuple[tuple[int, int], ...]

    def __post_init__(self) -> None:
        length = len(self.paragraph_text)
        for start, end in pairwise([-1, *self.sentence_starts, length]):
            if start >= end:
                raise ValueError(f"sentence starts must rise up to {length}, found {end}")
        for start, end in self.list_spans():
            if not 0 <= start <= end <= length:
                span = f"answer span [{start}, {end}]"
                raise ValueError(f"{span} does not fit a text of {length} characters")

    def list_spans(self) -> list[tuple[int, int]]:
        return [span for span in self.answer_spans if span != _NOT_FOUND]


class _Labelled(msgspec.Struct):
    """A row of our training pool."""

    id: str
    question: str
    sentences: tuple[str, ...]
    labels: tuple[Literal[0, 1], ...]
    in_document_order: bool
    document: str | None = None

    def __post_init__(self) -> None:
        if len(self.sentences) != len(self.labels):
            raise ValueError(f"{len(self.sentences)} sentences but {len(self.labels)} labels")
        if self.in_document_order and self.document is None:
            raise ValueError("field 'document' is missing")


def read_selqa(path: Path) -> Iterator[Example]:
    """Yield the questions of SelQA (Jurczyk et al. 2016) with the sentences of a section.

    The JSON holds original sections with their article; the TSV (`pairs.read_pairs`) is
    tokenised, names no article and lacks a few of the sentences.
    """
    for number, row in enumerate(read_json(path, list[_Section])):
        judged = [Judged(text, place in row.answers) for place, text in enumerate(row.candidates)]
        yield to_ordered_example(str(number), row.question, judged, title=row.article)


def read_qed(*paths: Path) -> Iterator[Example]:
    """Yield the questions of QED (Lamm et al. 2020): paragraphs of Natural Questions.

    Sentences begin at `sentence_starts`; text before the first start belongs to none, and a
    paragraph without starts (such as a table) has no candidates.  A sentence is an answer if
    an answer span, [start, end) in characters, overlaps it.  The span [-1, -1] means that the
    answer was not found in the paragraph.
    """
    for path in paths:
        for _, row in read_json_lines(path, _Paragraph):
            text = row.paragraph_text
            spans = row.list_spans()
            judged = [
                Judged(
                    text[start:end].strip(),
                    any(first < end and start < last for first, last in spans),
                )
                for start, end in pairwise([*row.sentence_starts, len(text)])
            ]
            yield to_ordered_example(
                str(row.example_id),
                row.question_text,
                judged,
                title=row.title_text,
                answer_strings=tuple(dict.fromkeys(text[start:end] for start, end in spans)),
            )


def read_pool(path: Path) -> Iterator[Example]:
    """Yield the questions of our training pool, made from published sets (docs/datasets.md).

    `document` becomes the title of the document.  Sentences that are not in document order
    have no document and no position.  A few ids occur twice; the second one gets " (2)".
    """
    seen: Counter[str] = Counter()
    for _, row in read_json_lines(path, _Labelled):
        id = row.id
        seen[id] += 1
        if seen[id] > 1:
            id = f"{id} ({seen[id]})"
        pairs = zip(row.sentences, row.labels, strict=True)
        judged = [Judged(text, label == 1) for text, label in pairs]
        if row.in_document_order:
            yield to_ordered_example(id, row.question, judged, title=row.document or "")
        else:
            yield to_unordered_example(id, row.question, judged)
