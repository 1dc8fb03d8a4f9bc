"""Virtual environments for frameworks whose dependencies conflict with each other.

Each framework has `.venvs/NAME`: its pinned packages on top of the environment that runs this, so
that nothing is installed twice.  It is created once, and again when its requirements change.
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
    """Create an environment with the packages of a requirements file; return its Python."""
    folder = HOME / name
    python = folder / "bin" / "python"
    base = sysconfig.get_path("purelib")
    digest = hashlib.sha256(requirements.read_bytes() + base.encode()).hexdigest()
    stamp = folder / "made-from"
    if stamp.exists() and stamp.read_text() == digest:
        return python
    sys.stderr.write(f"creating .venvs/{name} (once) ...\n")
    shutil.rmtree(folder, ignore_errors=True)
    venv.create(folder, symlinks=True)
    _add_base(python, base)
    _install(python, requirements)
    stamp.write_text(digest)
    return python


def _add_base(python: Path, base: str) -> None:
    """Let an environment import the packages of another one, after its own."""
    command = [str(python), "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"]
    site_packages = subprocess.run(
        command, check=True, capture_output=True, text=True
    ).stdout.strip()
    (Path(site_packages) / "base.pth").write_text(f"{base}\n")


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
