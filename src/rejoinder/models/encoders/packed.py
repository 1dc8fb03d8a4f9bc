"""BERT's encoder over texts of different lengths, without computing on padding.

Only attention needs a text's tokens together, padded; everything else is computed token by
token, with the tokens of all texts packed in one row.

Axes: P texts, L tokens of the longest, T tokens of all texts, E width, A heads, D = E / A.
"""

from typing import Any

import torch
from torch import Tensor

MASKED = -1e9
"""Added to attention on padding."""
DRAWS = 4
"""16-bit random numbers in one draw of 64 bits."""


def read_packed(
    encoder: Any, ids: Tensor, mask: Tensor, kinds: Tensor, *, offset: int = 0
) -> Tensor:
    """Return the last states (P, L, E) of inputs (P, L), as `encoder` does; 0 for padding.

    Args:
        encoder: an encoder of `transformers` with BERT's layers.
        mask: 1 for a token, 0 for padding.
        kinds: the kinds of tokens; an encoder with one token type reads none.
        offset: the position of the first token.
    """
    positions = mask.flatten().nonzero().squeeze(1)  # (T,)
    masked = ((1 - mask) * MASKED)[:, None, None]  # (P, 1, 1, L)
    states = _embed(encoder.embeddings, ids, kinds, positions, offset)
    for layer in encoder.encoder.layer:
        read = _attend(layer.attention.self, states, positions, masked)
        states = _add(layer.attention.output, read, states)
        states = _add(layer.output, layer.intermediate(states), states)
    return _unpack(states, positions, mask.shape)


def _embed(embeddings: Any, ids: Tensor, kinds: Tensor, positions: Tensor, offset: int) -> Tensor:
    """Return the sum of token, position and token type embeddings, normalised, (T, E)."""
    types = embeddings.token_type_embeddings
    states = (
        embeddings.word_embeddings(ids.flatten()[positions])
        + types(kinds.flatten()[positions].clamp(max=types.num_embeddings - 1))
        + embeddings.position_embeddings(positions % ids.shape[1] + offset)
    )
    return drop(embeddings.LayerNorm(states), embeddings.dropout)


def _attend(attention: Any, states: Tensor, positions: Tensor, masked: Tensor) -> Tensor:
    """Return each token's attention over its text, (T, E)."""
    shape = (masked.shape[0], masked.shape[3])
    heads = attention.num_attention_heads
    query, key, value = (
        _unpack(project(states), positions, shape).unflatten(2, (heads, -1)).transpose(1, 2)
        for project in (attention.query, attention.key, attention.value)
    )  # (P, A, L, D)
    similarities = query @ key.transpose(2, 3) * query.shape[3] ** -0.5  # (P, A, L, L)
    weights = (similarities + masked).softmax(dim=3).to(value.dtype)
    read = drop(weights, attention.dropout) @ value
    return read.transpose(1, 2).flatten(2).flatten(0, 1)[positions]


def _add(output: Any, read: Tensor, states: Tensor) -> Tensor:
    """Apply an output block: dense, dropout, residual and LayerNorm, (T, E)."""
    added: Tensor = output.LayerNorm(drop(output.dense(read), output.dropout) + states)
    return added


def _unpack(packed: Tensor, positions: Tensor, shape: tuple[int, ...]) -> Tensor:
    """Return packed tokens (T, E) padded, (P, L, E)."""
    padded = packed.new_zeros((shape[0] * shape[1], packed.shape[1]))
    return padded.index_copy(0, positions, packed).unflatten(0, shape)


def drop(states: Tensor, dropout: Any) -> Tensor:
    """Apply dropout with four random numbers per draw; torch's own draws them one by one."""
    if not dropout.training or not dropout.p:
        return states
    count = states.numel()
    drawn = torch.empty(-(-count // DRAWS), dtype=torch.int64, device=states.device)
    drawn.random_(-(2**63), None)
    threshold = round(dropout.p * 2**16) - 2**15
    kept = drawn.view(torch.int16)[:count].view(states.shape) >= threshold
    return states * kept.to(states.dtype).mul_(1 / (1 - dropout.p))
