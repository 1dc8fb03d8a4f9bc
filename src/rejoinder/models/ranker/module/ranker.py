"""A small ranker in torch: a pair encoder, a head over the list, and a score."""

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from rejoinder.errors import UnknownNameError
from rejoinder.models.ranker.heads import HEADS
from rejoinder.models.ranker.module.heads import make_head_module
from rejoinder.models.ranker.module.pairs import Batch, TrainingPairs, WordVectors, move
from rejoinder.models.ranker.relatedness import CONTEXT_FEATURES
from rejoinder.models.registry import FAMILIES, get_family, load_object
from rejoinder.models.scorer import Candidates, Scores
from rejoinder.types import Example, to_candidates


def list_rankers() -> dict[str, str]:
    """Return the dotted path of each small ranker's pair encoder, by its family's name."""
    return {name: path for name in FAMILIES if (path := get_family(name).encoder)}


@dataclass(frozen=True, slots=True)
class RankerConfig:
    """Everything needed to rebuild the network before loading its weights."""

    model: str
    vector_width: int
    head: str = "none"
    dropout: float = 0.0
    context: str = "none"
    """The form of the context features that it reads, one of `CONTEXT_FEATURES`."""

    def __post_init__(self) -> None:
        if self.model not in (models := list_rankers()):
            raise UnknownNameError("model", self.model, models)
        if self.head not in HEADS:
            raise UnknownNameError("head", self.head, HEADS)
        if self.context not in CONTEXT_FEATURES:
            raise UnknownNameError("form of context", self.context, CONTEXT_FEATURES)

    def to_dict(self) -> dict[str, Any]:
        """Return the configuration as plain JSON types; without `context` where it reads none."""
        settings = asdict(self)
        if self.context == "none":
            del settings["context"]
        return settings


class Ranker(nn.Module):
    """Scores pairs: encodes each, lets the head read the list, projects to one number."""

    def __init__(self, config: RankerConfig) -> None:
        super().__init__()
        self.config = config
        self.encoder = load_object(list_rankers()[config.model])(config.vector_width)
        pair_width, hidden_width = self.encoder.pair_width, self.encoder.hidden_width
        self.head = make_head_module(config.head, pair_width, hidden_width)
        self.output = nn.Linear(pair_width if config.head == "none" else hidden_width, 1)
        # The name is that of the weight in bundles.
        features = CONTEXT_FEATURES[config.context]
        self.around = nn.Linear(features, 1, bias=False) if features else None

    def forward(self, batch: Batch) -> Tensor:
        """Return one score per pair, shape (P,)."""
        pairs = self._drop(self.encoder(batch))
        read = self.head(pairs, batch.segment_lengths)
        if self.config.head != "none":
            read = self._drop(read)
        scores: Tensor = self.output(read).squeeze(1)
        if self.around is None:
            return scores
        return scores + self.around(batch.context_features).squeeze(1)

    def _drop(self, x: Tensor) -> Tensor:
        return functional.dropout(x, self.config.dropout, self.training)


def count_parameters(model: nn.Module) -> int:
    """Return the number of trainable parameters."""
    return sum(parameter.numel() for parameter in model.parameters())


def initialise(config: RankerConfig, seed: int) -> Ranker:
    """Return a new network whose weights depend on the seed alone."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return Ranker(config)


class TorchScorer:
    """Scores with the torch network, to evaluate it during training."""

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
        pairs = TrainingPairs([example], self._vectors, context=self._model.config.context)
        batch = move(pairs.batch(torch.tensor([0])), self._model.output.weight.device)
        with torch.no_grad():
            scores[pairs.order] = self._model(batch).numpy(force=True)
        return scores
