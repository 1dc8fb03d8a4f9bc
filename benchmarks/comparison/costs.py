"""Environments of packages that are not in the usual one, and the size of what a user installs."""

import os
import subprocess
import sys
import tempfile
import venv
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from tests.environments import HOME, make_environment

from benchmarks.comparison.contenders import CONTENDERS, Contender
from benchmarks.corpora.embeddings import ENCODERS
from benchmarks.manuals.readers import ROOT

REQUIREMENTS = Path(__file__).with_name("requirements")
PREFIX = "compare-"
"""Of the names of environments."""
TORCH = "torch=="
"""The line of constraints.txt: newer builds of torch bring gigabytes for GPUs."""


def install_packages(names: Iterable[str]) -> None:
    """Create the environments that contenders need; say which could not be created."""
    for environment in sorted({CONTENDERS[name].environment for name in names} - {""}):
        try:
            make_environment(f"{PREFIX}{environment}", REQUIREMENTS / f"{environment}.txt")
        except SystemExit as error:
            print(error, file=sys.stderr)


def find_python(environment: str) -> str:
    """Return the Python of an environment; the running one where there is none."""
    python = HOME / f"{PREFIX}{environment}" / "bin" / "python"
    return str(python) if environment and python.exists() else sys.executable


def find_missing(contender: Contender, weights: Path | None) -> list[str]:
    """Return what a contender needs and this machine lacks."""
    python = find_python(contender.environment)
    missing = [name for name in contender.modules if not has_module(python, name)]
    for name in contender.weights:
        if name in ENCODERS:
            is_there = ENCODERS[name].find(weights) is not None
        else:
            is_there = weights is not None and (weights / name).is_file()
        missing += [] if is_there else [name]
    return missing


@cache
def has_module(python: str, module: str) -> bool:
    """Return whether a Python finds a module, without importing it."""
    if python == sys.executable:
        return find_spec(module) is not None
    code = "import sys, importlib.util as u; sys.exit(u.find_spec(sys.argv[1]) is None)"
    return subprocess.run([python, "-c", code, module], check=False).returncode == 0


def measure_install_sizes(
    names: Iterable[str], known: Mapping[str, float]
) -> Iterator[dict[str, float]]:
    """Yield the megabytes that pip installs for contenders, by their packages, after each.

    Each list of packages is installed into an empty virtual environment, without bytecode.

    Args:
        known: sizes of earlier runs.
    """
    sizes = dict(known)
    for packages in sorted({CONTENDERS[name].packages for name in names}):
        if not packages:
            sizes[""] = 0.0
        elif name_packages(packages) not in sizes:
            print(f"installing {name_packages(packages)} ...", file=sys.stderr)
            try:
                sizes[name_packages(packages)] = measure_install(packages)
            except subprocess.CalledProcessError as error:
                print(f"cannot be installed: {error.stderr.strip()[-500:]}", file=sys.stderr)
        yield sizes


def name_packages(packages: Iterable[str]) -> str:
    """Return the key of a list of packages.

    >>> name_packages((".", "onnxruntime"))
    'rejoinder onnxruntime'
    """
    return " ".join("rejoinder" if name == "." else name for name in packages)


def measure_install(packages: Iterable[str]) -> float:
    """Return the megabytes of what pip installs into an empty environment."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place, "environment")
        venv.create(folder, symlinks=True)
        pins = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
        constraints = Path(place, "constraints.txt")
        constraints.write_text("".join(f"{pin}\n" for pin in pins if pin.startswith(TORCH)))
        paths = [str(ROOT) if name == "." else name for name in packages]
        subprocess.run(
            [
                *(sys.executable, "-m", "pip", "--disable-pip-version-check"),
                *("--python", str(folder / "bin" / "python")),
                *("install", "--quiet", "--no-compile", "-c", str(constraints), *paths),
            ],
            check=True,
            capture_output=True,
            text=True,
            env={name: text for name, text in os.environ.items() if name != "PYTHONPATH"},
        )
        return round(measure_folder(folder / "lib") / 1e6, 1)


def measure_folder(folder: Path) -> int:
    """Return the bytes of all files below a folder; a linked file is none of them."""
    files = (path for path in folder.rglob("*") if path.is_file() and not path.is_symlink())
    return sum(path.stat().st_size for path in files)


def measure_weights(contender: Contender, weights: Path | None) -> float:
    """Return the megabytes of the weights that a user downloads besides."""
    size = 0
    for name in contender.weights:
        folder = ENCODERS[name].find(weights) if name in ENCODERS else None
        if folder:
            size += Path(folder, "model.safetensors").stat().st_size
        elif weights:
            size += (weights / name).stat().st_size
    return round(size / 1e6, 1)
