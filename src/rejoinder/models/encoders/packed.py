"""BERT's encoder over texts of different lengths, all tokens in one row.

Only attention needs a text's tokens beside each other, padded; everything else is computed
token by token, on those there are.

Axes: P texts, L tokens of the longest, T tokens of all texts, E width, A heads, D = E / A.
"""

from typing import Any

import torch
from torch import Tensor

LOWEST = -1e9
"""Added to attention on padding."""
DRAWS = 4
"""16-bit numbers that one draw of 64 bits gives."""


def read_packed(encoder: Any, ids: Tensor, mask: Tensor, kinds: Tensor) -> Tensor:
    """Return the last states (P, L, E) of inputs (P, L), as `encoder` does; 0 for padding.

    Args:
        encoder: a BERT of `transformers`.
        mask: 1 where there is a token.
    """
    places = mask.flatten().nonzero().squeeze(1)  # (T,)
    hidden = ((1 - mask) * LOWEST)[:, None, None]  # (P, 1, 1, L)
    states = _embed(encoder.embeddings, ids, kinds, places)
    for layer in encoder.encoder.layer:
        read = _attend(layer.attention.self, states, places, hidden)
        states = _add(layer.attention.output, read, states)
        states = _add(layer.output, layer.intermediate(states), states)
    return _unpack(states, places, mask.shape)


def _embed(embeddings: Any, ids: Tensor, kinds: Tensor, places: Tensor) -> Tensor:
    """Return the sum of piece, position and kind, normalised, (T, E)."""
    states = (
        embeddings.word_embeddings(ids.flatten()[places])
        + embeddings.token_type_embeddings(kinds.flatten()[places])
        + embeddings.position_embeddings(places % ids.shape[1])
    )
    return drop(embeddings.LayerNorm(states), embeddings.dropout)


def _attend(attention: Any, states: Tensor, places: Tensor, hidden: Tensor) -> Tensor:
    """Return what each token reads of the others of its text, (T, E)."""
    shape = (hidden.shape[0], hidden.shape[3])
    heads = attention.num_attention_heads
    query, key, value = (
        _unpack(project(states), places, shape).unflatten(2, (heads, -1)).transpose(1, 2)
        for project in (attention.query, attention.key, attention.value)
    )  # (P, A, L, D)
    alike = query @ key.transpose(2, 3) * query.shape[3] ** -0.5  # (P, A, L, L)
    weights = (alike + hidden).softmax(dim=3).to(value.dtype)
    read = drop(weights, attention.dropout) @ value
    return read.transpose(1, 2).flatten(2).flatten(0, 1)[places]


def _add(output: Any, read: Tensor, states: Tensor) -> Tensor:
    """Return the states with what a layer's part has made of them, (T, E)."""
    added: Tensor = output.LayerNorm(drop(output.dense(read), output.dropout) + states)
    return added


def _unpack(packed: Tensor, places: Tensor, shape: tuple[int, ...]) -> Tensor:
    """Return tokens (T, E) at their places, (P, L, E)."""
    padded = packed.new_zeros((shape[0] * shape[1], packed.shape[1]))
    return padded.index_copy(0, places, packed).unflatten(0, shape)


def drop(states: Tensor, dropout: Any) -> Tensor:
    """Return states with a part of them at 0, as `dropout` does where it is trained.

    Four numbers are drawn at once; torch's own dropout draws them one by one.
    """
    if not dropout.training or not dropout.p:
        return states
    count = states.numel()
    drawn = torch.empty(-(-count // DRAWS), dtype=torch.int64).random_(-(2**63), None)
    threshold = round(dropout.p * 2**16) - 2**15
    kept = drawn.view(torch.int16)[:count].view(states.shape) >= threshold
    return states * kept.to(states.dtype).mul_(1 / (1 - dropout.p))
