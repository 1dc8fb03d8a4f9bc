"""The selector: a transformer that reads question and sentence together (Garg et al. 2019).

Its score is read from the first state, as usual, and from how alike the two sides are after
each has read the other: the cosine of their mean states, one learnt weight per dimension.
The base encoder was trained for that cosine, so training starts from a scorer that ranks.

What stands around the candidate is read as more tokens behind the pair, each with the kind of
its part, or by multi-way attention besides (docs/models/context.md).
"""

from collections.abc import Mapping
from copy import deepcopy
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from rejoinder.errors import InputError
from rejoinder.models.encoders.loading import DEFAULT, find_encoder
from rejoinder.models.encoders.packed import read_packed
from rejoinder.models.selector.context import ContextConfig
from rejoinder.models.selector.module.multi_way import MultiWay, take_mean
from rejoinder.models.selector.tokens import CANDIDATE, KINDS, QUESTION

ALIKE = 10.0
"""What the cosine of the two sides counts at the start; a score of ±5 is a sure one."""


@dataclass(frozen=True, slots=True)
class SelectorConfig:
    """Everything needed to rebuild the network before loading its weights."""

    encoder: str = DEFAULT
    layers: int | None = None
    """Keep the first so many layers of the encoder; None keeps all."""
    max_tokens: int = 192
    context: ContextConfig = field(default_factory=ContextConfig)

    @classmethod
    def from_dict(cls, settings: Mapping[str, Any]) -> "SelectorConfig":
        """Return what `asdict` gave; a bundle that says nothing of context reads none."""
        context = ContextConfig.from_dict(settings.get("context", {}))
        return cls(**{**settings, "context": context})

    def to_dict(self) -> dict[str, Any]:
        """Return the settings as plain JSON types; nothing of context where there is none."""
        settings = asdict(self)
        if self.context.form == "none":
            del settings["context"]
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
        return read_packed(self.encoder, ids, mask, kinds).float()

    def judge(self, states: Tensor, mask: Tensor, kinds: Tensor) -> tuple[Tensor, Tensor]:
        """Return the scores (P,) of question and candidate, and what they are made of, (P, 2E)."""
        question = functional.normalize(take_mean(states, mask * (kinds == QUESTION)), dim=1)
        candidate = functional.normalize(take_mean(states, mask * (kinds == CANDIDATE)), dim=1)
        sides = question * candidate  # (P, E)
        alike = (sides * self.alike).sum(dim=1)
        score: Tensor = alike + self.first(self.dropout(states[:, 0])).squeeze(1)
        return score, torch.cat([states[:, 0], sides * states.shape[2]], dim=1)

    def get_new_parameters(self) -> list[nn.Parameter]:
        """Return the weights that do not begin with what was learnt before."""
        return [] if self.ways is None else list(self.ways.parameters())


def add_context(model: Selector, context: ContextConfig) -> Selector:
    """Return a selector with the same weights that reads context too.

    Tokens around the pair begin with the kind of the question: only the candidate is marked.

    Raises:
        InputError: the selector reads another context already.
    """
    if model.config.context == context:
        return model
    if model.config.context.form != "none":
        raise InputError(f"the selector reads context {model.config.context.form!r} already")
    encoder = deepcopy(model.encoder)
    if not context.is_vectors:
        _add_kinds(encoder)
    with torch.random.fork_rng():
        torch.manual_seed(0)
        extended = Selector(replace(model.config, context=context), encoder)
    extended.alike.data.copy_(model.alike.data)
    extended.first.load_state_dict(model.first.state_dict())
    freeze_embeddings(extended)
    return extended


def freeze_embeddings(model: Selector) -> None:
    """Leave the vectors of word pieces as they are; kinds are learnt where they are new.

    They are half of all weights, and few of them would be seen in training.
    """
    embeddings = model.encoder.embeddings
    embeddings.requires_grad_(False)
    kinds = embeddings.token_type_embeddings
    kinds.requires_grad_(kinds.num_embeddings == KINDS)


def _add_kinds(encoder: Any) -> None:
    known = encoder.embeddings.token_type_embeddings
    kinds = nn.Embedding(KINDS, known.embedding_dim)
    with torch.no_grad():
        kinds.weight[:] = known.weight[QUESTION]
        kinds.weight[CANDIDATE] = known.weight[CANDIDATE]
    encoder.embeddings.token_type_embeddings = kinds
    encoder.config.type_vocab_size = KINDS


def load_selector(config: SelectorConfig, *, seed: int = 0) -> tuple[Selector, list[str]]:
    """Return a selector over a pretrained encoder, and the encoder's vocabulary.

    Raises:
        InputError: the encoder cannot be found or loaded, or does not cut words as BERT does.
    """
    encoder, tokenizer = _load(config.encoder)
    vocabulary = tokenizer.get_vocab()
    word = "".join(tokenizer.tokenize("Café")).replace("##", "")
    if encoder.config.model_type != "bert" or word != "cafe":
        raise InputError(f"{config.encoder}: not a BERT-like encoder of uncased word pieces")
    if config.layers is not None:
        encoder.encoder.layer = encoder.encoder.layer[: config.layers]
        encoder.config.num_hidden_layers = len(encoder.encoder.layer)
    room = min(config.max_tokens, encoder.config.max_position_embeddings)
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        model = Selector(replace(config, max_tokens=room), encoder)
    freeze_embeddings(model)
    return model, sorted(vocabulary, key=vocabulary.__getitem__)


def _load(name: str) -> tuple[Any, Any]:
    from transformers import AutoModel, AutoTokenizer
    from transformers.utils import logging

    logging.set_verbosity_error()
    logging.disable_progress_bar()
    place = find_encoder(name)
    try:
        tokenizer = AutoTokenizer.from_pretrained(place)
        encoder = AutoModel.from_pretrained(
            place, attn_implementation="eager", add_pooling_layer=False
        )
    except (OSError, ValueError, TypeError) as error:
        reason = str(error).splitlines()[0]
        raise InputError(f"{name}: cannot be loaded as an encoder: {reason}") from error
    return encoder, tokenizer
