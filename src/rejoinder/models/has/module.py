"""HAS: a question attends over an answer's words, which are hashed to bits.

Xu & Li 2020, "Hashing based Answer Selection".  Both sides go through one encoder.  The
answer's words V become B = tanh(beta V), close to ±1; a question u, max-pooled, attends over
them, and the score is the cosine of the two.  The baselines of the paper's Table 5 are the
same network with less: attention over V itself, and max-pooling of both sides.

Axes: P texts, L tokens, D width, M attention width.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from rejoinder.errors import InputError
from rejoinder.models.encoders.architectures import (
    freeze_embeddings,
    get_max_tokens,
    keep_layers,
    read_states,
)
from rejoinder.models.encoders.loading import DEFAULT, load_encoder
from rejoinder.models.has.compositions import COMPOSITIONS
from rejoinder.text.tokenizer import Tokenizer

LOWEST = -1e9
"""The value of padding before a maximum or a softmax."""


@dataclass(frozen=True, slots=True)
class HasConfig:
    """Everything needed to rebuild the network before loading its weights.

    The numbers are the paper's for WikiQA.
    """

    encoder: str = DEFAULT
    composition: str = "has"
    attention_width: int = 128
    width: int | None = None
    """Project the encoder's states to so many numbers first; None keeps them as they are."""
    beta: float = 5.0
    delta: float = 1e-6
    """The weight of the distance from B to bits beside the hinge loss."""
    layers: int | None = None
    max_tokens: int = 128


class Words(NamedTuple):
    """The states of texts' word pieces, padded, and the mask of the pieces."""

    states: Tensor  # (P, L, D)
    mask: Tensor  # (P, L), bool


class Attention(nn.Module):
    """The logit of a word v for a question u: m · tanh(W1 v + W2 u)."""

    def __init__(self, width: int, attention_width: int) -> None:
        super().__init__()
        self.of_word = nn.Linear(width, attention_width, bias=False)
        self.of_question = nn.Linear(width, attention_width, bias=False)
        self.of_hidden = nn.Linear(attention_width, 1, bias=False)

    def forward(self, question: Tensor, words: Words) -> Tensor:
        """Return the mean of words (P, L, D), weighted by attention of a question (P, D)."""
        hidden = torch.tanh(self.of_word(words.states) + self.of_question(question)[:, None])
        logits = self.of_hidden(hidden).squeeze(2).masked_fill(~words.mask, LOWEST)  # (P, L)
        return (logits.softmax(dim=1)[:, :, None] * words.states).sum(dim=1)


class Has(nn.Module):
    """Scores pairs of a question and an answer."""

    def __init__(self, config: HasConfig, encoder: Any) -> None:
        super().__init__()
        self.config = config
        self.encoder = encoder
        encoded = encoder.config.hidden_size
        self.width = config.width or encoded
        self.project = nn.Linear(encoded, self.width) if config.width else None
        has_attention = config.composition != "pooling"
        self.attention = Attention(self.width, config.attention_width) if has_attention else None

    def encode(self, ids: Tensor, mask: Tensor) -> Words:
        """Return the states of inputs (P, L), which begin with [CLS] and end with [SEP]."""
        states = read_states(self.encoder, ids, mask, torch.zeros_like(ids)).float()
        if self.project is not None:
            states = self.project(states).float()
        # Of n tokens the first is [CLS] and the last [SEP]: words are at 1 to n - 2.
        places = torch.arange(ids.shape[1], device=ids.device)
        is_word = (places > 0) & (places < mask.sum(dim=1, keepdim=True) - 1)
        return Words(states, is_word)

    def hash(self, answers: Words) -> Words:
        """Return the answers' words as training reads them: nearly ±1 for HAS."""
        if self.config.composition != "has":
            return answers
        return Words(torch.tanh(self.config.beta * answers.states), answers.mask)

    def to_bits(self, answers: Words) -> Words:
        """Return the answers' words as they are stored: exactly ±1 for HAS."""
        if self.config.composition != "has":
            return answers
        return Words(take_signs(answers.states), answers.mask)

    def score(self, question: Tensor, answers: Words) -> Tensor:
        """Return the scores (P,) of answers that `hash` or `to_bits` returned.

        Args:
            question: the question of each answer, pooled, (P, D).
        """
        means = pool(answers) if self.attention is None else self.attention(question, answers)
        return functional.cosine_similarity(question, means, dim=1)


def take_signs(states: Tensor) -> Tensor:
    """Return 1 where a number is not negative, else -1."""
    return torch.where(states >= 0, 1.0, -1.0)


def pool(words: Words) -> Tensor:
    """Return the maximum of each number over the words, (P, D)."""
    return words.states.masked_fill(~words.mask[:, :, None], LOWEST).amax(dim=1)


def measure_distance(hashed: Words) -> Tensor:
    """Return the squared distance of each answer's words to bits, (P,).

    The bits are the paper's second set of parameters.  With the network held fixed, the best
    ones are the signs of its current output; they are then held fixed while it learns.
    """
    bits = take_signs(hashed.states.detach())
    squared = (hashed.states - bits).square().sum(dim=2)  # (P, L)
    return squared.masked_fill(~hashed.mask, 0.0).sum(dim=1)


def load_has(config: HasConfig, *, seed: int = 0) -> tuple[Has, Tokenizer]:
    """Return the network over a pretrained encoder, and the encoder's tokenizer.

    Raises:
        InputError: the encoder cannot be loaded or is not supported, or there is no such
            composition.
    """
    if config.composition not in COMPOSITIONS:
        known = ", ".join(COMPOSITIONS)
        raise InputError(f"composition {config.composition!r} is none of {known}")
    encoder, tokenizer = load_encoder(config.encoder)
    first, _, last = tokenizer.frame
    if len(first) != 1 or len(last) != 1:
        raise InputError(f"{config.encoder}: HAS reads texts between two special tokens")
    if config.layers is not None:
        keep_layers(encoder, config.layers)
    freeze_embeddings(encoder, 0)
    room = min(config.max_tokens, get_max_tokens(encoder.config))
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = Has(replace(config, max_tokens=room), encoder)
    return model, tokenizer


@dataclass(frozen=True, slots=True)
class Texts:
    """Padded token ids of some texts."""

    ids: Tensor  # (P, L)
    mask: Tensor  # (P, L), 1 where there is a token


def pad_texts(texts: Sequence[Sequence[int]]) -> Texts:
    """Return the ids of texts in one matrix."""
    longest = max(map(len, texts))
    ids = torch.zeros((len(texts), longest), dtype=torch.long)
    mask = torch.zeros_like(ids)
    for row, text in enumerate(texts):
        ids[row, : len(text)] = torch.tensor(text)
        mask[row, : len(text)] = 1
    return Texts(ids, mask)
