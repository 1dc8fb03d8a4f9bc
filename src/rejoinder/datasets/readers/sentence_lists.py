"""Reads JSON records that hold a question and a list of sentences: SelQA, QED, training pool."""

from collections import Counter
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

from rejoinder.datasets.files import JsonObject, read_json_lines, read_json_list
from rejoinder.datasets.readers.judged import Judged, to_ordered_example, to_unordered_example
from rejoinder.types import Example

_NOT_FOUND = [-1, -1]


def read_selqa(path: Path) -> Iterator[Example]:
    """Yield the questions of SelQA (Jurczyk et al. 2016) with the sentences of a section.

    The JSON holds original sections with their article; the TSV (`pairs.read_pairs`) is
    tokenised, names no article and lacks a few of the sentences.
    """
    for number, row in enumerate(read_json_list(path)):
        texts = row.get_list("candidates", str)
        answers = row.get_list("answers", int)
        for answer in answers:
            if not 0 <= answer < len(texts):
                raise row.error(f"answer {answer} is not one of {len(texts)} candidates")
        judged = [Judged(text, place in answers) for place, text in enumerate(texts)]
        title = row.get("article", str)
        yield to_ordered_example(str(number), row.get("question", str), judged, title=title)


def read_qed(*paths: Path) -> Iterator[Example]:
    """Yield the questions of QED (Lamm et al. 2020): paragraphs of Natural Questions.

    Sentences begin at `sentence_starts`; text before the first start belongs to none, and a
    paragraph without starts (such as a table) has no candidates.  A sentence is an answer if
    an answer span, [start, end) in characters, overlaps it.  The span [-1, -1] means that the
    answer was not found in the paragraph.
    """
    for path in paths:
        for row in read_json_lines(path):
            text = row.get("paragraph_text", str)
            spans = _read_spans(row, text)
            judged = [
                Judged(
                    text[start:end].strip(),
                    any(first < end and start < last for first, last in spans),
                )
                for start, end in pairwise(_read_boundaries(row, text))
            ]
            yield to_ordered_example(
                row.get_id("example_id"),
                row.get("question_text", str),
                judged,
                title=row.get("title_text", str),
                answer_strings=tuple(dict.fromkeys(text[start:end] for start, end in spans)),
            )


def read_pool(path: Path) -> Iterator[Example]:
    """Yield the questions of our training pool, made from published sets (docs/datasets.md).

    `document` becomes the title of the document.  Sentences that are not in document order
    have no document and no position.  A few ids occur twice; the second one gets " (2)".
    """
    seen: Counter[str] = Counter()
    for row in read_json_lines(path):
        id = row.get("id", str)
        seen[id] += 1
        if seen[id] > 1:
            id = f"{id} ({seen[id]})"
        question = row.get("question", str)
        judged = _read_labelled(row)
        if row.get("in_document_order", bool):
            yield to_ordered_example(id, question, judged, title=row.get("document", str))
        else:
            yield to_unordered_example(id, question, judged)


def _read_boundaries(row: JsonObject, text: str) -> list[int]:
    """Return the starts of the sentences, and the end of the text."""
    boundaries = [*row.get_list("sentence_starts", int), len(text)]
    for start, end in pairwise([-1, *boundaries]):
        if start >= end:
            raise row.error(f"sentence starts must rise up to {len(text)}, found {end}")
    return boundaries


def _read_spans(row: JsonObject, text: str) -> list[list[int]]:
    spans = [span for span in row.get_list("answer_spans", list) if span != _NOT_FOUND]
    for span in spans:
        match span:
            case [int(start), int(end)] if 0 <= start <= end <= len(text):
                continue
        raise row.error(f"answer span {span} does not fit a text of {len(text)} characters")
    return spans


def _read_labelled(row: JsonObject) -> list[Judged]:
    texts = row.get_list("sentences", str)
    labels = row.get_list("labels", int)
    if len(texts) != len(labels):
        raise row.error(f"{len(texts)} sentences but {len(labels)} labels")
    for place, label in enumerate(labels):
        if label not in (0, 1):
            raise row.error(f"labels[{place}] must be 0 or 1, found {label}")
    return [Judged(text, label == 1) for text, label in zip(texts, labels, strict=True)]
