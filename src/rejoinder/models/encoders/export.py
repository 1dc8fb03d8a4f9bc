"""Writes networks over an encoder as bundles, if the runtime computes as torch does.

A bundle has the network, the tokenizer and the encoder's configuration, from which the network is
rebuilt to train on.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from rejoinder.bundle.folder import Bundle, Manifest, open_bundle, write_bundle
from rejoinder.errors import MissingExtraError
from rejoinder.models.encoders.architectures import (
    get_max_tokens,
    get_offset,
    is_packed,
    read_states,
)
from rejoinder.models.encoders.tokens import trim, write_tokenizer
from rejoinder.models.onnx_session import NETWORK
from rejoinder.text.tokenizer import Tokenizer

PRECISIONS = ("fp32", "int8")
ARCHITECTURE = "architecture"
"""The setting of a bundle that holds its encoder's configuration."""
LEFT_OUT = ("architectures", "transformers_version", "dtype", "torch_dtype", "id2label", "label2id")
"""What the configuration of an encoder says about its own file."""

Build = Callable[[Sequence[int], str], bytes]
"""Returns a network in a precision, for the rows of the embedding that it keeps."""


def write_network(
    folder: Path,
    manifest: Manifest,
    files: Mapping[str, bytes],
    *,
    encoder: Any,
    tokenizer: Tokenizer,
    build: Build,
    compare: Callable[[Bundle, str], dict[str, Any]],
) -> None:
    """Write a bundle of a network over an encoder, if the runtime computes as torch does.

    Args:
        manifest: its configuration has `max_tokens`.
        files: all but the network and its tokenizer.
        compare: compares a bundle in a precision with torch; returns fields of the manifest.
    """
    if manifest.precision not in PRECISIONS:
        known = ", ".join(PRECISIONS)
        raise ValueError(f"precision {manifest.precision!r} is none of {known}")
    kept, rows = trim(tokenizer, encoder.get_input_embeddings().num_embeddings)
    settings = describe_encoder(encoder, len(rows), int(manifest.config["max_tokens"]))
    manifest = replace(manifest, config={**manifest.config, ARCHITECTURE: settings})
    # In fp32 too: that int8 is about as wrong as expected proves nothing about the network.
    for tried in dict.fromkeys(("fp32", manifest.precision)):
        contents = {NETWORK: build(rows, tried), **write_tokenizer(kept), **files}
        with TemporaryDirectory() as place:
            trial = Path(place, folder.name)
            write_bundle(trial, replace(manifest, precision=tried), contents)
            fields = compare(open_bundle(trial), tried)
    write_bundle(folder, replace(manifest, **fields), contents)


def export(network: nn.Module, inputs: Mapping[str, Tensor], result: str, *encoders: Any) -> Build:
    """Return a function that exports a network over encoders by the framework's own exporter."""
    try:
        from rejoinder.models.encoders.onnx_export import export_network
        from rejoinder.models.encoders.onnx_int8 import quantise_network
    except ImportError as error:
        raise MissingExtraError("exporting a network", extra="train") from error
    exported: list[bytes] = []  # int8 is made from fp32, which takes longest

    def build(rows: Sequence[int], precision: str) -> bytes:
        if not exported:
            with _keep_rows(encoders, rows):
                exported.append(export_network(network, inputs, result))
        return quantise_network(exported[0]) if precision == "int8" else exported[0]

    return build


@contextmanager
def _keep_rows(encoders: Sequence[Any], rows: Sequence[int]) -> Iterator[None]:
    """Reduce the embeddings of encoders to these rows while they are exported."""
    tables = [encoder.get_input_embeddings() for encoder in encoders]
    whole = [table.weight.data for table in tables]
    try:
        for table in tables:
            table.weight.data = table.weight.data[list(rows)]
        yield
    finally:
        for table, weight in zip(tables, whole, strict=True):
            table.weight.data = weight


def make_inputs(prefix: str = "") -> dict[str, Tensor]:
    """Return example inputs of an encoder, for its export."""
    ids = torch.arange(4, 28).reshape(2, 12)
    kinds = torch.zeros_like(ids)
    kinds[:, 6:] = 1
    named = {"ids": ids, "mask": torch.ones_like(ids), "kinds": kinds}
    return {f"{prefix}{name}": value for name, value in named.items()}


def describe_encoder(encoder: Any, rows: int, max_tokens: int) -> dict[str, Any]:
    """Return the configuration from which an encoder with so many rows is rebuilt."""
    config = encoder.config
    settings = {
        name: value
        for name, value in config.to_diff_dict().items()
        if name not in LEFT_OUT and not name.startswith("_")
    }
    settings |= {"model_type": config.model_type, "vocab_size": rows}
    if is_packed(encoder):  # a graph that is written by hand keeps the positions that it reads
        settings["max_position_embeddings"] = get_offset(config) + max_tokens
    return settings


def rebuild_config(settings: Mapping[str, Any], rows: int, max_tokens: int) -> Any:
    """Return the configuration of an encoder from the settings of its bundle."""
    from transformers import AutoConfig, BertConfig

    if ARCHITECTURE in settings:
        given = dict(settings[ARCHITECTURE])
        return AutoConfig.for_model(given.pop("model_type"), **given)
    # Bundles that were written for BERT alone.
    return BertConfig(vocab_size=rows, max_position_embeddings=max_tokens, **settings["bert"])


class PooledEncoder(nn.Module):
    """Texts as vectors of length 1: the mean of an encoder's states, or the first one."""

    def __init__(self, encoder: Any, pooling: str) -> None:
        super().__init__()
        self.encoder = encoder
        self._pooling = pooling

    def forward(self, ids: Tensor, mask: Tensor, kinds: Tensor) -> Tensor:
        """Return vectors (P, E) of inputs (P, L)."""
        states = read_states(self.encoder, ids, mask, kinds).float()
        weights = mask[:, :, None].float()
        total = (states * weights).sum(dim=1)
        pooled = states[:, 0] if self._pooling == "first" else total / weights.sum(dim=1)
        return functional.normalize(pooled, dim=1)


def build_pooled(encoder: Any, max_tokens: int, pooling: str = "mean") -> Build:
    """Return a function that builds a sentence encoder."""
    if not is_packed(encoder):
        return export(PooledEncoder(encoder, pooling), make_inputs(), "vectors", encoder)

    def build(rows: Sequence[int], precision: str) -> bytes:
        try:
            from rejoinder.models.encoders import onnx_bert
        except ImportError as error:
            raise MissingExtraError("exporting an encoder", extra="train") from error
        is_int8 = precision == "int8"
        return onnx_bert.build_sentence_encoder(
            encoder, rows, max_tokens=max_tokens, pooling=pooling, is_int8=is_int8
        )

    return build


def build_sentence_encoder(
    encoder: Any, tokenizer: Tokenizer, *, max_tokens: int
) -> tuple[bytes, Tokenizer]:
    """Return a pretrained encoder of mean states in int8, and the tokenizer that it needs."""
    kept, rows = trim(tokenizer, encoder.get_input_embeddings().num_embeddings)
    room = min(max_tokens, get_max_tokens(encoder.config))
    return build_pooled(encoder.eval(), room)(rows, "int8"), kept
