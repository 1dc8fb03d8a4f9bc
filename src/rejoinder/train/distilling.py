"""Teaches a small model what a large one knows: soft targets, also across documents.

A target is a mean of the label and of the teacher's probability, the sigmoid of its score.
Normalised over a list it says which candidates are better (the listwise term of the loss);
as it is, it says how good each one is (the pointwise term), so that the pupil's scores mean
the same in every list.
"""

import json
import random
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np

from rejoinder.errors import InputError
from rejoinder.records import Candidate, Example
from rejoinder.runtime.scorer import Scorer

TEACHER_SHARE = 0.7
JOINED_SHARE = 0.5


def join_lists(
    examples: Sequence[Example], *, share: float = JOINED_SHARE, seed: int = 0
) -> list[Example]:
    """Return the examples, a share of them with the candidates of another one behind theirs.

    What a search finds stands in several documents; a model that only ever saw one document
    at a time has no reason to score them alike.
    """
    rng = random.Random(seed)
    return [
        _join(example, examples[rng.randrange(len(examples))]) if rng.random() < share else example
        for example in examples
    ]


def _join(example: Example, other: Example) -> Example:
    own = {candidate.text for candidate in example.candidates}
    added = [_mark(candidate, other) for candidate in other.candidates if candidate.text not in own]
    return Example(
        example.id,
        example.question,
        (*example.candidates, *added),
        (*example.labels, *(False for _ in added)),
    )


def _mark(candidate: Candidate, other: Example) -> Candidate:
    """Return the candidate with an id that no candidate of the other list has."""
    return Candidate(
        f"{other.id}/{candidate.id}", candidate.text, candidate.document, candidate.position
    )


def soften(
    labels: Sequence[bool], scores: Sequence[float], *, share: float = TEACHER_SHARE
) -> list[float]:
    """Return the targets of one list.

    >>> soften([True, False], [0.0, 0.0])
    [0.65, 0.35]
    """
    believed = 1 / (1 + np.exp(-np.asarray(scores, dtype=np.float64)))
    mixed = share * believed + (1 - share) * np.asarray(labels, dtype=np.float64)
    return [round(float(target), 6) for target in mixed]


def ask_teacher(
    teacher: Scorer,
    examples: Sequence[Example],
    *,
    kept: Path,
    on_done: Callable[[int, int], None] = lambda _, __: None,
) -> list[list[float]]:
    """Return the teacher's scores of each list.

    They are kept in a file of JSON lines as they come, and read from it where a list was
    scored before: the teacher is slow, and a kill must not cost its work.

    Raises:
        InputError: the file cannot be written, or holds the scores of other lists.
    """
    scores = list(_read_kept(kept, examples))
    try:
        with kept.open("a", encoding="utf-8") as file:
            for example in examples[len(scores) :]:
                found = teacher.score(example.question, example.candidates)
                scores.append([round(float(score), 5) for score in found])
                file.write(json.dumps({"id": example.id, "scores": scores[-1]}) + "\n")
                on_done(len(scores), len(examples))
    except OSError as error:
        raise InputError(f"cannot write {kept}: {error.strerror}") from error
    return scores


def _read_kept(path: Path, examples: Sequence[Example]) -> Iterator[list[float]]:
    """Yield what is there; a last line that a kill has torn is cut off the file."""
    if not path.exists():
        return
    whole = 0
    with path.open("rb") as file:
        for line, example in zip(file, examples, strict=False):
            if not line.endswith(b"\n"):
                break
            row = json.loads(line)
            if row["id"] != example.id or len(row["scores"]) != len(example.candidates):
                raise InputError(
                    f"{path}: holds the scores of other lists; remove it to ask the teacher anew"
                )
            whole += len(line)
            yield row["scores"]
    with path.open("rb+") as file:
        file.truncate(whole)
