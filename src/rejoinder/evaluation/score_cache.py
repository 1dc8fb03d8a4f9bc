"""Caches the scores of a scorer in memory, and in a file if one is given.

Scoring long lists can take an hour: an interrupted run resumes, and no pair is scored twice.
"""

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from rejoinder.errors import InputError
from rejoinder.models.scorer import Candidates, Scorer, Scores, is_pointwise, reads_passages
from rejoinder.storage.journal import append_journal, read_journal
from rejoinder.types import Candidate, to_candidates

Read = tuple[str, ...]
"""The text of a candidate, or of its passage, then its title and its headings."""


class CachedScorer:
    """Returns the scores of another scorer (`scorer`) without scoring a pair twice.

    The scores of a pointwise scorer are cached by pair, so that a part of a known list costs
    nothing; the scores of a listwise one by list.
    """

    def __init__(self, scorer: Scorer, *, path: Path | None = None) -> None:
        """Load the cached scores of the file, if there is one."""
        self.name = scorer.name
        self.is_pointwise = is_pointwise(scorer)
        self.reads_passages = reads_passages(scorer)
        self.scorer = scorer
        self._path = path
        rows = read_journal(path) if path else []
        self._lists = {
            row["list"]: row["scores"] for row in rows if row.get("scorer") == scorer.name
        }
        self._is_checked = not self._lists
        self._pairs: dict[str, dict[Read, float]] = {}

    def score(self, question: str, candidates: Candidates) -> Scores:
        """Return one score per candidate, in the order given.

        Raises:
            InputError: the file cannot be written, or was written with other weights.
        """
        items = to_candidates(candidates)
        reads = list(map(self._get_read, items))
        key = _digest(question, reads)
        if key in self._lists:
            scores = np.array(self._lists[key])
            self._check(question, items, scores)
        else:
            scores = self._score_new(question, items, reads)
            self._lists[key] = scores.tolist()
            if self._path:
                row = {"scorer": self.name, "list": key, "scores": self._lists[key]}
                append_journal(self._path, row)
        if self.is_pointwise:
            known = self._pairs.setdefault(question, {})
            known.update(zip(reads, scores.tolist(), strict=True))
        return scores

    def _score_new(
        self, question: str, items: Sequence[Candidate], reads: Sequence[Read]
    ) -> Scores:
        known = self._pairs.get(question, {})
        new = {read: item for read, item in zip(reads, items, strict=True) if read not in known}
        if not known or len(new) == len(items):
            return self.scorer.score(question, items)
        scores = self.scorer.score(question, list(new.values())) if new else ()
        known = known | dict(zip(new, scores, strict=True))
        return np.array([known[read] for read in reads], dtype=np.float64)

    def _get_read(self, item: Candidate) -> Read:
        """Return what the scorer may read of a candidate, except all else of its document."""
        title = item.document.title if item.document else ""
        text = item.passage if self.reads_passages and item.passage is not None else item.text
        return (text, title, *item.headings) if title or item.headings else (text,)

    def _check(self, question: str, items: Sequence[Candidate], scores: Scores) -> None:
        """Score one cached list again: the weights of this name may have changed."""
        if self._is_checked:
            return
        if not np.allclose(self.scorer.score(question, items), scores, atol=1e-4):
            raise InputError(
                f"{self._path}: the scores of {self.name} come from other weights; delete the file"
            )
        self._is_checked = True


def _digest(question: str, reads: Sequence[Read]) -> str:
    texts = json.dumps([question, *(read[0] if len(read) == 1 else read for read in reads)])
    return hashlib.sha256(texts.encode()).hexdigest()
