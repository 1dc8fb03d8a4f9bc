"""A network as a scorer, so that training can be evaluated like everything else."""

import numpy as np
import torch

from rejoinder.models.ranker.module.pairs import Pairs, WordVectors
from rejoinder.models.ranker.module.ranker import Ranker
from rejoinder.models.scorer import Candidates, Scores
from rejoinder.types import Example, to_candidates


class TorchScorer:
    """Scores with the network itself; the runtime's scorers do it without torch."""

    def __init__(self, model: Ranker, vectors: WordVectors) -> None:
        self._model = model.eval()
        self._vectors = vectors
        self.name = f"{model.config.model}+{model.config.head}"

    def score(self, question: str, candidates: Candidates) -> Scores:
        """Return one score per candidate, in the order given."""
        scores = np.empty(len(candidates), dtype=np.float64)
        if not candidates:
            return scores
        given = tuple(to_candidates(candidates))
        example = Example("", question, given, (False,) * len(given))
        pairs = Pairs([example], self._vectors, context=self._model.config.context)
        with torch.no_grad():
            scores[pairs.places[0]] = self._model(pairs.batch(torch.tensor([0]))).numpy()
        return scores
