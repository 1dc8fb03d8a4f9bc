"""Opens a network in onnxruntime, and tells in our words what is wrong with it."""

import os
from pathlib import Path
from typing import Any

from rejoinder.errors import BundleError

EXACT = ("session.x64quantprecision", "1")
"""Processors without VNNI add two products of bytes in 16 bits, which may overflow: exact there
too, and as fast as ever on all others."""


def open_session(network: bytes, folder: Path, *, name: str = "model.onnx") -> Any:
    """Return a session that works on one thread: callers spread their calls.

    Raises:
        BundleError: it is no network.
    """
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.add_session_config_entry(*EXACT)
    options.log_severity_level = 4  # what fails is raised, and told in our words
    try:
        return onnxruntime.InferenceSession(network, options, providers=["CPUExecutionProvider"])
    except network_errors() as error:
        raise refuse(folder, error, name) from error


def network_errors() -> tuple[type[Exception], ...]:
    """Return what onnxruntime raises about a network; its errors have no class in common."""
    from onnxruntime.capi import onnxruntime_pybind11_state as errors

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


def count_cores() -> int:
    """Return how many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
