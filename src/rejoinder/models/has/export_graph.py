"""The encoder of HAS as an ONNX graph, in fp32 or int8: states of a text's tokens."""

from collections.abc import Sequence

import numpy as np

from rejoinder.models.encoders.onnx_bert import add_encoder, get_inputs
from rejoinder.models.encoders.onnx_graph import Graph
from rejoinder.models.has.module import Has


def build_encoder(model: Has, rows: Sequence[int], *, precision: str) -> bytes:
    """Return an ONNX file that gives inputs (P, L) their states (P, L, D), as the model does.

    Args:
        rows: for each piece of the bundle's vocabulary, its row of the model's embedding.
        precision: fp32, or int8 for the embedding and the weights of products.

    Raises:
        BundleError: the encoder has another activation than BERT's.
    """
    state = {name: value.detach().cpu().numpy() for name, value in model.state_dict().items()}
    epsilon = model.encoder.config.layer_norm_eps
    graph = Graph(state, is_int8=precision == "int8", epsilon=epsilon)
    max_tokens = model.config.max_tokens
    states = add_encoder(graph, model.encoder, np.asarray(rows), max_tokens, scope="encoder.")
    if model.project is not None:
        states = graph.linear(states, "project")
    graph.add("Identity", states, result="states")
    return graph.to_bytes(get_inputs(), "states", ["pairs", "tokens", "width"])
