from pathlib import Path

import numpy as np
import pytest

onnxruntime = pytest.importorskip("onnxruntime")

from rejoinder.runtime import onnx_session  # noqa: E402
from rejoinder.runtime.onnx_session import EXACT, PRODUCT, open_session  # noqa: E402


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
