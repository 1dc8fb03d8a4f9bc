"""The compiled kernel on an emulated ARM processor, with the same Python around it."""

import ctypes
import shutil
import struct
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
from numpy.typing import NDArray

from rejoinder import models
from rejoinder.models import kernel as module
from rejoinder.models.kernel import Ids, Kernel, Matrix

EMULATOR, COMPILER = shutil.which("qemu-aarch64"), shutil.which("aarch64-linux-gnu-gcc")
FLAGS = ("-O3", "-std=gnu11", "-static", "-fno-math-errno", "-fno-trapping-math")
"""As for the kernel in the wheel (hatch_build.py), in a program instead of a library."""
needs_arm = pytest.mark.skipif(
    EMULATOR is None or COMPILER is None,
    reason="no compiler or emulator for ARM: `python tests/system_packages.py` installs them",
)


class ArmLibrary:
    """Runs each call of a function in a process of its own."""

    def __init__(self, folder: Path) -> None:
        assert COMPILER is not None
        self._program = folder / "arm"
        kernel = [Path(models.__path__[0], name) for name in ("kernel.c", "transformer.c")]
        sources = [Path(__file__).with_suffix(".c"), *kernel]
        subprocess.run([COMPILER, *FLAGS, *sources, "-o", self._program, "-lm"], check=True)

    def bind(self, name: str, signature: str) -> Callable[..., int]:
        """Return a function of arrays (p) and integers (i), as `bind_function` does."""
        return lambda *arguments: self._call(name, signature, arguments)

    def _call(self, name: str, signature: str, arguments: tuple[Any, ...]) -> int:
        assert EMULATOR is not None
        assert len(arguments) == len(signature)
        given, regions = b"", []
        for kind, argument in zip(signature, arguments, strict=True):
            if kind == "i":
                given += struct.pack("<q", argument)
                continue
            low, high = _find_memory(argument)
            regions.append((low, high - low, argument.flags.writeable))
            given += struct.pack("<qq", high - low, argument.ctypes.data - low)
            given += ctypes.string_at(low, high - low)
        emulated = subprocess.run(
            [EMULATOR, self._program, name, signature],
            input=given,
            check=True,
            capture_output=True,
        )
        (result,) = struct.unpack_from("<q", emulated.stdout)
        at = 8
        for low, size, is_writeable in regions:
            if is_writeable:
                ctypes.memmove(low, emulated.stdout[at : at + size], size)
            at += size
        assert at == len(emulated.stdout)
        return int(result)


class ArmKernel(Kernel):
    """The kernel, whose functions get arrays for all memory."""

    def run_recurrence(
        self, inputs: Matrix, states: Matrix, lengths: Ids, transposed: Matrix
    ) -> None:
        """Do the same with arrays: an emulated process cannot follow an address."""
        steps = inputs.strides[0] // 4, states.strides[0] // 4
        strips = transposed.shape[1] // self.strip
        width = inputs.shape[1]
        self._recur(*(inputs, states, lengths, len(lengths), width), *steps, transposed, strips)


def open_arm_kernel(library: ArmLibrary) -> Kernel:
    """Return the kernel on ARM."""
    with mock.patch.object(module, "bind_function", ArmLibrary.bind):
        return ArmKernel(library)  # type: ignore[arg-type]


def _find_memory(array: NDArray[Any]) -> tuple[int, int]:
    """Return the first byte of an array and the one after its last; rows may run backwards."""
    first = array.ctypes.data
    if not array.size:
        return first, first
    steps = [(size - 1) * stride for size, stride in zip(array.shape, array.strides, strict=True)]
    low, high = (sum(kind(0, step) for step in steps) for kind in (min, max))
    return first + low, first + high + array.itemsize
