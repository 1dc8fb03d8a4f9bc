"""A scorer that is asked once: what it said is remembered, and kept in a file where one is given.

Scoring long lists takes an hour; a kill must not cost it, and a second look at the same pairs
must not cost it again.
"""

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from rejoinder.errors import InputError
from rejoinder.models.scorer import Candidates, Scorer, Scores, is_pointwise
from rejoinder.storage.journal import append_kept, read_kept
from rejoinder.types import Candidate, to_candidates


class CachedScorer:
    """Scores as another scorer does, and asks it for no pair twice.

    A pointwise scorer is remembered by pair, so that a part of a known list costs nothing; one
    that reads the list, by list.  `scorer` is the other one, for who wants to time it.
    """

    def __init__(self, scorer: Scorer, *, kept: Path | None = None) -> None:
        """Begin with what the file says, if there is one.

        Raises:
            InputError: the file cannot be read.
        """
        self.name = scorer.name
        self.is_pointwise = is_pointwise(scorer)
        self.scorer = scorer
        self._kept = kept
        rows = read_kept(kept) if kept else []
        self._lists = {
            row["list"]: row["scores"] for row in rows if row.get("scorer") == scorer.name
        }
        self._is_checked = not self._lists
        self._pairs: dict[str, dict[str, float]] = {}

    def score(self, question: str, candidates: Candidates) -> Scores:
        """Return one score per candidate, in the order given.

        Raises:
            InputError: the file cannot be written, or was written with other weights.
        """
        given = to_candidates(candidates)
        key = _digest(question, given)
        if key in self._lists:
            scores = np.array(self._lists[key])
            self._check(question, given, scores)
        else:
            scores = self._ask(question, given)
            self._keep(key, scores)
        if self.is_pointwise:
            known = self._pairs.setdefault(question, {})
            known.update(zip((item.text for item in given), scores.tolist(), strict=True))
        return scores

    def _ask(self, question: str, given: Sequence[Candidate]) -> Scores:
        known = self._pairs.get(question, {})
        new = [item for item in given if item.text not in known]
        if not known or len(new) == len(given):
            return self.scorer.score(question, given)
        found = self.scorer.score(question, new) if new else ()
        said = known | dict(zip((item.text for item in new), found, strict=True))
        return np.array([said[item.text] for item in given], dtype=np.float64)

    def _check(self, question: str, given: Sequence[Candidate], scores: Scores) -> None:
        """Ask about one list again: weights may have changed since, under the same name."""
        if self._is_checked:
            return
        if not np.allclose(self.scorer.score(question, given), scores, atol=1e-4):
            raise InputError(f"{self._kept}: keeps what another {self.name} said; remove it")
        self._is_checked = True

    def _keep(self, key: str, scores: Scores) -> None:
        self._lists[key] = scores.tolist()
        if self._kept:
            row = {"scorer": self.name, "list": key, "scores": self._lists[key]}
            append_kept(self._kept, row)


def _digest(question: str, given: Sequence[Candidate]) -> str:
    texts = json.dumps([question, *(item.text for item in given)])
    return hashlib.sha256(texts.encode()).hexdigest()
