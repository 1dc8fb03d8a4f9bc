"""Selectors in torch: cross-encoders that read question and sentence together (Garg et al. 2019).

The score is read from the state of [CLS], as usual, and from how alike the two sides are after each
has read the other: the cosine of their mean states, with one learnt weight per dimension.  The base
encoder was trained for that cosine, so training starts from a scorer that ranks.

Context is read as more tokens behind the pair, each with the kind of its part, or by multi-way
attention besides (Han et al. 2021; docs/models/context.md).

Axes: P pairs, L tokens of the input, N tokens or vectors of a part, E width.
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
from rejoinder.models.selector.pair_reader import CANDIDATE, KINDS, LOCAL, PAGE, QUESTION

HIDDEN_WIDTH = 128
MASKED = -1e9
"""Added to attention scores outside of a part."""
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


class MultiWay(nn.Module):
    """Multi-way attention: the question reads the candidate, the neighbours and the page apart.

    Han et al. 2021 after Tan et al. 2018, "Multiway Attention Networks for Modeling Sentence
    Pairs".  Each token of the question attends to the tokens of one part at a time; attention is
    the dot product with one learnt weight per dimension and part.  The attended states of each
    part, averaged over the question, and their product with the question's own mean state, go
    through one hidden layer.
    """

    def __init__(self, width: int, vector_width: int = 0) -> None:
        super().__init__()
        self.scales = nn.Parameter(torch.ones(3, width))
        self.project = nn.Linear(vector_width, width) if vector_width else None
        self.hidden = nn.Linear(7 * width, HIDDEN_WIDTH)
        self.output = make_output()
        self.dropout = nn.Dropout(0.1)

    def forward(
        self,
        states: Tensor,
        mask: Tensor,
        kinds: Tensor,
        near: Tensor | None = None,
        page: Tensor | None = None,
    ) -> Tensor:
        """Return the addition to the scores, (P,); near and page are vectors (P, N, D)."""
        parts = [(states, mask * (kinds == kind)) for kind in (CANDIDATE, LOCAL, PAGE)]
        if self.project is not None:
            assert near is not None, "the neighbours come as vectors"
            assert page is not None, "the page comes as vectors"
            parts[1:] = [self._to_part(near), self._to_part(page)]
        is_question = mask * (kinds == QUESTION)
        question = take_mean(states, is_question)
        read = [
            take_mean(_attend(states * scale, *part), is_question)
            for scale, part in zip(self.scales, parts, strict=True)
        ]
        joined = torch.cat([question, *read, *(question * part for part in read)], dim=1)
        score: Tensor = self.output(self.dropout(functional.gelu(self.hidden(joined)))).squeeze(1)
        return score

    def _to_part(self, vectors: Tensor) -> tuple[Tensor, Tensor]:
        """Return vectors as states, and their mask: zeros are padding."""
        assert self.project is not None, "only vectors are projected"
        # Vectors have length 1, states about the square root of their width.
        states = self.project(vectors * vectors.shape[2] ** 0.5).float()
        return states, (vectors != 0).any(dim=2)


def make_output() -> nn.Linear:
    """Return the layer after a hidden one; it starts at zero, so that scores start unchanged."""
    output = nn.Linear(HIDDEN_WIDTH, 1)
    nn.init.zeros_(output.weight)
    nn.init.zeros_(output.bias)
    return output


def take_mean(states: Tensor, weights: Tensor) -> Tensor:
    """Return the mean of the states (P, L, E) that have a weight of 1, (P, E)."""
    counts = weights.float()[:, :, None]  # (P, L, 1)
    return (states * counts).sum(dim=1) / counts.sum(dim=1).clamp(min=1.0)


def _attend(query: Tensor, states: Tensor, mask: Tensor) -> Tensor:
    """Return the attended states of a part, (P, L, E); zeros where it is empty."""
    there = mask.float()[:, None, :]  # (P, 1, N)
    alike = query @ states.transpose(1, 2) / states.shape[2] ** 0.5  # (P, L, N)
    weights = torch.softmax(alike.float() + (1 - there) * MASKED, dim=2) * there
    return (weights @ states).float()


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
        is_multi_way = config.context.form in ("multi-way", "stored")
        self.ways = MultiWay(width, config.context.vector_width) if is_multi_way else None

    def forward(
        self,
        ids: Tensor,
        mask: Tensor,
        kinds: Tensor,
        near: Tensor | None = None,
        page: Tensor | None = None,
    ) -> Tensor:
        """Return scores (P,) of inputs (P, L); the mask is 1 where there is a token."""
        states = self.read(ids, mask, kinds)
        score, _ = self.judge(states, mask, kinds)
        return score if self.ways is None else score + self.ways(states, mask, kinds, near, page)

    def read(self, ids: Tensor, mask: Tensor, kinds: Tensor) -> Tensor:
        """Return the encoder's last states, (P, L, E)."""
        return read_states(self.encoder, ids, mask, kinds).float()

    def judge(self, states: Tensor, mask: Tensor, kinds: Tensor) -> tuple[Tensor, Tensor]:
        """Return the scores (P,) of question and candidate, and their encodings, (P, 2E)."""
        question = functional.normalize(take_mean(states, mask * (kinds == QUESTION)), dim=1)
        candidate = functional.normalize(take_mean(states, mask * (kinds == CANDIDATE)), dim=1)
        sides = question * candidate  # (P, E)
        alike = (sides * self.alike).sum(dim=1)
        score: Tensor = alike + self.first(self.dropout(states[:, 0])).squeeze(1)
        return score, torch.cat([states[:, 0], sides * states.shape[2]], dim=1)

    def get_new_parameters(self) -> list[nn.Parameter]:
        """Return the weights that do not start from a trained selector."""
        return [] if self.ways is None else list(self.ways.parameters())


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
    # A network without token types gets vectors for the kinds of tokens that only context needs.
    is_stuck = hasattr(model.encoder, KIND_VECTORS) and not context.reads_tokens
    if known.form not in ("none", "title", "headings") or is_stuck:
        raise InputError(f"the selector reads context {known.form!r} already")
    encoder = deepcopy(model.encoder)
    if context.reads_tokens and not known.reads_tokens:
        add_kinds(encoder, KINDS, first=QUESTION, second=CANDIDATE)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        extended = Selector(replace(model.config, context=context), encoder)
    extended.alike.data.copy_(model.alike.data)
    extended.first.load_state_dict(model.first.state_dict())
    freeze_embeddings(encoder, KINDS)
    return extended
