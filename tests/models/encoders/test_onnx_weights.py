"""The weights of ONNX files, read without onnx."""

import numpy as np
import onnx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from onnx import TensorProto, helper, numpy_helper

from rejoinder.models.encoders.onnx_weights import read_weights
from rejoinder.models.registry import find_bundle


def make_file(*tensors: TensorProto) -> bytes:
    graph = helper.make_graph([], "weights", [], [], list(tensors))
    return bytes(helper.make_model(graph).SerializeToString())


ARRAYS = {
    "bytes": np.arange(6, dtype=np.uint8).reshape(2, 3),
    "signed": np.arange(-4, 4, dtype=np.int8),
    "floats": np.linspace(-1, 1, 24, dtype=np.float32).reshape(2, 3, 4),
    "number": np.float32(3.5),
    "long": np.array([2**40, -1]),
    "empty": np.zeros((0, 4), dtype=np.float32),
    "größe": np.zeros(1, dtype=np.int32),
}
FILE = make_file(*(numpy_helper.from_array(np.asarray(a), name) for name, a in ARRAYS.items()))


def test_weights_are_those_that_were_written() -> None:
    found = read_weights(FILE)

    assert found.keys() == ARRAYS.keys()
    for name, array in ARRAYS.items():
        np.testing.assert_array_equal(found[name], array)
        assert found[name].dtype == np.asarray(array).dtype


def test_weights_of_the_shipped_selector_are_those_that_onnx_reads() -> None:
    content = (find_bundle("selector") / "model.onnx").read_bytes()

    found = read_weights(content)

    expected = onnx.load_model_from_string(content).graph.initializer
    assert [*found] == [item.name for item in expected]
    for item in expected:
        np.testing.assert_array_equal(found[item.name], numpy_helper.to_array(item))


def test_tensors_of_other_forms_are_left_out() -> None:
    other = helper.make_tensor("listed", TensorProto.FLOAT, [2], [1.0, 2.0])
    half = numpy_helper.from_array(np.zeros(3, dtype=np.float16), "half")

    assert read_weights(make_file(other, half)) == {}


@given(
    cut=st.integers(0, len(FILE) - 1), at=st.integers(0, len(FILE) - 1), byte=st.integers(0, 255)
)
def test_corrupt_files_are_refused_or_read(cut: int, at: int, byte: int) -> None:
    for content in (FILE[:cut], FILE[:at] + bytes([byte]) + FILE[at + 1 :]):
        try:
            read_weights(content)
        except ValueError:
            continue


def test_a_truncated_file_is_refused() -> None:
    with pytest.raises(ValueError, match="longer than the file"):
        read_weights(FILE[:-1])


def to_field(number: int, content: bytes) -> bytes:
    return bytes([number << 3 | 2, len(content)]) + content


def test_dimensions_may_be_packed() -> None:
    # Other writers put all dimensions into one field.
    tensor = to_field(1, bytes([2, 3])) + bytes([2 << 3, 3]) + to_field(8, b"w")
    content = to_field(7, to_field(5, tensor + to_field(9, bytes(range(6)))))

    assert read_weights(content)["w"].tolist() == [[0, 1, 2], [3, 4, 5]]


def test_a_number_without_an_end_is_refused() -> None:
    with pytest.raises(ValueError, match="64 bits"):
        read_weights(bytes([7 << 3]) + b"\xff" * 20)
