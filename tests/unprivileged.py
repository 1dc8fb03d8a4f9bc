"""Run a command that file permissions apply to, even as root."""

import os
import shutil

import pytest

CAPABILITIES = "-dac_override,-dac_read_search"


def without_privilege() -> list[str]:
    """Return the prefix of such a command: root ignores permissions until it drops capabilities."""
    if not hasattr(os, "geteuid") or os.geteuid() != 0:
        return []
    if shutil.which("setpriv") is None:
        pytest.skip("needs setpriv or a user other than root")
    return ["setpriv", f"--bounding-set={CAPABILITIES}", f"--inh-caps={CAPABILITIES}"]
