"""Reads InsuranceQA (Feng et al. 2015): V1, V2, and the Python package insuranceqa_data.

In the published files (V1 and V2) words are numbers (idx_17) into the file `vocabulary`, and
answers are labels into one file of all answers.  The candidates of a question are its pool,
in the order of the pool, which means nothing.  A pool may lack the correct answers: such a
question is kept, without an answer.  V1 has no pools for training, only the correct answers.

The package has original English sentences instead of lower-case tokens, and 200 retrieved
negatives per question.  It is never imported: only its files are read.
"""

from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

from rejoinder.datasets.files import JsonObject, read_fields, read_json_object
from rejoinder.datasets.readers.judged import shuffle
from rejoinder.errors import DataError, MissingDataError, UnknownNameError
from rejoinder.types import Candidate, Example

VOCABULARY = "vocabulary"


class Version(NamedTuple):
    """The file names of a published version."""

    answers: str
    questions: dict[str, str]
    """By split."""


V1 = Version(
    "answers.label.token_idx",
    {
        "train": "question.train.token_idx.label",
        "dev": "question.dev.label.token_idx.pool",
        "test1": "question.test1.label.token_idx.pool",
        "test2": "question.test2.label.token_idx.pool",
    },
)
V2 = Version(
    "InsuranceQA.label2answer.token.encoded.gz",
    {
        split: f"InsuranceQA.question.anslabel.token.500.pool.solr.{split}.encoded.gz"
        for split in ("train", "valid", "test")
    },
)
PACKAGE = "insuranceqa_data"
PACKAGE_SPLITS = ("train", "valid", "test")
PACKAGE_ANSWERS = "answers.json.gz"
INSTALL = f"pip install {PACKAGE}==1.2"


class _Question(NamedTuple):
    line: int
    text: str
    answers: str
    pool: str


def read_insuranceqa(folder: Path, version: Version, split: str) -> Iterator[Example]:
    """Yield one example per question of a split of V1 or V2; ids count from 0."""
    if split not in version.questions:
        raise UnknownNameError("split", split, version.questions)
    path, answers = folder / version.questions[split], folder / version.answers
    words = {index: word for _, (index, word) in read_fields(folder / VOCABULARY, 2)}
    candidates = {
        label: Candidate(label, _decode(text, words, answers, line))
        for line, (label, text) in read_fields(answers, 2)
    }
    for number, row in enumerate(_read_questions(path, version, split)):
        correct = set(row.answers.split())
        pool = row.pool.split()
        unknown = [label for label in (*pool, *correct) if label not in candidates]
        if unknown:
            problem = f"answer {unknown[0]!r} is not in {answers.name}"
            raise DataError(problem, path=path, line=row.line)
        yield Example(
            id=str(number),
            question=_decode(row.text, words, path, row.line),
            candidates=tuple(candidates[label] for label in pool),
            labels=tuple(label in correct for label in pool),
        )


def _read_questions(path: Path, version: Version, split: str) -> Iterator[_Question]:
    if version is V2:
        for line, (_domain, text, answers, pool) in read_fields(path, 4):
            yield _Question(line, text, answers, pool)
    elif split == "train":
        for line, (text, answers) in read_fields(path, 2):
            yield _Question(line, text, answers, pool=answers)
    else:
        for line, (answers, text, pool) in read_fields(path, 3):
            yield _Question(line, text, answers, pool)


def _decode(indices: str, words: dict[str, str], path: Path, line: int) -> str:
    try:
        return " ".join(words[index] for index in indices.split())
    except KeyError as error:
        problem = f"word {error.args[0]!r} is not in {VOCABULARY}"
        raise DataError(problem, path=path, line=line) from error


def find_insuranceqa_package() -> Path:
    """Return the folder of the installed package.

    Raises:
        MissingDataError: it is not installed, or in a release without data.
    """
    spec = find_spec(PACKAGE)
    folders = (spec.submodule_search_locations if spec else None) or []
    for folder in map(Path, folders):
        if (folder / PACKAGE_ANSWERS).is_file():
            return folder
    raise MissingDataError(
        f"insuranceqa comes as the Python package {PACKAGE}, which is not installed"
        f" or contains no data; {INSTALL}"
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
    if split not in PACKAGE_SPLITS:
        raise UnknownNameError("split", split, PACKAGE_SPLITS)
    return _read_package(folder or find_insuranceqa_package(), split, seed)


def _read_package(folder: Path, split: str, seed: int) -> Iterator[Example]:
    answers = read_json_object(folder / PACKAGE_ANSWERS)
    candidates = {id: Candidate(id, _read_english(answers.get_object(id))) for id in answers.fields}
    questions = read_json_object(folder / f"{split}.json.gz")
    for index, id in enumerate(questions.fields):
        row = questions.get_object(id)
        judged = []
        for field, label in (("answers", True), ("negatives", False)):
            for answer in row.get_list(field, str):
                if answer not in candidates:
                    raise row.error(f"answer {answer!r} is not in {PACKAGE_ANSWERS}")
                judged.append((candidates[answer], label))
        shuffled = shuffle(judged, seed=seed, index=index)
        yield Example(
            id=id,
            question=_read_english(row),
            candidates=tuple(candidate for candidate, _ in shuffled),
            labels=tuple(label for _, label in shuffled),
        )


def _read_english(row: JsonObject) -> str:
    return " ".join(row.get("en", str).split())
