"""Writes a bundle whole or not at all, and reads it only when every byte is as it was written."""

import hashlib
import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from rejoinder.bundle.manifest import NAME, Manifest, parse_manifest
from rejoinder.errors import BundleError

Tensors = Mapping[str, NDArray[np.generic]]
WEIGHTS = Path(__file__).parents[1] / "weights"
"""The folder of the bundles and the cascade that come with the package."""


@dataclass(frozen=True, slots=True)
class Bundle:
    """A bundle whose files were all found to be whole."""

    folder: Path
    manifest: Manifest

    def read_text(self, name: str) -> str:
        """Return a text file of the bundle.

        Raises:
            BundleError: it is not there, or no text.
        """
        try:
            return (self.folder / name).read_text(encoding="utf-8")
        except FileNotFoundError as error:
            raise self.refuse(f"file {name!r} is missing") from error
        except (OSError, UnicodeDecodeError) as error:
            raise self.refuse(f"{name} cannot be read ({error})") from error

    def refuse(self, problem: str) -> BundleError:
        """Return the error that says what is wrong with the bundle."""
        return BundleError(f"{self.folder}: {problem}; export the bundle again")

    def read_tensors(self, name: str = "weights.safetensors") -> dict[str, NDArray[np.generic]]:
        """Return the arrays of a safetensors file of the bundle.

        Raises:
            BundleError: it is no such file, or a number is not finite.
        """
        from safetensors import SafetensorError
        from safetensors.numpy import load

        try:
            tensors = load((self.folder / name).read_bytes())
        except FileNotFoundError as error:
            raise self.refuse(f"{name} is missing") from error
        except (SafetensorError, OSError, ValueError, KeyError, TypeError) as error:
            # Sums say that a file is as it was written, not that it was written well.
            raise self.refuse(f"{name} holds no weights ({error})") from error
        for key, tensor in tensors.items():
            if np.issubdtype(tensor.dtype, np.floating) and not np.isfinite(tensor).all():
                raise BundleError(
                    f"{self.folder}: weight {key!r} holds a number that is not finite"
                )
        return tensors


def write_bundle(folder: Path, manifest: Manifest, files: Mapping[str, bytes]) -> None:
    """Write a bundle beside its place, then move it there.

    A crash leaves the old bundle or the new one: where the old one was already moved aside,
    `open_bundle` finds it there.  `manifest.files` is filled in here.

    Raises:
        BundleError: the folder cannot be written, or holds something else.
    """
    check_place(folder)
    part, old = _beside(folder, "part"), _beside(folder, "old")
    sums = {name: hashlib.sha256(content).hexdigest() for name, content in files.items()}
    whole = replace(manifest, files=sums)
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        shutil.rmtree(part, ignore_errors=True)
        part.mkdir()
        for name, content in {**files, NAME: whole.to_json().encode()}.items():
            _write_synced(part / name, content)
        if folder.exists():
            shutil.rmtree(old, ignore_errors=True)
            folder.rename(old)
        part.rename(folder)
        shutil.rmtree(old, ignore_errors=True)
    except OSError as error:
        shutil.rmtree(part, ignore_errors=True)
        raise BundleError(f"{folder}: cannot be written: {error.strerror}") from error


def check_place(folder: Path) -> None:
    """Make sure that a bundle written here replaces nothing but a bundle.

    Raises:
        BundleError: something else is there.
    """
    if folder.is_dir() and ((folder / NAME).is_file() or not any(folder.iterdir())):
        return
    if folder.exists():
        raise BundleError(f"{folder}: is there already and no bundle; choose another place")


def open_bundle(folder: Path, *, kind: str | None = None) -> Bundle:
    """Open a bundle and verify its files.

    Raises:
        BundleError: it is missing, torn, too new, or of another kind.
    """
    if not folder.exists() and _beside(folder, "old").exists():
        folder = _beside(folder, "old")
    if not folder.exists():
        raise BundleError(f"{folder}: no such folder")
    if not (folder / NAME).is_file():
        raise BundleError(f"{folder}: not a bundle, it has no {NAME}")
    try:
        manifest = parse_manifest((folder / NAME).read_text(encoding="utf-8"), folder)
        for name, expected in manifest.files.items():
            _verify(folder, name, expected)
    except (OSError, UnicodeDecodeError) as error:
        raise BundleError(f"{folder}: cannot be read: {error}") from error
    if kind is not None and manifest.kind != kind:
        raise BundleError(f"{folder}: is a bundle of kind {manifest.kind!r}, not {kind!r}")
    return Bundle(folder, manifest)


def _verify(folder: Path, name: str, expected: str) -> None:
    path = folder / name
    if path.parent != folder or path.is_symlink():
        raise BundleError(f"{folder}: file {name!r} leads out of the bundle")
    if not path.is_file():
        raise BundleError(f"{folder}: file {name!r} is missing; export the bundle again")
    if hashlib.sha256(path.read_bytes()).hexdigest() != expected:
        raise BundleError(f"{folder}: file {name!r} is torn; export the bundle again")


def _beside(folder: Path, what: str) -> Path:
    return folder.with_name(f".{folder.name}.{what}")


def _write_synced(path: Path, content: bytes) -> None:
    with path.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
