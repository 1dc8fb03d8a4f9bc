import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import rejoinder

onnxruntime = pytest.importorskip("onnxruntime")

from rejoinder.models import onnx_session  # noqa: E402
from rejoinder.models.onnx_session import EXACT, PRODUCT, open_session  # noqa: E402

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
