"""Reads WikiQA (Yang et al. 2015): the TSV, and the tokenised text with its .ref file."""

from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

from rejoinder.datasets.files import parse_label, read_fields, read_lines
from rejoinder.errors import DataError
from rejoinder.types import Candidate, Document, Example

HEADER = "QuestionID\tQuestion\tDocumentID\tDocumentTitle\tSentenceID\tSentence\tLabel"


class _Row(NamedTuple):
    label: bool
    question_id: str
    question: str
    document_id: str
    title: str
    sentence_id: str
    sentence: str


def read_wikiqa(path: Path) -> Iterator[Example]:
    """Yield one example per question of the TSV, in file order.

    Questions without a correct sentence are kept: the evaluation protocol decides whether
    they count.  Quotes are ordinary characters.
    """
    return _to_examples(_read_tsv(path))


def read_wikiqa_text(path: Path, ref: Path) -> Iterator[Example]:
    """Yield one example per question of the tokenised text (question, sentence, label).

    The text has no question ids: they come from the .ref file of the same split, which has
    one line per line of the text (question, 0, sentence, label).  Sentences count from 0 in
    each question there, so a sentence id combines both numbers.
    """
    return _to_examples(_read_text(path, ref))


def _read_tsv(path: Path) -> Iterator[_Row]:
    columns = HEADER.split("\t")
    rows = read_fields(path, len(columns))
    _, header = next(rows)
    for expected, found in zip(columns, header, strict=True):
        if expected != found:
            raise DataError(f"expected column {expected!r}, found {found!r}", path=path, line=1)
    for number, (*texts, label) in rows:
        yield _Row(parse_label(label, path, number), *texts)


def _read_text(path: Path, ref: Path) -> Iterator[_Row]:
    judgements = read_lines(ref)
    for number, (question, sentence, label) in read_fields(path, 3):
        is_answer = parse_label(label, path, number)
        _, judgement = next(judgements, (number, ""))
        match judgement.split():
            case [question_id, _, place, judged] if judged == label:
                sentence_id = f"{question_id}-{place}"
                yield _Row(is_answer, question_id, question, question_id, "", sentence_id, sentence)
            case _:
                problem = f"expected a line for label {label} of {path.name}:{number}"
                raise DataError(f"{problem}, found {judgement!r}", path=ref, line=number)
    for number, _ in judgements:
        raise DataError(f"{path.name} has no line {number}", path=ref, line=number)


def _to_examples(rows: Iterator[_Row]) -> Iterator[Example]:
    for question_id, group in groupby(rows, key=lambda row: row.question_id):
        judged = list(group)
        first = judged[0]
        document = Document(first.document_id, first.title, tuple(row.sentence for row in judged))
        candidates = tuple(
            Candidate(row.sentence_id, row.sentence, document, position)
            for position, row in enumerate(judged)
        )
        yield Example(question_id, first.question, candidates, tuple(row.label for row in judged))
