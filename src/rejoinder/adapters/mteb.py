"""rejoinder in MTEB: a cross-encoder for its reranking tasks."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import rejoinder
from rejoinder.adapters.cross_encoder import CrossEncoder
from rejoinder.adapters.extras import needing
from rejoinder.adapters.reranking import to_scorer
from rejoinder.cascade.loading import DEFAULT
from rejoinder.models.scorer import Scorer, Scores

with needing("mteb"):
    from mteb.models import ModelMeta

Batch = dict[str, Any]
"""Several inputs of MTEB's: a list under each name, `text` among them."""


class RejoinderCrossEncoder:
    """A scorer as MTEB's `CrossEncoderProtocol`; all pairs of a question are ranked together."""

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
            model_name: a name of `rejoinder models list`, a bundle's folder, a cascade's
                file, or a scorer.
            revision: as MTEB's protocol has it; the package's version says it here.
            device: as MTEB's protocol has it; it is always the CPU.
            budget_ms: how long one question may take.
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
