"""MTEB: a cross-encoder for its reranking tasks."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import rejoinder
from rejoinder.adapters.cross_encoder import CrossEncoder
from rejoinder.adapters.reranking import need_extra
from rejoinder.cascade.loading import DEFAULT, to_scorer
from rejoinder.models.scorer import Scorer, Scores

with need_extra("mteb"):
    from mteb.models import ModelMeta

Batch = dict[str, Any]
"""A batch of inputs: lists by name, `text` among them."""


class RejoinderCrossEncoder:
    """A scorer as `CrossEncoderProtocol`; all pairs of a question are ranked together."""

    def __init__(
        self,
        model_name: Scorer | str | Path = DEFAULT,
        revision: str | None = None,  # noqa: ARG002
        device: str | None = None,  # noqa: ARG002
        *,
        budget_ms: float | None = None,
    ) -> None:
        """Load the scorer.

        Args:
            model_name: a name of `rejoinder models list`, the folder of a bundle, a cascade
                file, or a scorer.
            revision: ignored; the version of rejoinder is the revision.
            device: ignored; it is always the CPU.
            budget_ms: the latency budget of each question.
        """
        scorer = to_scorer(model_name)
        self._encoder = CrossEncoder(scorer, budget_ms=budget_ms)
        self.mteb_model_meta = ModelMeta.create_empty(
            overwrites={
                "name": f"rejoinder/{scorer.name}",
                "revision": rejoinder.__version__,
                "modalities": ["text"],
                "model_type": ["cross-encoder"],
            }
        )

    def predict(self, inputs1: Iterable[Batch], inputs2: Iterable[Batch], **_: object) -> Scores:
        """Return one score per pair, in the order given."""
        questions = [text for batch in inputs1 for text in batch["text"]]
        documents = [text for batch in inputs2 for text in batch["text"]]
        scores: Scores = self._encoder.predict(list(zip(questions, documents, strict=True)))
        return scores
