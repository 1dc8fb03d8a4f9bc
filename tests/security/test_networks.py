"""Hostile ONNX files: refused in our words before onnxruntime opens them.

Bundles with wrong weights are in tests/models/test_hostile_bundles.py, corrupt ONNX files and
tokenizers in tests/models/test_foreign.py.
"""

import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from onnx import ModelProto, TensorProto

from rejoinder.cascade.loading import load
from rejoinder.errors import BundleError
from rejoinder.models.importing import ImportOptions, import_model
from rejoinder.models.onnx_session import open_session
from tests.security import networks
from tests.security.networks import CAST, SUM, add_up, in_branch, make, node, outside, weight
from tests.security.tokenizers import write_tokenizer

SECRET = np.arange(4, dtype="<f4").tobytes()
MAX_SECONDS = 20


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a model's folder, with a file beside it and one in the working folder."""
    model = tmp_path / "model"
    write_tokenizer(model)
    for place in (model, tmp_path, tmp_path / "work"):
        place.mkdir(exist_ok=True)
        (place / "secret.bin").write_bytes(SECRET)
    monkeypatch.chdir(tmp_path / "work")
    return model


def refuse(folder: Path, network: ModelProto) -> str:
    """Return why a network is refused, opened where it is and imported."""
    (folder / "model.onnx").write_bytes(network.SerializeToString())
    start = time.process_time()
    with pytest.raises(BundleError) as opened:
        load(folder)
    with pytest.raises(BundleError) as imported:
        import_model(ImportOptions(str(folder), folder.parent / "bundle", kind="selector"))
    assert time.process_time() - start < MAX_SECONDS
    assert not (folder.parent / "bundle").exists()
    assert "\n" not in str(opened.value)
    assert str(opened.value) == str(imported.value)
    return str(opened.value)


def test_a_network_that_does_nothing_forbidden_is_opened(folder: Path) -> None:
    network = add_up(weights=[weight(1, 1, content=SECRET[4:8])])
    (folder / "model.onnx").write_bytes(network.SerializeToString())

    assert load(folder).score("tea?", ["tea"])[0] > 0


@pytest.mark.parametrize(
    "location",
    [
        "secret.bin",
        "../secret.bin",
        "{root}/secret.bin",
        "file://{root}/secret.bin",
        "//etc/passwd",
        "model.onnx",
        "",
        "*/_ORT_MEM_ADDR_/*",
    ],
)
def test_weights_in_other_files_are_not_read(folder: Path, location: str) -> None:
    place = location.format(root=folder.parent)

    reason = refuse(folder, add_up(weights=[outside(place)]))

    assert "it keeps weights in another file, which is not read" in reason


def test_weights_in_other_files_are_not_read_in_a_constant(folder: Path) -> None:
    hidden = node("Constant", [], "w", value=outside("secret.bin"))
    total = node("ReduceSum", ["added"], "logits")

    reason = refuse(folder, make(CAST, hidden, networks.ADD, total))

    assert "it keeps weights in another file" in reason


def test_weights_in_other_files_are_not_read_in_a_branch(folder: Path) -> None:
    hidden = node("Constant", [], "y", value=outside("secret.bin"))

    assert "it keeps weights in another file" in refuse(folder, in_branch(hidden))


@pytest.mark.parametrize("domain", ["evil", "ai.onnx.contrib", "org.pytorch.aten", "com.microsofT"])
def test_operators_that_onnxruntime_does_not_ship_are_refused(folder: Path, domain: str) -> None:
    own = node("Run", ["input_ids"], "logits", domain=domain)

    reason = refuse(folder, make(own, domains=[domain]))

    assert f"its operator 'Run' is of '{domain}', not of onnxruntime" in reason


def test_an_operator_in_a_branch_is_refused(folder: Path) -> None:
    own = node("Run", ["floats"], "y", domain="evil")

    assert "its operator 'Run' is of 'evil'" in refuse(folder, in_branch(own))


def test_a_compiled_network_in_another_file_is_refused(folder: Path) -> None:
    settings = {"embed_mode": 0, "main_context": 1, "ep_cache_context": "../secret.bin"}
    own = node("EPContext", ["input_ids"], "logits", domain="com.microsoft", **settings)

    reason = refuse(folder, make(own, domains=["com.microsoft"]))

    assert "its operator EPContext is not allowed" in reason


def test_a_loop_without_end_is_refused(folder: Path) -> None:
    assert "its operator Loop is not allowed" in refuse(folder, networks.loop())


@pytest.mark.parametrize("sizes", [(1 << 40,), (1 << 31, 1 << 31), (-4,), (1 << 62, 4)])
@pytest.mark.parametrize("content", [b"", SECRET])
def test_a_shape_that_is_larger_than_the_file_is_refused(
    folder: Path, sizes: tuple[int, ...], content: bytes
) -> None:
    reason = refuse(folder, add_up(weights=[weight(*sizes, content=content)]))

    assert "it declares weights of the shape" in reason


def test_sparse_weights_are_refused(folder: Path) -> None:
    assert "it has sparse weights" in refuse(folder, networks.sparse())


def test_functions_that_explode_are_refused(folder: Path) -> None:
    reason = refuse(folder, networks.doubling_functions(60))

    assert "nodes; the limit is" in reason or "calls itself" in reason


def test_functions_that_call_themselves_are_refused(folder: Path) -> None:
    network = networks.doubling_functions(2)
    last = network.functions[1].node[0]
    last.op_type, last.domain = "f0", "own"

    assert "calls itself" in refuse(folder, network)


def test_a_file_of_onnxruntimes_own_format_is_refused(folder: Path) -> None:
    # As protocol buffer: a field that is not known, whose bytes are the mark of that format.
    (folder / "model.onnx").write_bytes(b"\xa2\x1f\x08\x00ORTM" + bytes(4))

    with pytest.raises(BundleError, match="cannot be run"):
        load(folder)


def drop_outputs() -> ModelProto:
    network = make(CAST, SUM)
    del network.graph.output[:]
    return network


@pytest.mark.parametrize(
    "network",
    [
        drop_outputs(),
        make(
            node("Cast", ["input_ids"], "text", to=TensorProto.STRING),
            output=("text", TensorProto.STRING),
        ),
    ],
    ids=["none", "text"],
)
def test_a_network_without_numbers_is_refused(folder: Path, network: ModelProto) -> None:
    assert "its first output is no tensor of numbers" in refuse(folder, network)


def test_a_network_without_a_score_for_each_pair_is_refused(folder: Path) -> None:
    total = node("ReduceSum", ["floats"], "logits", keepdims=0)

    assert "its output 'logits' has no row for each text" in refuse(folder, make(CAST, total))


GREEDY = """
import resource
from pathlib import Path
from rejoinder.errors import BundleError
from rejoinder.models.onnx_session import OnnxNetwork, Runtime, to_feed
from tests.security.networks import huge_at_run

resource.setrlimit(resource.RLIMIT_AS, (6_000_000_000, 6_000_000_000))
network = OnnxNetwork(huge_at_run().SerializeToString(), Path("here"), Runtime(threads=1))
try:
    network.run({"input_ids": to_feed([1, 2])["ids"]})
except BundleError as error:
    print(error)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux limits memory")
def test_memory_that_it_does_not_get_is_an_error_of_the_bundle() -> None:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}

    result = subprocess.run(
        [sys.executable, "-c", GREEDY], capture_output=True, text=True, env=environment, check=True
    )

    assert result.stdout.startswith("here: model.onnx cannot be run")


def test_the_check_is_part_of_opening_a_session() -> None:
    with pytest.raises(BundleError, match="another file"):
        open_session(add_up(weights=[outside("secret.bin")]).SerializeToString(), Path("here"))
