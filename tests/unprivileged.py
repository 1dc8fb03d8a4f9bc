"""Starts a command that the modes of files bind."""

import os
import shutil

import pytest

RIGHTS = "-dac_override,-dac_read_search"


def without_privilege() -> list[str]:
    """Return what to put before a command: modes do not bind root unless it gives that right up."""
    if os.geteuid() != 0:
        return []
    if shutil.which("setpriv") is None:
        pytest.skip("needs setpriv, or another user than root")
    return ["setpriv", f"--bounding-set={RIGHTS}", f"--inh-caps={RIGHTS}"]
