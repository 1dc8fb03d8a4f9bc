"""A pair encoder, a head over the list, and the score: every model is one of these."""

from dataclasses import asdict, dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from rejoinder.errors import UnknownNameError
from rejoinder.models.compare_aggregate.module import CompareAggregate, CompareAggregateBilstm
from rejoinder.models.cosinet.module import Cosinet
from rejoinder.models.ranker.module.heads import HEADS, make_head
from rejoinder.models.ranker.module.pairs import Batch
from rejoinder.models.ranker.surroundings import COUNT
from rejoinder.models.rel_cnn.module import RelCnn

ENCODERS: dict[str, type[nn.Module]] = {
    "cosinet": Cosinet,
    "rel-cnn": RelCnn,
    "compare-aggregate": CompareAggregate,
    "compare-aggregate-bilstm": CompareAggregateBilstm,
}


@dataclass(frozen=True, slots=True)
class RankerConfig:
    """Everything needed to rebuild the network before loading its weights."""

    model: str
    vector_width: int
    head: str = "none"
    dropout: float = 0.0
    context: bool = False
    """Whether it reads how related the question is to what stands around a candidate."""

    def __post_init__(self) -> None:
        if self.model not in ENCODERS:
            raise UnknownNameError("model", self.model, ENCODERS)
        if self.head not in HEADS:
            raise UnknownNameError("head", self.head, HEADS)

    def to_dict(self) -> dict[str, Any]:
        """Return the configuration as plain JSON types; nothing of context where there is none."""
        settings = asdict(self)
        if not self.context:
            del settings["context"]
        return settings


class Ranker(nn.Module):
    """Scores pairs: encode each, let the head read the list, project to one number."""

    def __init__(self, config: RankerConfig) -> None:
        super().__init__()
        self.config = config
        self.encoder = ENCODERS[config.model](config.vector_width)
        pair_width: int = self.encoder.pair_width  # type: ignore[assignment]
        hidden_width: int = self.encoder.hidden_width  # type: ignore[assignment]
        self.head = make_head(config.head, pair_width, hidden_width)
        self.output = nn.Linear(pair_width if config.head == "none" else hidden_width, 1)
        self.around = nn.Linear(COUNT, 1, bias=False) if config.context else None

    def forward(self, batch: Batch) -> Tensor:
        """Return one score per pair, shape (P,)."""
        pairs = self._drop(self.encoder(batch))
        read = self.head(pairs, batch.segment_lengths)
        if self.config.head != "none":
            read = self._drop(read)
        scores: Tensor = self.output(read).squeeze(1)
        return scores if self.around is None else scores + self.around(batch.around).squeeze(1)

    def _drop(self, x: Tensor) -> Tensor:
        return functional.dropout(x, self.config.dropout, self.training)


def count_parameters(model: nn.Module) -> int:
    """Return how many numbers training changes."""
    return sum(parameter.numel() for parameter in model.parameters())


def initialise(config: RankerConfig, seed: int) -> Ranker:
    """Return a new network whose weights depend on the seed alone."""
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        return Ranker(config)
