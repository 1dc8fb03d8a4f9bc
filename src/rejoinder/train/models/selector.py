"""The selector: a transformer that reads question and sentence together (Garg et al. 2019).

Its score is read from the first state, as usual, and from how alike the two sides are after
each has read the other: the cosine of their mean states, one learnt weight per dimension.
The base encoder was trained for that cosine, so training starts from a scorer that ranks.
"""

from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from rejoinder.errors import InputError
from rejoinder.train.encoders import DEFAULT, find_encoder

ALIKE = 10.0
"""What the cosine of the two sides counts at the start; a score of ±5 is a sure one."""


@dataclass(frozen=True, slots=True)
class SelectorConfig:
    """Everything needed to rebuild the network before loading its weights."""

    encoder: str = DEFAULT
    layers: int | None = None
    """Keep the first so many layers of the encoder; None keeps all."""
    max_tokens: int = 192


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

    def forward(self, ids: Tensor, mask: Tensor, kinds: Tensor) -> Tensor:
        """Return scores (P,) of inputs (P, L); the mask is 1 where there is a token."""
        states = self.encoder(
            input_ids=ids, attention_mask=mask, token_type_ids=kinds
        ).last_hidden_state.float()  # (P, L, E)
        question = functional.normalize(_mean(states, mask * (1 - kinds)), dim=1)  # (P, E)
        candidate = functional.normalize(_mean(states, mask * kinds), dim=1)  # (P, E)
        alike = (question * candidate * self.alike).sum(dim=1)
        score: Tensor = alike + self.first(self.dropout(states[:, 0])).squeeze(1)
        return score


def load_selector(config: SelectorConfig, *, seed: int = 0) -> tuple[Selector, list[str]]:
    """Return a selector over a pretrained encoder, and the encoder's vocabulary.

    The vectors of word pieces stay as they are: they are half of all weights, and few of
    them would be seen in training.

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
    encoder.embeddings.requires_grad_(False)
    room = min(config.max_tokens, encoder.config.max_position_embeddings)
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        model = Selector(replace(config, max_tokens=room), encoder)
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


def _mean(states: Tensor, weights: Tensor) -> Tensor:
    counts = weights.float()[:, :, None]  # (P, L, 1)
    return (states * counts).sum(dim=1) / counts.sum(dim=1).clamp(min=1.0)
