"""A drop-in for the CrossEncoder of sentence-transformers, without that package.

The evaluators of sentence-transformers and BEIR call `predict(pairs)` and
`rank(query, documents)`.  `predict` groups the pairs by question, because a listwise scorer
must see all candidates of a question together.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

import numpy as np

from rejoinder.cascade.loading import DEFAULT, to_scorer
from rejoinder.engine.texts import rank_documents
from rejoinder.errors import InputError
from rejoinder.models.scorer import Scorer, Scores

Pair = Sequence[str]
"""A question and a document."""


class EvaluationMetrics:
    """The measures of sentence-transformers' evaluators, by the name of the evaluator."""

    def __init__(self) -> None:
        self.metrics: dict[str, dict[str, Any]] = {}

    def set_evaluation_metrics(
        self,
        evaluator: Any,
        metrics: dict[str, Any],
        epoch: int = 0,  # noqa: ARG002
        step: int = 0,  # noqa: ARG002
    ) -> None:
        """Store the measures of an evaluator."""
        self.metrics[str(getattr(evaluator, "name", ""))] = metrics


class CrossEncoder:
    """A scorer with the interface of sentence-transformers' CrossEncoder.

    A document has the score of its best sentence; higher is better.  Arguments for networks
    (batch_size, show_progress_bar, prompt_name, …) are ignored.
    """

    num_labels = 1

    def __init__(
        self,
        model_name_or_path: Scorer | str | Path = DEFAULT,
        *,
        budget_ms: float | None = None,
    ) -> None:
        """Load the scorer.

        Args:
            model_name_or_path: a name of `rejoinder models list`, the folder of a bundle, a
                cascade file, or a scorer.
            budget_ms: the latency budget of each question.
        """
        self._scorer = to_scorer(model_name_or_path)
        self._budget_ms = budget_ms
        self.model_card_data = EvaluationMetrics()

    def predict(
        self,
        inputs: Pair | Sequence[Pair],
        *_: object,
        convert_to_numpy: bool = True,
        convert_to_tensor: bool = False,
        **__: object,
    ) -> Any:
        """Return one score per pair (question, document), in the order given.

        A single pair returns a single score.

        Raises:
            InputError: a tensor is requested, or a pair is not two strings.
        """
        if convert_to_tensor or not convert_to_numpy:
            raise InputError("scores are numpy arrays; convert them with torch.from_numpy")
        if len(inputs) == 2 and all(isinstance(item, str) for item in inputs):
            return float(self._score_pairs([cast(Pair, inputs)])[0])
        return self._score_pairs(inputs)

    def rank(
        self,
        query: str,
        documents: Sequence[str],
        top_k: int | None = None,
        return_documents: bool = False,
        **_: object,
    ) -> list[dict[str, Any]]:
        """Return `corpus_id` and `score` of the best documents, and optionally `text`."""
        ranking = rank_documents(
            query, documents, scorer=self._scorer, top=top_k, budget_ms=self._budget_ms
        )
        return [
            {"corpus_id": item.place, "score": item.score}
            | ({"text": documents[item.place]} if return_documents else {})
            for item in ranking.documents
        ]

    def _score_pairs(self, pairs: Sequence[Pair]) -> Scores:
        scores = np.empty(len(pairs), dtype=np.float64)
        for question, places in group_by_question(pairs).items():
            texts = [pairs[place][1] for place in places]
            ranking = rank_documents(
                question, texts, scorer=self._scorer, budget_ms=self._budget_ms
            )
            for item in ranking.documents:
                scores[places[item.place]] = item.score
        return scores


def group_by_question(pairs: Sequence[Pair]) -> dict[str, list[int]]:
    """Return the indices of the pairs of each question."""
    groups: dict[str, list[int]] = {}
    for place, pair in enumerate(pairs):
        if isinstance(pair, str) or len(pair) != 2 or not all(isinstance(x, str) for x in pair):
            raise InputError(f"pair {place} must be a question and a document, both text")
        groups.setdefault(pair[0], []).append(place)
    return groups
