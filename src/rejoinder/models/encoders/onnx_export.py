"""Exports a network by the framework's own exporter.

For encoders that onnx_bert.py does not write by hand.  Weights keep the names of the network's
state, so that training can continue from the file.
"""

import logging
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from onnx import ModelProto, load_model_from_string, numpy_helper
from torch import Tensor, nn

from rejoinder.errors import BundleError
from rejoinder.models.encoders.onnx_graph import OPSET, Array, read_int8


def export_network(network: nn.Module, inputs: Mapping[str, Tensor], result: str) -> bytes:
    """Return an ONNX file in fp32 that computes as a network does.

    Args:
        inputs: examples of its inputs by name, of at least 2 pairs and 2 tokens.

    Raises:
        BundleError: the exporter cannot export the network.
    """
    network.zero_grad()  # gradients would be exported, too
    dynamic = {0: torch.export.Dim.DYNAMIC, 1: torch.export.Dim.DYNAMIC}
    try:
        with _quiet():
            program: Any = torch.onnx.export(
                network.eval(),
                kwargs=dict(inputs),
                input_names=list(inputs),
                output_names=[result],
                dynamic_shapes=dict.fromkeys(inputs, dynamic),
                opset_version=OPSET,
                dynamo=True,
                optimize=False,  # onnxruntime optimises when it opens the file
                verbose=False,
            )
    except torch.onnx.errors.OnnxExporterError as error:
        reason = (str(error.__cause__ or error).splitlines() or [type(error).__name__])[0]
        raise BundleError(f"torch cannot export this network: {reason}") from error
    model: ModelProto = program.model_proto
    _strip(model)
    return bytes(model.SerializeToString(deterministic=True))


def read_exported(content: bytes) -> dict[str, Array]:
    """Return the weights of a file of `export_network`, quantised or not, by name."""
    graph = load_model_from_string(content).graph
    constants = {item.name: np.array(numpy_helper.to_array(item)) for item in graph.initializer}
    rng = np.random.default_rng(0)
    for name in [name for name in constants if name.endswith(".int8")]:
        stem = name.removesuffix(".int8")
        scales = constants.pop(f"{stem}.scale")
        whole = constants.pop(name).astype(np.float32)
        is_table = scales.ndim == 2
        constants[stem] = whole * scales if is_table else read_int8(whole, scales, rng).T.copy()
    return constants


def _strip(model: ModelProto) -> None:
    """Remove what the exporter notes of the source: stack traces name files of this machine."""
    graph = model.graph
    for item in (model, graph, *graph.node, *graph.initializer, *graph.input, *graph.output):
        item.doc_string = ""
        del item.metadata_props[:]
    del graph.value_info[:]


@contextmanager
def _quiet() -> Iterator[None]:
    """Silence the exporter, which logs what it lacks for other networks."""
    previous = logging.root.manager.disable
    logging.disable(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(previous)
