"""Scores candidates by the cosine of their vectors with the question's."""

from collections.abc import Sequence
from itertools import groupby

import numpy as np

from rejoinder.documents.parsed import Sentence
from rejoinder.documents.passages import NEIGHBOURS, Passage
from rejoinder.models.scorer import Candidates, Scores
from rejoinder.models.sentence_encoder.encoder import SentenceEncoder
from rejoinder.types import Candidate, to_candidates


class CosineScorer:
    """Scores with a sentence encoder; a candidate is encoded with its title and neighbours."""

    def __init__(self, name: str, encoder: SentenceEncoder) -> None:
        self.name = name
        self.encoder = encoder

    def score(self, question: str, candidates: Candidates) -> Scores:
        """Return one cosine per candidate, in the order given."""
        vector = self.encoder.encode_question(question)
        scores: list[float] = []
        for title, group in groupby(to_candidates(candidates), key=_get_title):
            passages = [to_passage(candidate) for candidate in group]
            vectors = self.encoder.encode_passages(title, passages)
            scores += np.einsum("ij,j->i", vectors, vector).tolist()
        return np.array(scores, dtype=np.float64)


def to_passage(candidate: Candidate) -> Passage:
    """Return a candidate with the sentences around it in its document."""
    document, place = candidate.document, candidate.position
    if document is None or place is None:
        return Passage(_to_sentence(0, candidate.text), (), (), ())
    texts: Sequence[str] = document.sentences
    before = range(max(0, place - NEIGHBOURS), min(place, len(texts)))
    after = range(place + 1, min(place + 1 + NEIGHBOURS, len(texts)))
    return Passage(
        _to_sentence(place, candidate.text),
        (),
        tuple(_to_sentence(at, texts[at]) for at in before),
        tuple(_to_sentence(at, texts[at]) for at in after),
    )


def _get_title(candidate: Candidate) -> str:
    return candidate.document.title if candidate.document else ""


def _to_sentence(position: int, text: str) -> Sentence:
    return Sentence(position, text, 0, len(text))
