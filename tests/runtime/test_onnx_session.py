from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("onnxruntime")
onnx = pytest.importorskip("onnx")

from onnx import TensorProto, helper, numpy_helper  # noqa: E402

from rejoinder.runtime.onnx_session import EXACT, open_session  # noqa: E402


def test_the_largest_products_are_exact_on_any_processor() -> None:
    # 255 * 127 twice is more than 16 bits hold.
    weight = np.full((64, 16), 127, dtype=np.int8)
    session = open_session(make_product(weight), Path("here"))

    (found,) = session.run(None, {"given": np.full((3, 64), 255, dtype=np.uint8)})

    assert session.get_session_options().get_session_config_entry(EXACT[0]) == "1"
    assert (found == 64 * 255 * 127).all()


def make_product(weight: np.ndarray) -> bytes:
    node = helper.make_node("MatMulInteger", ["given", "weight"], ["found"])
    graph = helper.make_graph(
        [node],
        "product",
        [helper.make_tensor_value_info("given", TensorProto.UINT8, ["P", weight.shape[0]])],
        [helper.make_tensor_value_info("found", TensorProto.INT32, ["P", weight.shape[1]])],
        [numpy_helper.from_array(weight, "weight")],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)])
    model.ir_version = 9
    return bytes(model.SerializeToString())
