"""Tiny models as ONNX with a tokenizer.json, as other tools export them."""

import shutil
from pathlib import Path
from typing import Any

import onnx
import torch
from onnx import TensorProto, helper
from torch import nn

from rejoinder.models.encoders.onnx_export import export_network

NAMES = ("input_ids", "attention_mask", "token_type_ids")


class _Named(nn.Module):
    """A model of `transformers` that returns one tensor."""

    def __init__(self, model: Any, result: str) -> None:
        super().__init__()
        self.model = model
        self._result = result

    def forward(self, input_ids: Any, attention_mask: Any, token_type_ids: Any) -> Any:
        found = self.model(
            input_ids=input_ids, attention_mask=attention_mask, token_type_ids=token_type_ids
        )
        return getattr(found, self._result)


def write_onnx(source: Path, to: Path, result: str = "logits") -> Path:
    """Write model.onnx of a BERT, with the files beside its weights; return the folder."""
    import transformers

    kind = "AutoModelForSequenceClassification" if result == "logits" else "AutoModel"
    model = getattr(transformers, kind).from_pretrained(source, attn_implementation="eager")
    ids = torch.arange(4, 20).reshape(2, 8)
    example = dict(zip(NAMES, (ids, torch.ones_like(ids), torch.zeros_like(ids)), strict=True))
    shutil.copytree(source, to, ignore=shutil.ignore_patterns("*.safetensors"))
    (to / "model.onnx").write_bytes(export_network(_Named(model, result), example, result))
    return to


def cast(content: bytes) -> bytes:
    """Return a network whose inputs are 32-bit integers, and whose output has 16 bits."""
    model = onnx.load_model_from_string(content)
    graph = model.graph
    before = []
    for item in graph.input:
        for node in graph.node:
            node.input[:] = [f"{name}.64" if name == item.name else name for name in node.input]
        before.append(helper.make_node("Cast", [item.name], [f"{item.name}.64"], to=7))
        item.type.tensor_type.elem_type = TensorProto.INT32
    (output,) = graph.output
    last = next(node for node in graph.node if output.name in node.output)
    last.output[:] = ["whole"]
    output.type.tensor_type.elem_type = TensorProto.FLOAT16
    after = helper.make_node("Cast", ["whole"], [output.name], to=TensorProto.FLOAT16)
    nodes = [*before, *graph.node, after]
    del graph.node[:]
    graph.node.extend(nodes)
    return bytes(model.SerializeToString())


def add_labels(content: bytes) -> bytes:
    """Return a network with three labels."""
    model = onnx.load_model_from_string(content)
    (output,) = model.graph.output
    last = next(node for node in model.graph.node if output.name in node.output)
    last.output[:] = ["one"]
    model.graph.node.append(helper.make_node("Concat", ["one"] * 3, [output.name], axis=1))
    output.type.tensor_type.shape.dim[1].dim_value = 3
    return bytes(model.SerializeToString())


def add_input(content: bytes) -> bytes:
    """Return a network that reads positions, too."""
    model = onnx.load_model_from_string(content)
    positions = helper.make_tensor_value_info("position_ids", TensorProto.INT64, ["a", "b"])
    model.graph.input.append(positions)
    model.graph.node.append(helper.make_node("Identity", ["position_ids"], ["unused"]))
    return bytes(model.SerializeToString())
