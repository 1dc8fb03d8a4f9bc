"""Environments for tests that need what the project's own environment must not hold.

Frameworks are heavy and disagree about what they need.  Each gets `.venvs/NAME`: its pinned
packages, laid over the environment that runs this, so that nothing is installed twice.  It is
made once, and made anew when what it was made from has changed.
"""

import hashlib
import shutil
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

ROOT = Path(__file__).parent.parent
HOME = ROOT / ".venvs"


def make_environment(name: str, requirements: Path) -> Path:
    """Return the Python of an environment that holds what the file lists."""
    folder = HOME / name
    python = folder / "bin" / "python"
    below = sysconfig.get_path("purelib")
    wanted = hashlib.sha256(requirements.read_bytes() + below.encode()).hexdigest()
    stamp = folder / "made-from"
    if stamp.exists() and stamp.read_text() == wanted:
        return python
    sys.stderr.write(f"making .venvs/{name} (once) ...\n")
    shutil.rmtree(folder, ignore_errors=True)
    venv.create(folder, symlinks=True)
    _lay_over(python, below)
    _install(python, requirements)
    stamp.write_text(wanted)
    return python


def _lay_over(python: Path, below: str) -> None:
    """Let an environment see the packages of another one, after its own."""
    asked = [str(python), "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"]
    own = subprocess.run(asked, check=True, capture_output=True, text=True).stdout.strip()
    (Path(own) / "below.pth").write_text(f"{below}\n")


def _install(python: Path, requirements: Path) -> None:
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--python", str(python)]
    done = subprocess.run(
        [*pip, "install", "--quiet", "-r", str(requirements)],
        check=False,
        capture_output=True,
        text=True,
    )
    if done.returncode:
        raise SystemExit(f"{requirements.name} cannot be installed: {done.stderr.strip()}")
