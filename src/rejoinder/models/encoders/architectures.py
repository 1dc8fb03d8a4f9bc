"""What differs between the encoders of `transformers`: layers, positions, token types; in torch.

BERT's own layers are read packed, without padding (packed.py), and exported by hand
(onnx_bert.py).  Every other encoder is read by its own forward pass.
"""

from typing import Any

import torch
from torch import Tensor, nn

from rejoinder.models.encoders.packed import read_packed
from rejoinder.models.encoders.source import OFFSET

ARCHITECTURES = (
    "bert",
    "roberta",
    "xlm-roberta",
    "camembert",
    "distilbert",
    "electra",
    "mpnet",
    "deberta",
    "deberta-v2",
    "modernbert",
)
"""Values of `model_type` that are supported; DeBERTa-v3 is `deberta-v2`."""
PACKED = ("bert", "roberta", "xlm-roberta", "camembert")
"""Those whose layers are BERT's."""
LAYERS = ("encoder.layer", "transformer.layer", "layers")
KINDS = "kind_embeddings"
"""The vectors of kinds that are added to an encoder without token types."""


def is_packed(encoder: Any) -> bool:
    """Return whether the fast paths, `read_packed` and `add_encoder`, hold for an encoder."""
    config = encoder.config
    is_absolute = getattr(config, "position_embedding_type", "absolute") == "absolute"
    return config.model_type in PACKED and config.hidden_act == "gelu" and is_absolute


def read_states(encoder: Any, ids: Tensor, mask: Tensor, kinds: Tensor) -> Tensor:
    """Return the last states (P, L, E) of inputs (P, L).

    Args:
        mask: 1 for a token, 0 for padding.
        kinds: the kind of each token, which encoders with token types read.
    """
    if is_packed(encoder):
        return read_packed(encoder, ids, mask, kinds, offset=get_offset(encoder.config))
    states: Tensor = encoder(**name_inputs(encoder, ids, mask, kinds)).last_hidden_state
    return states


def name_inputs(encoder: Any, ids: Tensor, mask: Tensor, kinds: Tensor) -> dict[str, Tensor]:
    """Return what the forward pass of an encoder takes, or of the model around it."""
    given: dict[str, Tensor] = {"attention_mask": mask}
    if hasattr(encoder, KINDS):
        embed = encoder.get_input_embeddings()
        given["inputs_embeds"] = embed(ids) + getattr(encoder, KINDS)(kinds)
    else:
        given["input_ids"] = ids
    if has_types(encoder.config):
        given["token_type_ids"] = kinds
    return given


def get_offset(config: Any) -> int:
    """Return the position of the first token."""
    return int(config.pad_token_id) + 1 if config.model_type in OFFSET else 0


def get_max_tokens(config: Any) -> int:
    """Return how many tokens an encoder reads at most."""
    return int(config.max_position_embeddings) - get_offset(config)


def has_types(config: Any) -> bool:
    """Return whether an encoder tells the first text from the second by token types."""
    return int(getattr(config, "type_vocab_size", 0) or 0) > 1


def get_layers(encoder: Any) -> nn.ModuleList:
    """Return the layers of an encoder, first to last."""
    for path in LAYERS:
        try:
            layers = encoder.get_submodule(path)
        except AttributeError:
            continue
        assert isinstance(layers, nn.ModuleList), "layers are a list"
        return layers
    raise AssertionError(f"{encoder.config.model_type} has no layers that are known")


def keep_layers(encoder: Any, count: int) -> None:
    """Drop all but the first layers of an encoder."""
    layers = get_layers(encoder)
    del layers[count:]
    encoder.config.num_hidden_layers = len(layers)
    if getattr(encoder.config, "layer_types", None):
        encoder.config.layer_types = encoder.config.layer_types[: len(layers)]


def freeze_layers(encoder: Any, trained: int) -> None:
    """Leave an encoder as it is, but for so many last layers."""
    encoder.requires_grad_(False)
    for layer in get_layers(encoder)[-trained:]:
        layer.requires_grad_(True)


def add_kinds(encoder: Any, count: int, *, first: int, second: int) -> None:
    """Give an encoder so many kinds of tokens.

    New kinds begin as the kind `first`, which has the token type 0; the kind `second` has the
    token type 1 where there is one.
    """
    known = getattr(encoder.embeddings, "token_type_embeddings", None)
    if known is None:
        kinds = nn.Embedding(count, encoder.get_input_embeddings().embedding_dim)
        nn.init.zeros_(kinds.weight)
        encoder.add_module(KINDS, kinds)
        return
    kinds = nn.Embedding(count, known.embedding_dim)
    with torch.no_grad():
        kinds.weight[:] = known.weight[first]
        kinds.weight[second] = known.weight[min(second, len(known.weight) - 1)]
    encoder.embeddings.token_type_embeddings = kinds
    encoder.config.type_vocab_size = count


def freeze_embeddings(encoder: Any, kinds: int) -> None:
    """Leave the vectors of tokens as they are; `kinds` vectors of kinds are new, and learnt.

    They are half of all weights, and few of them would be seen in training.
    """
    encoder.embeddings.requires_grad_(False)
    types = getattr(encoder.embeddings, "token_type_embeddings", None)
    if types is not None:
        types.requires_grad_(types.num_embeddings == kinds)
