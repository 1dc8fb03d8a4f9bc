"""What a network may contain; networks of attackers are in tests/security/test_networks.py."""

import pytest
from onnx import TensorProto, helper

from rejoinder.models import onnx_check
from rejoinder.models.onnx_check import check_network
from rejoinder.models.registry import find_bundle
from tests.security.networks import ADD, CAST, SUM, add_up, doubling_functions, make, weight


@pytest.mark.parametrize("name", ["selector", "passage-selector"])
def test_the_shipped_networks_pass(name: str) -> None:
    check_network((find_bundle(name) / "model.onnx").read_bytes())


def test_a_small_network_passes() -> None:
    check_network(make(CAST, SUM).SerializeToString())
    check_network(add_up(weights=[weight(1, 2, content=bytes(8))]).SerializeToString())


def test_functions_of_the_file_itself_are_operators() -> None:
    check_network(doubling_functions(3).SerializeToString())


def test_weights_of_four_bits_are_smaller_than_their_shape() -> None:
    tensor = helper.make_tensor("w", TensorProto.INT4, [4_000], bytes(2_000), raw=True)

    check_network(make(CAST, SUM, weights=[tensor]).SerializeToString())


def test_the_number_of_nodes_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    network = make(CAST, ADD, SUM).SerializeToString()
    check_network(network)
    monkeypatch.setattr(onnx_check, "MAX_NODES", 2)

    with pytest.raises(ValueError, match="it has 3 nodes; the limit is 2"):
        check_network(network)


@pytest.mark.parametrize(
    "content",
    [
        b"\x3a\x05ab",  # a graph that is longer than the file
        b"\x38\x01",  # a graph that is a number
        b"\xba\x80\x80\x80\x80\x01\x00",  # a field whose lower bits are those of the graph
        b"\x3b",  # a group
    ],
)
def test_a_file_that_other_readers_would_read_otherwise_is_refused(content: bytes) -> None:
    with pytest.raises(ValueError, match=r"corrupt|longer than|29 bits|wire type"):
        check_network(content)
