"""The encoder of HAS as an ONNX graph, in fp32 or int8: states of a text's tokens."""

from collections.abc import Sequence

import numpy as np
from onnx import TensorProto, helper

from rejoinder.errors import BundleError
from rejoinder.train.models.has import Has
from rejoinder.train.selector_graph import INPUTS, IR_VERSION, OPSET, Graph


def build_encoder(model: Has, rows: Sequence[int], *, precision: str) -> bytes:
    """Return an ONNX file that gives inputs (P, L) their states (P, L, D), as the model does.

    Args:
        rows: for each piece of the bundle's vocabulary, its row of the model's embedding.
        precision: fp32, or int8 for the embedding and the weights of products.

    Raises:
        BundleError: the encoder has another activation than BERT's.
    """
    config = model.encoder.config
    if config.hidden_act != "gelu":
        raise BundleError(f"an encoder with activation {config.hidden_act!r} is not exported")
    state = {name: value.detach().cpu().numpy() for name, value in model.state_dict().items()}
    graph = _TextGraph(state, is_small=precision == "int8", epsilon=config.layer_norm_eps)
    states = graph.embed(np.asarray(rows), model.config.max_tokens)
    hidden = graph.hide_padding()
    for layer in range(len(model.encoder.encoder.layer)):
        place = f"encoder.encoder.layer.{layer}."
        states = graph.attend(place, states, hidden, heads=config.num_attention_heads)
        states = graph.feed_forward(place, states)
    graph.give(states, is_projected=model.project is not None)
    return graph.to_bytes()


class _TextGraph(Graph):
    """A graph that ends with states."""

    def give(self, states: str, *, is_projected: bool) -> None:
        """End with the states, projected where the model does."""
        last = self._multiply(states, "project") if is_projected else states
        self._add("Identity", last, result="states")

    def to_bytes(self) -> bytes:
        """Return the file."""
        axes = ["pairs", "tokens"]
        inputs = [helper.make_tensor_value_info(name, TensorProto.INT64, axes) for name in INPUTS]
        states = helper.make_tensor_value_info("states", TensorProto.FLOAT, [*axes, "width"])
        graph = helper.make_graph(self._nodes, "encoder", inputs, [states], self._constants)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)])
        model.ir_version = IR_VERSION
        return bytes(model.SerializeToString(deterministic=True))
