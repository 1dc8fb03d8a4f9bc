"""What only some systems have: tests that need it are skipped on the others, and say so."""

import os
from pathlib import Path
from types import ModuleType

import pytest

needs_pipes = pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
needs_proc = pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="needs /proc of Linux")
KILLED_STATUSES = (-9, 9)
"""The exit statuses of a process that got signal 9: on POSIX, and on Windows."""


def import_pty() -> ModuleType:
    """Return the module of pseudo-terminals, or skip the test."""
    module: ModuleType = pytest.importorskip(
        "pty", reason="needs pseudo-terminals", exc_type=ImportError
    )
    return module
