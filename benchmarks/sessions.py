"""Sessions of plain onnxruntime."""

from pathlib import Path
from typing import Any

from rejoinder.models.onnx_session import import_onnxruntime


def open_session(path: Path, threads: int) -> Any:
    """Open an ONNX file with onnxruntime on so many threads."""
    onnxruntime = import_onnxruntime()
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
