"""A network as a scorer, so that training can be evaluated like everything else."""

from collections.abc import Sequence

import numpy as np
import torch

from rejoinder.records import Candidate, Example
from rejoinder.runtime.scorer import Scores
from rejoinder.train.models.ranker import Ranker
from rejoinder.train.pairs import Pairs, WordVectors


class TorchScorer:
    """Scores with the network itself; the runtime's scorers do it without torch."""

    def __init__(self, model: Ranker, vectors: WordVectors) -> None:
        self._model = model.eval()
        self._vectors = vectors
        self.name = f"{model.config.model}+{model.config.head}"

    def score(self, question: str, candidates: Sequence[Candidate]) -> Scores:
        """Return one score per candidate, in the order given."""
        scores = np.empty(len(candidates), dtype=np.float64)
        if not candidates:
            return scores
        example = Example("", question, tuple(candidates), (False,) * len(candidates))
        pairs = Pairs([example], self._vectors)
        with torch.no_grad():
            scores[pairs.places[0]] = self._model(pairs.batch(torch.tensor([0]))).numpy()
        return scores
