"""The selector's network in the formats of other runtimes, for the benchmark that compares them."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn

from rejoinder.bundle.folder import Bundle
from rejoinder.models.encoders.export import make_inputs
from rejoinder.models.encoders.onnx_weights import read_weights
from rejoinder.models.onnx_session import NETWORK, Feed, import_onnxruntime
from rejoinder.models.selector.export import reopen_selector, write_selector
from rejoinder.models.selector.module.selector import Selector
from rejoinder.text.tokenizer import Tokenizer
from rejoinder.text.wordpiece import WordPiece


@dataclass(frozen=True, slots=True)
class Sources:
    """The networks in all formats, written once."""

    bundle: Bundle
    model: Selector
    graphs: Mapping[str, Path]
    """ONNX files by the name of their contender."""
    ctranslate2: Path | None
    """None where it is not installed."""


def write_sources(bundle: Bundle, calibration: Sequence[Feed], folder: Path) -> Sources:
    """Write the network of a bundle in the formats of all contenders."""
    model, tokenizer = reopen_selector(bundle.folder)
    assert isinstance(model, Selector), "contenders compute the score of a plain selector"
    restore_weights(model, bundle)
    write_selector(folder / "fp32", model, tokenizer, precision="fp32", training={}, sample=[])
    fp32 = name_nodes(folder / "fp32" / NETWORK)
    graphs = {
        "onnxruntime_dynamic_int8": quantize_dynamic(fp32, folder / "dynamic.onnx"),
        "onnxruntime_static_int8": quantize_static(fp32, folder / "static.onnx", calibration),
        "onnxruntime_fused_int8": quantize_dynamic(
            fuse(model, folder / "fused.onnx"), folder / "fused_int8.onnx"
        ),
    }
    converted = None
    if find_spec("ctranslate2"):
        converted = convert_ctranslate2(model, tokenizer, folder)
    return Sources(bundle, model, graphs, converted)


def restore_weights(model: Selector, bundle: Bundle) -> None:
    """Set the weights of products to the int8 numbers times their scales.

    `reopen_selector` adds a random remainder to them, for training, which would count as an error.
    """
    weights = read_weights((bundle.folder / NETWORK).read_bytes())
    exact = {}
    for name in (name for name in weights if name.endswith(".int8") and "embeddings" not in name):
        stem = name.removesuffix(".int8")
        parts = stem.split("+")  # layers of the same input are one product
        whole = (weights[name].astype(np.float32) * weights[f"{stem}.scale"]).T
        for part, own in zip(parts, np.split(whole, len(parts)), strict=True):
            exact[f"{part}.weight"] = torch.from_numpy(np.array(own, order="C"))
    _, unexpected = model.load_state_dict(exact, strict=False)
    assert not unexpected, f"weights that the network does not have: {unexpected}"
    model.eval()


def name_nodes(path: Path) -> Path:
    """Name all nodes of a graph in place: onnxruntime leaves nodes out by name."""
    import onnx

    graph = onnx.load(str(path))
    for node in graph.graph.node:
        node.name = node.name or node.output[0]
    onnx.save(graph, str(path))
    return path


def list_readout(path: Path) -> list[str]:
    """Return the products with one column: they compute the score, and stay in fp32 as shipped."""
    import onnx

    graph = onnx.load(str(path)).graph
    columns = {item.name for item in graph.initializer if 1 in item.dims}
    products = [node for node in graph.node if node.op_type in ("MatMul", "Gemm")]
    names = [node.name for node in products if columns & set(node.input)]
    # onnxruntime's quantiser replaces a Gemm by a MatMul of this name.
    return names + [f"{name}_MatMul" for name in names]


def quantize_dynamic(path: Path, target: Path) -> Path:
    import_onnxruntime()
    from onnx import TensorProto
    from onnxruntime.quantization import QuantType
    from onnxruntime.quantization import quantize_dynamic as quantize

    quantize(
        *(path, target),
        per_channel=True,
        weight_type=QuantType.QInt8,
        nodes_to_exclude=list_readout(path),
        # The types behind fused nodes, which onnx does not know, cannot be inferred.
        extra_options={"DefaultTensorType": TensorProto.FLOAT},
    )
    return target


def quantize_static(path: Path, target: Path, calibration: Sequence[Feed]) -> Path:
    import_onnxruntime()
    from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType
    from onnxruntime.quantization import quantize_static as quantize

    class Reader(CalibrationDataReader):  # type: ignore[misc]
        """Yields the pairs of the calibration, one per call."""

        def __init__(self) -> None:
            self._left: Iterator[Feed] = iter(calibration)

        def get_next(self) -> Feed | None:
            """Return the next pair; None after the last."""
            return next(self._left, None)

    quantize(
        *(path, target, Reader()),
        quant_format=QuantFormat.QDQ,
        per_channel=True,
        activation_type=QuantType.QUInt8,
        weight_type=QuantType.QInt8,
        # Sums with the mask of attention, whose range is 1e9, cannot be in 8 bits.
        op_types_to_quantize=["MatMul"],
        nodes_to_exclude=list_readout(path),
        extra_options={"MatMulConstBOnly": True},
    )
    return target


class PlainSelector(nn.Module):
    """A selector whose encoder is called as the framework has it, which the optimizer knows."""

    def __init__(self, model: Selector) -> None:
        super().__init__()
        self.model = model

    def forward(self, ids: Tensor, mask: Tensor, kinds: Tensor) -> Tensor:
        """Return scores (P,) of inputs (P, L)."""
        encoded = self.model.encoder(input_ids=ids, attention_mask=mask, token_type_ids=kinds)
        return self.model.judge(encoded.last_hidden_state, mask, kinds)


def fuse(model: Selector, target: Path) -> Path:
    """Export a network in fp32, and let onnxruntime's optimizer fuse its attention."""
    import_onnxruntime()
    from onnxruntime.transformers.optimizer import optimize_model

    inputs, plain = make_inputs(), target.with_suffix(".plain.onnx")
    axes = {name: {0: "pairs", 1: "tokens"} for name in inputs} | {"scores": {0: "pairs"}}
    # The optimizer fuses the patterns of the older exporter only.
    torch.onnx.export(
        PlainSelector(model).eval(),
        tuple(inputs.values()),
        str(plain),
        dynamo=False,
        input_names=list(inputs),
        output_names=["scores"],
        dynamic_axes=axes,
        opset_version=17,
    )
    config = model.encoder.config
    sizes = {"num_heads": config.num_attention_heads, "hidden_size": config.hidden_size}
    optimized = optimize_model(str(plain), model_type="bert", opt_level=0, **sizes)
    count = optimized.get_fused_operator_statistics()["Attention"]
    assert count == config.num_hidden_layers, f"only {count} layers of attention were fused"
    optimized.save_model_to_file(str(target))
    return target


def convert_ctranslate2(model: Selector, tokenizer: Tokenizer, folder: Path) -> Path:
    """Convert the encoder of a selector through the framework's own files."""
    from ctranslate2.converters import TransformersConverter
    from transformers import BertModel, BertTokenizer

    assert isinstance(tokenizer, WordPiece), "only BERT's vocabulary is written"
    source, target = folder / "transformers", folder / "ctranslate2"
    config = model.encoder.config
    config.position_embedding_type = "absolute"  # which the converter expects to read
    with_pooler = BertModel(config)  # the converter reads one; nothing is computed with it
    with_pooler.load_state_dict(model.encoder.state_dict(), strict=False)
    with_pooler.save_pretrained(source)
    vocabulary = folder / "vocab.txt"
    vocabulary.write_text("\n".join(tokenizer.vocabulary) + "\n", encoding="utf-8")
    # A special token that the vocabulary lacks would be added to it.
    BertTokenizer(str(vocabulary), mask_token="[UNK]").save_pretrained(source)
    TransformersConverter(str(source)).convert(str(target), quantization="int8")
    return target
