"""Selectors in torch: cross-encoders that read question and sentence together (Garg et al. 2019).

The score is read from the state of [CLS], as usual, and from how alike the two sides are after each
has read the other: the cosine of their mean states, with one learnt weight per dimension.  The base
encoder was trained for that cosine, so training starts from a scorer that ranks.

Context is read as more tokens behind the pair, each with the kind of its part, or by multi-way
attention besides (Han et al. 2021; docs/models/context.md).

Axes: P pairs, L tokens of the input, E width.
"""

from collections.abc import Mapping
from copy import deepcopy
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from rejoinder.errors import InputError
from rejoinder.models.encoders.architectures import KINDS as KIND_VECTORS
from rejoinder.models.encoders.architectures import add_kinds, freeze_embeddings, read_states
from rejoinder.models.encoders.loading import DEFAULT
from rejoinder.models.selector.context import ContextConfig
from rejoinder.models.selector.module.multiway import MultiWay, take_mean
from rejoinder.models.selector.pair_reader import CANDIDATE, KINDS, QUESTION

ALIKE = 10.0
"""The initial weight of the cosine of the two sides; a score of ±5 is a confident one."""


@dataclass(frozen=True, slots=True)
class SelectorConfig:
    """Everything needed to rebuild the network before loading its weights."""

    encoder: str = DEFAULT
    layers: int | None = None
    """Keep the first so many layers of the encoder; None keeps all."""
    max_tokens: int = 192
    context: ContextConfig = field(default_factory=ContextConfig)
    recipe: str = "cosine"
    """How a score is read from the states: the `cosine` of the two sides and the first state,
    or by the `classifier` that the encoder's architecture has."""

    @classmethod
    def from_dict(cls, settings: Mapping[str, Any]) -> "SelectorConfig":
        """Return the settings of `to_dict`; a bundle without context settings reads none."""
        context = ContextConfig(**settings.get("context", {}))
        return cls(**{**settings, "context": context})

    def to_dict(self) -> dict[str, Any]:
        """Return the settings as plain JSON types, without those that are the default."""
        settings = asdict(self)
        if self.context.form == "none":
            del settings["context"]
        if self.recipe == "cosine":
            del settings["recipe"]
        return settings


class Selector(nn.Module):
    """Scores pairs of a question and a candidate, each by itself."""

    def __init__(self, config: SelectorConfig, encoder: Any) -> None:
        super().__init__()
        self.config = config
        self.encoder = encoder
        width = encoder.config.hidden_size
        self.alike = nn.Parameter(torch.full((width,), ALIKE))
        self.first = nn.Linear(width, 1)
        nn.init.zeros_(self.first.weight)
        nn.init.constant_(self.first.bias, -ALIKE / 2)
        self.dropout = nn.Dropout(0.1)
        context = config.context
        self.ways: MultiWay | None = None
        if context.is_multi_way:
            self.ways = MultiWay(width, context.vector_width, context.attention)

    def forward(
        self,
        ids: Tensor,
        mask: Tensor,
        kinds: Tensor,
        near: Tensor | None = None,
        page: Tensor | None = None,
    ) -> Tensor:
        """Return scores (P,) of inputs (P, L); the mask is 1 where there is a token."""
        states = read_states(self.encoder, ids, mask, kinds).float()
        score = self.judge(states, mask, kinds)
        return score if self.ways is None else score + self.ways(states, mask, kinds, near, page)

    def judge(self, states: Tensor, mask: Tensor, kinds: Tensor) -> Tensor:
        """Return scores (P,) of encoded pairs (P, L, width) by themselves."""
        alike = (multiply_sides(states, mask, kinds) * self.alike).sum(dim=1)
        score: Tensor = alike + self.first(self.dropout(states[:, 0])).squeeze(1)
        return score

    def get_new_parameters(self) -> list[nn.Parameter]:
        """Return the weights that do not start from a trained selector."""
        return [] if self.ways is None else list(self.ways.parameters())


def multiply_sides(states: Tensor, mask: Tensor, kinds: Tensor) -> Tensor:
    """Return the product of the mean states of question and candidate, of length 1, (P, E)."""
    question, candidate = (
        functional.normalize(take_mean(states, mask * (kinds == kind)), dim=1)
        for kind in (QUESTION, CANDIDATE)
    )
    return question * candidate


def add_context(model: Selector, context: ContextConfig) -> Selector:
    """Return a selector with the same weights that reads this context.

    Tokens around the pair begin with the kind of the question: only the candidate is marked.  A
    selector that reads titles and headings may read any other context instead.

    Raises:
        InputError: the selector reads another context already.
    """
    known = model.config.context
    if known == context:
        return model
    encoder = copy_for_context(model.encoder, known, context)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        extended = Selector(replace(model.config, context=context), encoder)
    extended.alike.data.copy_(model.alike.data)
    extended.first.load_state_dict(model.first.state_dict())
    freeze_embeddings(encoder, KINDS)
    return extended


def copy_for_context(network: Any, known: ContextConfig, context: ContextConfig) -> Any:
    """Return a copy of a network of `transformers` that reads the kinds of tokens of a context.

    Raises:
        InputError: the network reads another context, `known`, already.
    """
    # A network without token types gets vectors for the kinds of tokens that only context needs.
    is_stuck = hasattr(network.base_model, KIND_VECTORS) and not context.reads_tokens
    if known.form not in ("none", "title", "headings") or is_stuck:
        raise InputError(f"the selector reads context {known.form!r} already")
    copied = deepcopy(network)
    if context.reads_tokens and not known.reads_tokens:
        add_kinds(copied.base_model, KINDS, first=QUESTION, second=CANDIDATE)
    return copied
