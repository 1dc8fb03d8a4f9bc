"""Reads InsuranceQA from the Python package insuranceqa_data, in English.

The package carries whole sentences where the published files have lower-case tokens, and
200 negatives, found by retrieval, for each question.  It is never imported: only its
files are read.
"""

from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

from rejoinder.datasets.json_objects import JsonObject, read_json_object
from rejoinder.datasets.readers.judged import shuffle
from rejoinder.errors import MissingDataError, UnknownNameError
from rejoinder.types import Candidate, Example

PACKAGE = "insuranceqa_data"
SPLITS = ("train", "valid", "test")
ANSWERS = "answers.json.gz"
INSTALL = f"pip install {PACKAGE}==1.2"


def find_insuranceqa_package() -> Path:
    """Return the folder of the installed package.

    Raises:
        MissingDataError: it is not installed, or in a release without data.
    """
    spec = find_spec(PACKAGE)
    folders = (spec.submodule_search_locations if spec else None) or []
    for folder in map(Path, folders):
        if (folder / ANSWERS).is_file():
            return folder
    raise MissingDataError(
        f"insuranceqa comes as the Python package {PACKAGE}, which is not installed"
        f" or carries no data; {INSTALL}"
    )


def read_insuranceqa_package(folder: Path, split: str, *, seed: int = 0) -> Iterator[Example]:
    """Yield one example per question of train, valid or test.

    The files list correct answers and negatives apart; both are shuffled together by the
    seed, so that order tells nothing.
    """
    if split not in SPLITS:
        raise UnknownNameError("split", split, SPLITS)
    return _read(folder, split, seed)


def _read(folder: Path, split: str, seed: int) -> Iterator[Example]:
    answers = read_json_object(folder / ANSWERS)
    candidates = {id: Candidate(id, _read_english(answers.get_object(id))) for id in answers.fields}
    questions = read_json_object(folder / f"{split}.json.gz")
    for index, id in enumerate(questions.fields):
        row = questions.get_object(id)
        judged = _read_judged(row, candidates)
        shuffled = shuffle(judged, seed=seed, index=index)
        yield Example(
            id=id,
            question=_read_english(row),
            candidates=tuple(candidate for candidate, _ in shuffled),
            labels=tuple(label for _, label in shuffled),
        )


def _read_judged(row: JsonObject, candidates: dict[str, Candidate]) -> list[tuple[Candidate, bool]]:
    judged = []
    for field, label in (("answers", True), ("negatives", False)):
        for id in row.get_list(field, str):
            if id not in candidates:
                raise row.error(f"answer {id!r} is not in {ANSWERS}")
            judged.append((candidates[id], label))
    return judged


def _read_english(row: JsonObject) -> str:
    return " ".join(row.get("en", str).split())
