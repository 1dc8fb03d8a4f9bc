"""Opens a network in onnxruntime, and tells in our words what is wrong with it."""

import os
from base64 import b64decode
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from rejoinder.errors import BundleError

EXACT = ("session.x64quantprecision", "1")
"""Asks for products of bytes that cannot overflow, which are slower on every processor."""
PRODUCT = b64decode(
    "CAkSADpcChgKAWEKAWISAWMiDU1hdE11bEludGVnZXISAWdaEwoBYRIOCgwIAhIICgIIAQoCCEBaEwoBYhIOCgwIAxIICgII"
    "QAoCCBBiEwoBYxIOCgwIBhIICgIIAQoCCBBCBAoAEBQ="
)
"""A network that is one product: MatMulInteger of `a`, uint8 (1, 64), and `b`, int8 (64, 16)."""


def import_onnxruntime() -> Any:
    """Return onnxruntime, kept from telling its maker about its use: the only place to import it.

    It looks at the variable as it is loaded, and asks the network and writes into the user's
    cache otherwise; `disable_telemetry_events` comes too late.  A value of the user's own stays.
    """
    os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")
    import onnxruntime

    return onnxruntime


def open_session(network: bytes, folder: Path, *, name: str = "model.onnx") -> Any:
    """Return a session that works on one thread: callers spread their calls.

    Raises:
        BundleError: it is no network.
    """
    onnxruntime = import_onnxruntime()
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    if overflows():
        options.add_session_config_entry(*EXACT)
    options.log_severity_level = 4  # what fails is raised, and told in our words
    try:
        return onnxruntime.InferenceSession(network, options, providers=["CPUExecutionProvider"])
    except network_errors() as error:
        raise refuse(folder, error, name) from error


@cache
def overflows() -> bool:
    """Whether this processor's products of bytes overflow: those without VNNI add two in 16 bits.

    onnxruntime does not tell, so it is tried once with the largest bytes there are.
    """
    onnxruntime = import_onnxruntime()
    session = onnxruntime.InferenceSession(PRODUCT, providers=["CPUExecutionProvider"])
    given = {"a": np.full((1, 64), 255, np.uint8), "b": np.full((64, 16), 127, np.int8)}
    (found,) = session.run(None, given)
    return bool((found != 64 * 255 * 127).any())


def network_errors() -> tuple[type[Exception], ...]:
    """Return what onnxruntime raises about a network; its errors have no class in common."""
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
