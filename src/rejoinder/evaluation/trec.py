"""TREC's run and qrels files, as trec_eval and ir_measures read them.

A line of a run is `question Q0 candidate rank score tag`, one of qrels `question 0 candidate
label`.  Columns are separated by white space, so white space in an id is written as %20.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from pathlib import Path

import numpy as np

from rejoinder.datasets.files import read_lines
from rejoinder.errors import DataError, InputError
from rejoinder.evaluation.measures import Protocol
from rejoinder.storage.files import atomic_write
from rejoinder.types import Candidate, Example

_SCORERS = (".toml", ".onnx")
"""Files that are scorers themselves."""


@dataclass(frozen=True, slots=True)
class RankedQuestion:
    """One ranked question: candidate ids, labels and scores, best first."""

    question_id: str
    question: str
    candidate_ids: tuple[str, ...]
    labels: tuple[bool, ...]
    scores: tuple[float, ...]
    unranked: int = 0
    """Answers that are missing in the ranking; only a run file may lack them."""


@dataclass(frozen=True, slots=True)
class RunFile:
    """The scores of a run: for each question those of its candidates, by their ids."""

    name: str
    """Its tag."""
    path: Path
    scores: Mapping[str, Mapping[str, float]]

    def rank(self, example: Example, protocol: Protocol) -> RankedQuestion:
        """Return the ranking of one question, empty where the run has none.

        As in trec_eval, the order is that of the scores; candidates that the data set does not
        have are wrong, and answers that the run does not have are not found.
        """
        run = self.scores.get(_to_id(example.id), {})
        known = {_to_id(item.id): place for place, item in enumerate(example.candidates)}
        ids = [id_ for id_ in known if id_ in run]
        labels = [example.labels[known[id_]] for id_ in ids]
        found = sum(labels)
        foreign = [id_ for id_ in run if id_ not in known]
        names = [*(example.candidates[known[id_]].id for id_ in ids), *foreign]
        ids, labels = [*ids, *foreign], [*labels, *([False] * len(foreign))]
        scores = np.array([run[id_] for id_ in ids], dtype=np.float64)
        order = protocol.order(scores, labels)
        return RankedQuestion(
            example.id,
            example.question,
            tuple(names[place] for place in order),
            tuple(labels[place] for place in order),
            tuple(float(scores[place]) for place in order),
            sum(example.labels) - found,
        )


def is_run_file(path: Path) -> bool:
    """Whether a path is a file that is no scorer, and so a run."""
    return path.is_file() and path.suffix not in _SCORERS


def read_run(path: Path) -> RunFile:
    """Read a run, gzipped if its name ends in .gz.

    Raises:
        DataError: a line has other columns, a score is no number, or a candidate comes twice.
    """
    scores: dict[str, dict[str, float]] = {}
    tag = path.name
    for number, line in read_lines(path):
        columns = line.split()
        if not columns:
            continue
        if len(columns) != 6:
            problem = (
                "expected the six columns of a TREC run, question Q0 candidate rank score tag;"
                f" found {len(columns)}"
            )
            raise DataError(problem, path=path, line=number)
        question, _, candidate, _, score, tag = columns
        own = scores.setdefault(question, {})
        if candidate in own:
            problem = f"question {question} has candidate {candidate} twice"
            raise DataError(problem, path=path, line=number)
        own[candidate] = _parse_score(score, path, number)
    return RunFile(tag, path, scores)


def is_qrels_file(path: Path) -> bool:
    """Whether a path is a file whose first line has the four columns of qrels, and no JSON."""
    if not path.is_file():
        return False
    try:
        line = next((line for _, line in read_lines(path) if line.strip()), "")
    except DataError:  # its reader tells what is wrong
        return False
    return len(line.split()) == 4 and not line.lstrip().startswith(("{", "["))


def read_qrels(path: Path) -> list[Example]:
    """Read qrels as questions without texts, in their order; labels above 0 are answers.

    The file is gzipped if its name ends in .gz.  Question and candidates are named by their ids.

    Raises:
        DataError: a line has other columns, a label is no number, or a candidate comes twice.
    """
    judged: dict[str, dict[str, bool]] = {}
    for number, line in read_lines(path):
        columns = line.split()
        if not columns:
            continue
        if len(columns) != 4:
            problem = (
                "expected the four columns of TREC qrels, question iteration candidate label;"
                f" found {len(columns)}"
            )
            raise DataError(problem, path=path, line=number)
        question, _, candidate, label = columns
        own = judged.setdefault(question, {})
        if candidate in own:
            problem = f"question {question} has candidate {candidate} twice"
            raise DataError(problem, path=path, line=number)
        own[candidate] = _parse_label(label, path, number) > 0
    return [
        Example(
            question,
            question,
            tuple(Candidate(candidate, "") for candidate in own),
            tuple(own.values()),
        )
        for question, own in judged.items()
    ]


def write_run(path: Path, rankings: Iterable[RankedQuestion], tag: str) -> None:
    """Write rankings as a run.

    trec_eval orders by score, and compares in single precision: scores that are equal there are
    lowered by the smallest step, so that every reader finds our order.

    Raises:
        InputError: an id is empty, or two are the same; or the file cannot be written.
    """
    name = _to_id(tag)
    _write(
        path,
        (
            f"{question} Q0 {candidate} {rank} {score:.9g} {name}\n"
            for item, question, candidates in _list_ids(rankings, path)
            for rank, (candidate, score) in enumerate(
                zip(candidates, _separate(item.scores), strict=True), start=1
            )
        ),
    )


def write_qrels(path: Path, rankings: Iterable[RankedQuestion]) -> None:
    """Write the labels of ranked questions as qrels.  The errors are those of `write_run`."""
    _write(
        path,
        (
            f"{question} 0 {candidate} {int(label)}\n"
            for item, question, candidates in _list_ids(rankings, path)
            for candidate, label in zip(candidates, item.labels, strict=True)
        ),
    )


def _list_ids(
    rankings: Iterable[RankedQuestion], path: Path
) -> Iterator[tuple[RankedQuestion, str, Sequence[str]]]:
    """Yield each ranking with its ids as they are written."""
    seen = set()
    for item in rankings:
        question, *candidates = map(_to_id, (item.question_id, *item.candidate_ids))
        place = f"cannot write {path}: question {item.question_id!r}"
        if not question or not all(candidates):
            raise InputError(f"{place} has an empty id, or a candidate with one")
        if question in seen or len({*candidates}) < len(candidates):
            raise InputError(f"{place} comes twice, or one of its candidates does")
        seen.add(question)
        yield item, question, candidates


def _to_id(text: str) -> str:
    return re.sub(r"\s", lambda found: f"%{ord(found[0]):02X}", text)


def _separate(scores: Sequence[float]) -> Iterator[float]:
    """Yield scores that fall from one to the next, in single precision."""
    last = np.float32(np.inf)
    for score in scores:
        last = min(np.float32(score), np.nextafter(last, np.float32(-np.inf)))
        yield float(last)


def _parse_score(text: str, path: Path, line: int) -> float:
    try:
        score = float(text)
    except ValueError:
        score = float("nan")
    if not isfinite(score):
        raise DataError(f"the score {text!r} is not a number", path=path, line=line)
    return score


def _parse_label(text: str, path: Path, line: int) -> int:
    try:
        return int(text)
    except ValueError:
        problem = f"the label {text!r} is not a whole number"
        raise DataError(problem, path=path, line=line) from None


def _write(path: Path, lines: Iterable[str]) -> None:
    try:
        with atomic_write(path) as file:
            file.writelines(line.encode() for line in lines)
    except OSError as error:
        raise InputError(f"cannot write {path}: {error.strerror or error}") from error
