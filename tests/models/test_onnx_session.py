import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import rejoinder

onnxruntime = pytest.importorskip("onnxruntime")

from rejoinder.errors import InputError, UnknownNameError  # noqa: E402
from rejoinder.models import onnx_session  # noqa: E402
from rejoinder.models.onnx_session import (  # noqa: E402
    EXACT,
    PRODUCT,
    PROVIDERS,
    OnnxNetwork,
    Runtime,
    open_session,
    to_feed,
)

RANK = """
import time
import rejoinder

ranking = rejoinder.rank("where is the cat?", ["it is here"], scorer=rejoinder.load("selector"))
assert len(ranking.items) == 1
time.sleep(1)
"""


@pytest.mark.parametrize("overflows", [None, True])
def test_the_largest_products_are_exact(
    overflows: bool | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    if overflows is not None:
        monkeypatch.setattr(onnx_session, "overflows", lambda: overflows)

    session = open_session(PRODUCT, Path("here"))

    given = {"a": np.full((1, 64), 255, np.uint8), "b": np.full((64, 16), 127, np.int8)}
    assert (session.run(None, given)[0] == 64 * 255 * 127).all()
    if overflows:
        assert session.get_session_options().get_session_config_entry(EXACT[0]) == EXACT[1]


def test_an_unknown_provider_is_refused() -> None:
    with pytest.raises(UnknownNameError, match="known: cpu, cuda, coreml, openvino"):
        rejoinder.load("bm25", provider="cud")


@pytest.mark.parametrize(
    ("provider", "remedy"),
    [
        ("cuda", "onnxruntime-gpu"),
        ("openvino", "onnxruntime-openvino"),
        ("coreml", "onnxruntime on macOS"),
    ],
)
def test_a_provider_that_is_not_installed_is_refused_with_its_remedy(
    provider: str, remedy: str
) -> None:
    if PROVIDERS[provider] in onnxruntime.get_available_providers():
        pytest.skip("it is installed")

    with pytest.raises(InputError, match=f"provider '{provider}' here: .*{remedy}"):
        rejoinder.load("selector", provider=provider)


@pytest.mark.parametrize("batch", [None, 1, 2, 8])
def test_batches_are_padded_to_their_longest_text(batch: int | None) -> None:
    """The network returns its input, so that padding shows."""
    network = OnnxNetwork(make_identity(), Path("here"), Runtime(batch=batch))
    feeds = [{"ids": to_feed(ids)["ids"]} for ids in ([7], [1, 2, 3], [], [4, 5])]

    found = network.run_all(feeds)

    assert [row.tolist() for row in found] == {
        None: [[7], [1, 2, 3], [], [4, 5]],
        1: [[7], [1, 2, 3], [], [4, 5]],
        2: [[7], [1, 2, 3], [0], [4, 5, 0]],
        8: [[7, 0, 0], [1, 2, 3], [0, 0, 0], [4, 5, 0]],
    }[batch]
    assert network.run_all([]) == []


def make_identity() -> bytes:
    helper = pytest.importorskip("onnx.helper")
    axes = ["texts", "tokens"]
    given, returned = (helper.make_tensor_value_info(name, 7, axes) for name in ("ids", "same"))
    node = helper.make_node("Identity", ["ids"], ["same"])
    graph = helper.make_graph([node], "identity", [given], [returned])
    opset = helper.make_opsetid("", 20)
    model: bytes = helper.make_model(graph, opset_imports=[opset], ir_version=9).SerializeToString()
    return model


def test_onnxruntime_leaves_nothing_in_the_users_folders(tmp_path: Path) -> None:
    names = {"ORT_DISABLE_TELEMETRY", "XDG_CACHE_HOME", "HOME"}
    kept = {name: value for name, value in os.environ.items() if name not in names}
    home = {"HOME": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path / "cache")}
    package = {"PYTHONPATH": str(Path(rejoinder.__file__).parent.parent)}

    subprocess.run([sys.executable, "-c", RANK], check=True, env={**kept, **home, **package})

    assert [path.name for path in tmp_path.rglob("*")] == []


def test_the_users_telemetry_setting_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ORT_DISABLE_TELEMETRY", "0")

    onnx_session.import_onnxruntime()

    assert os.environ["ORT_DISABLE_TELEMETRY"] == "0"
