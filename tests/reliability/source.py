"""The state of the code that outcomes are of: a digest of its files, and its commit."""

import hashlib
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
FOLDERS = ("src", "tests")
FILES = ("pyproject.toml", "constraints.txt")
OTHER = ("__pycache__", ".so", ".pyc")
"""Endings of names that are made of the source."""
SHOWN = 8
"""Digits of a digest on the page."""


class Source(NamedTuple):
    """A state of the code."""

    digest: str
    """Of the package, and of everything in `tests` but the test modules."""
    commit: str
    """The newest commit that changed it; after `+` the digest, if there are uncommitted changes."""


def read_source(root: Path = ROOT) -> Source:
    """Return the state of the code that is there now."""
    hash_ = hashlib.sha256()
    for path in _list_files(root):
        hash_.update(f"{path.relative_to(root).as_posix()}\0{path.stat().st_size}\0".encode())
        hash_.update(path.read_bytes())
    digest = hash_.hexdigest()
    return Source(digest, _name_commit(root, digest[:SHOWN]))


def _list_files(root: Path) -> Iterator[Path]:
    for folder in FOLDERS:
        for path in sorted((root / folder).rglob("*")):
            is_test = folder == "tests" and path.name.startswith("test_")
            if path.is_file() and not is_test and not _is_made(path):
                yield path
    yield from (root / name for name in FILES)


def _is_made(path: Path) -> bool:
    return any(part.endswith(OTHER) for part in path.parts)


def _name_commit(root: Path, digest: str) -> str:
    """Return the commit for the page; the digest alone where there is no git."""
    places = [*FOLDERS, *FILES, ":(exclude,glob)tests/**/test_*.py"]
    try:
        commit = _run_git(root, "log", "-1", "--format=%h", "--", *places)
        changed = _run_git(root, "status", "--porcelain", "--", *places)
    except (OSError, subprocess.CalledProcessError):
        return digest
    return f"{commit}+{digest}" if changed else commit or digest


def _run_git(root: Path, *arguments: str) -> str:
    command = ["git", "-C", str(root), *arguments]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return done.stdout.strip()
