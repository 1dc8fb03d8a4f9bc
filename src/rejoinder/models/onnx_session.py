"""Opens a network in onnxruntime, and turns its errors into ours."""

import os
from base64 import b64decode
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from rejoinder.errors import BundleError

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


def open_session(network: bytes, folder: Path, *, name: str = "model.onnx") -> Any:
    """Return a session that uses one thread; callers spread their calls over threads.

    Raises:
        BundleError: the file is not a network.
    """
    onnxruntime = import_onnxruntime()
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    if overflows():
        options.add_session_config_entry(*EXACT)
    options.log_severity_level = 4  # failures are raised, and reported as our errors
    try:
        return onnxruntime.InferenceSession(network, options, providers=["CPUExecutionProvider"])
    except network_errors() as error:
        raise refuse(folder, error, name) from error


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


def network_errors() -> tuple[type[Exception], ...]:
    """Return the errors that onnxruntime raises about a network; they share no base class."""
    errors = import_onnxruntime().capi.onnxruntime_pybind11_state
    return (
        errors.Fail,
        errors.InvalidArgument,
        errors.InvalidGraph,
        errors.InvalidProtobuf,
        errors.NotImplemented,
        errors.RuntimeException,
        ValueError,
    )


def refuse(folder: Path, error: Exception, name: str = "model.onnx") -> BundleError:
    """Return the error to raise about a network that cannot be run."""
    lines = str(error).splitlines()
    reason = lines[0] if lines else type(error).__name__
    return BundleError(f"{folder}: {name} cannot be run: {reason}; export the bundle again")
