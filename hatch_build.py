"""Compile the optional kernel during the wheel build, if there is a C compiler.

Without one the wheel is pure Python and uses numpy.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

SOURCES = [Path("src/rejoinder/models", name) for name in ("kernel.c", "transformer.c")]
TARGET = Path("src/rejoinder/models/_kernel.so")
FLAGS = ["-O3", "-std=gnu11", "-fPIC", "-shared", "-fno-math-errno", "-fno-trapping-math"]


class KernelHook(BuildHookInterface):  # type: ignore[type-arg]
    """Puts the compiled kernel into the wheel, or beside its source for an editable install."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:  # noqa: ARG002
        """Compile the kernel, and if that works, tag the wheel for this platform."""
        if self.target_name != "wheel" or not compile_kernel(Path(self.root)):
            return
        build_data["pure_python"] = False
        # For every Python 3 of this platform: the kernel is loaded with ctypes.
        platform = self.build_config.builder.get_best_matching_tag().rpartition("-")[2]
        build_data["tag"] = f"py3-none-{platform}"
        build_data["artifacts"].append(str(TARGET))


def compile_kernel(root: Path) -> bool:
    """Compile the kernel; return False on failure, which is no error: numpy is only slower."""
    compiler = os.environ.get("CC") or shutil.which("cc") or shutil.which("gcc")
    if compiler is None or sys.platform == "win32":
        return False
    part = root / f"{TARGET}.part"
    command = [
        compiler,
        *FLAGS,
        *(str(root / source) for source in SOURCES),
        "-o",
        str(part),
        "-lm",
    ]
    try:
        subprocess.run(command, check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        return False
    part.replace(root / TARGET)
    return True
