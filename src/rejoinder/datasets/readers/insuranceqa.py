"""Reads InsuranceQA (Feng et al. 2015): V1, V2, and the Python package insuranceqa_data.

In the published files (V1 and V2) words are numbers (idx_17) into the file `vocabulary`, and
answers are labels into one file of all answers.  The candidates of a question are its pool,
in the order of the pool, which means nothing.  A pool may lack the correct answers: such a
question is kept, without an answer.  V1 has no pools for training, only the correct answers.

The package has original English sentences instead of lower-case tokens, and 200 retrieved
negatives per question.  It is never imported: only its files are read.
"""

from collections.abc import Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path

import msgspec

from rejoinder.datasets.files import read_fields
from rejoinder.datasets.json_rows import read_json
from rejoinder.datasets.readers.judged import shuffle
from rejoinder.errors import DataError, MissingDataError
from rejoinder.types import Candidate, Example

PACKAGE = "insuranceqa_data"
PACKAGE_ANSWERS = "answers.json.gz"


class _Text(msgspec.Struct):
    en: str

    def normalize(self) -> str:
        return " ".join(self.en.split())


class _Question(_Text):
    answers: tuple[str, ...]
    negatives: tuple[str, ...]


def read_insuranceqa(
    questions: Path, answers: Path, vocabulary: Path, *, columns: Sequence[str]
) -> Iterator[Example]:
    """Yield one example per question of a published file; ids count from 0.

    Args:
        columns: of the file of questions.  Without a pool, the candidates are the answers.
    """
    words = {index: word for _, (index, word) in read_fields(vocabulary, 2)}
    candidates = {
        label: Candidate(label, _decode(text, words, answers, line))
        for line, (label, text) in read_fields(answers, 2)
    }
    for number, (line, fields) in enumerate(read_fields(questions, len(columns))):
        row = dict(zip(columns, fields, strict=True))
        correct = set(row["answers"].split())
        pool = row.get("pool", row["answers"]).split()
        unknown = [label for label in (*pool, *correct) if label not in candidates]
        if unknown:
            problem = f"answer {unknown[0]!r} is not in {answers.name}"
            raise DataError(problem, path=questions, line=line)
        yield Example(
            id=str(number),
            question=_decode(row["question"], words, questions, line),
            candidates=tuple(candidates[label] for label in pool),
            labels=tuple(label in correct for label in pool),
        )


def _decode(indices: str, words: dict[str, str], path: Path, line: int) -> str:
    try:
        return " ".join(words[index] for index in indices.split())
    except KeyError as error:
        problem = f"word {error.args[0]!r} is not in the vocabulary"
        raise DataError(problem, path=path, line=line) from error


def find_insuranceqa_package() -> Path:
    """Return the folder of the installed package; some of its releases have no data."""
    spec = find_spec(PACKAGE)
    folders = (spec.submodule_search_locations if spec else None) or []
    for folder in map(Path, folders):
        if (folder / PACKAGE_ANSWERS).is_file():
            return folder
    raise MissingDataError(
        f"insuranceqa comes as the Python package {PACKAGE}, which is not installed"
        f" or contains no data; pip install {PACKAGE}==1.2"
    )


def read_insuranceqa_package(
    split: str, folder: Path | None = None, *, seed: int = 0
) -> Iterator[Example]:
    """Yield one example per question of train, valid or test.

    The files list correct answers and negatives separately; both are shuffled together by
    the seed, so that their order does not give the labels away.

    Args:
        folder: the folder of the installed package unless given.
    """
    return _read_package(folder or find_insuranceqa_package(), split, seed)


def _read_package(folder: Path, split: str, seed: int) -> Iterator[Example]:
    answers = read_json(folder / PACKAGE_ANSWERS, dict[str, _Text])
    candidates = {id: Candidate(id, text.normalize()) for id, text in answers.items()}
    path = folder / f"{split}.json.gz"
    for index, (id, row) in enumerate(read_json(path, dict[str, _Question]).items()):
        judged = []
        for listed, label in ((row.answers, True), (row.negatives, False)):
            for answer in listed:
                if answer not in candidates:
                    problem = f"{id}: answer {answer!r} is not in {PACKAGE_ANSWERS}"
                    raise DataError(problem, path=path)
                judged.append((candidates[answer], label))
        shuffled = shuffle(judged, seed=seed, index=index)
        pool = tuple(candidate for candidate, _ in shuffled)
        yield Example(id, row.normalize(), pool, tuple(label for _, label in shuffled))
