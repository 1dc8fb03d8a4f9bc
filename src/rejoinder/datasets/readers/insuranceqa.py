"""Reads InsuranceQA (Feng et al. 2015) as its authors published it, V1 and V2.

Words are numbers (idx_17) that the file `vocabulary` spells out; answers are labels into
one file of all answers.  The candidates of a question are its pool, in the pool's order,
which means nothing.  A pool may lack the correct answers: such a question is kept,
without an answer.  V1 has no pools for training, only the correct answers.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from rejoinder.datasets.files import read_fields
from rejoinder.errors import DataError, UnknownNameError
from rejoinder.types import Candidate, Example

VOCABULARY = "vocabulary"
V1_ANSWERS = "answers.label.token_idx"
V1_QUESTIONS = {
    "train": "question.train.token_idx.label",
    "dev": "question.dev.label.token_idx.pool",
    "test1": "question.test1.label.token_idx.pool",
    "test2": "question.test2.label.token_idx.pool",
}
V2_ANSWERS = "InsuranceQA.label2answer.token.encoded.gz"
V2_QUESTIONS = {
    split: f"InsuranceQA.question.anslabel.token.500.pool.solr.{split}.encoded.gz"
    for split in ("train", "valid", "test")
}


class _Row(NamedTuple):
    line: int
    question: str
    answers: str
    pool: str


def read_insuranceqa_v1(folder: Path, split: str) -> Iterator[Example]:
    """Yield one example per question of train, dev, test1 or test2; ids count from 0."""
    path = folder / _get_file(V1_QUESTIONS, split)
    if split == "train":
        rows = (
            _Row(line, question, answers, pool=answers)
            for line, (question, answers) in read_fields(path, 2)
        )
    else:
        rows = (
            _Row(line, question, answers, pool)
            for line, (answers, question, pool) in read_fields(path, 3)
        )
    return _to_examples(rows, path, folder / V1_ANSWERS)


def read_insuranceqa_v2(folder: Path, split: str) -> Iterator[Example]:
    """Yield one example per question of train, valid or test, with its pool of 500."""
    path = folder / _get_file(V2_QUESTIONS, split)
    rows = (
        _Row(line, question, answers, pool)
        for line, (_domain, question, answers, pool) in read_fields(path, 4)
    )
    return _to_examples(rows, path, folder / V2_ANSWERS)


def _get_file(files: dict[str, str], split: str) -> str:
    if split not in files:
        raise UnknownNameError("split", split, files)
    return files[split]


def _to_examples(rows: Iterator[_Row], path: Path, answers: Path) -> Iterator[Example]:
    words = {index: word for _, (index, word) in read_fields(path.with_name(VOCABULARY), 2)}
    candidates = {
        label: Candidate(label, _spell(text, words, answers, line))
        for line, (label, text) in read_fields(answers, 2)
    }
    for number, row in enumerate(rows):
        correct = set(row.answers.split())
        pool = row.pool.split()
        unknown = [label for label in (*pool, *correct) if label not in candidates]
        if unknown:
            problem = f"answer {unknown[0]!r} is not in {answers.name}"
            raise DataError(problem, path=path, line=row.line)
        yield Example(
            id=str(number),
            question=_spell(row.question, words, path, row.line),
            candidates=tuple(candidates[label] for label in pool),
            labels=tuple(label in correct for label in pool),
        )


def _spell(indices: str, words: dict[str, str], path: Path, line: int) -> str:
    try:
        return " ".join(words[index] for index in indices.split())
    except KeyError as error:
        problem = f"word {error.args[0]!r} is not in {VOCABULARY}"
        raise DataError(problem, path=path, line=line) from error
