"""Opens a network in onnxruntime, and turns its errors into ours."""

import os
from base64 import b64decode
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rejoinder.errors import BundleError

NETWORK, VOCABULARY = "model.onnx", "vocabulary.txt"
"""The files of a bundle that hold its network, and the word pieces that it reads."""
Feed = dict[str, NDArray[np.generic]]
"""The inputs of a network for one text or pair, by name: shape (1, items, …)."""
EXACT = ("session.x64quantprecision", "1")
"""The option for int8 products that cannot overflow, which are slower on every processor."""
PRODUCT = b64decode(
    "CAkSADpcChgKAWEKAWISAWMiDU1hdE11bEludGVnZXISAWdaEwoBYRIOCgwIAhIICgIIAQoCCEBaEwoBYhIOCgwIAxIICgII"
    "QAoCCBBiEwoBYxIOCgwIBhIICgIIAQoCCBBCBAoAEBQ="
)
"""A network that is one product: MatMulInteger of `a`, uint8 (1, 64), and `b`, int8 (64, 16)."""


def import_onnxruntime() -> Any:
    """Return onnxruntime with telemetry disabled: the only place that imports it.

    It reads the variable while it is imported, and otherwise opens a connection and writes into
    the user's cache; `disable_telemetry_events` comes too late.  A value set by the user stays.
    """
    os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")
    import onnxruntime

    return onnxruntime


def open_session(network: bytes, folder: Path, *, name: str = NETWORK) -> Any:
    """Return a session that uses one thread; callers spread their calls over threads."""
    onnxruntime = import_onnxruntime()
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    if overflows():
        options.add_session_config_entry(*EXACT)
    options.log_severity_level = 4  # failures are raised, and reported as our errors
    with refuse_corrupt(folder, name):
        session = onnxruntime.InferenceSession(network, options, providers=["CPUExecutionProvider"])
    return session


@cache
def overflows() -> bool:
    """Whether int8 products overflow here: processors without VNNI add two of them in 16 bits.

    onnxruntime does not say, so one product of the largest bytes is tried.
    """
    onnxruntime = import_onnxruntime()
    session = onnxruntime.InferenceSession(PRODUCT, providers=["CPUExecutionProvider"])
    given = {"a": np.full((1, 64), 255, np.uint8), "b": np.full((64, 16), 127, np.int8)}
    (product,) = session.run(None, given)
    return bool((product != 64 * 255 * 127).any())


@contextmanager
def refuse_corrupt(folder: Path, name: str = NETWORK) -> Iterator[None]:
    """Raise a BundleError for any error of onnxruntime about a network of the bundle."""
    errors = import_onnxruntime().capi.onnxruntime_pybind11_state
    try:
        yield
    except (  # they share no base class
        errors.Fail,
        errors.InvalidArgument,
        errors.InvalidGraph,
        errors.InvalidProtobuf,
        errors.NotImplemented,
        errors.RuntimeException,
        ValueError,
    ) as error:
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        message = f"{folder}: {name} cannot be run: {reason}; export the bundle again"
        raise BundleError(message) from error


def to_feed(ids: Sequence[int], kinds: Sequence[int] | None = None) -> Feed:
    """Return the tokens of a text or pair as a network's inputs; all are of kind 0 by default."""
    row = np.array([ids], dtype=np.int64)
    own = np.zeros_like(row) if kinds is None else np.array([kinds], dtype=np.int64)
    return {"ids": row, "mask": np.ones_like(row), "kinds": own}
