"""Bundles: model folders with a manifest and checksums, written atomically, verified on opening."""

import hashlib
import json
import os
import shutil
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rejoinder.errors import BundleError, DataError
from rejoinder.storage.typed import convert

FORMAT = 1
MANIFEST = "manifest.json"
WEIGHTS = Path(__file__).parents[1] / "weights"
"""The folder of the bundles and the cascade that come with the package."""


@dataclass(frozen=True, slots=True)
class Manifest:
    """manifest.json: the kind and format of the bundle, and where it comes from."""

    kind: str
    config: Mapping[str, Any]
    """The configuration of the scorer, without its weights."""
    files: Mapping[str, str] = field(default_factory=dict)
    """The SHA-256 checksum of every other file."""
    shared: Mapping[str, str] = field(default_factory=dict)
    """The included bundle that holds a file for this one, by the name of that file."""
    precision: str = "fp32"
    tolerance: float = 1e-4
    """The largest difference between its scores and those of the trained network."""
    training: Mapping[str, Any] = field(default_factory=dict)
    """Data, command, seed and duration."""
    scores: Mapping[str, Any] = field(default_factory=dict)
    """Measured quality, each number with its protocol."""
    format: int = FORMAT

    def to_json(self) -> str:
        """Return the manifest as indented JSON."""
        fields = asdict(self)
        if not self.shared:  # older versions refuse fields that they do not know
            del fields["shared"]
        return json.dumps(fields, indent=2, ensure_ascii=False) + "\n"


@dataclass(frozen=True, slots=True)
class Bundle:
    """An opened bundle, whose files have been verified."""

    folder: Path
    manifest: Manifest

    def read_text(self, name: str) -> str:
        """Return a text file of the bundle."""
        try:
            home = _find_home(self.folder, self.manifest, name)
            return (home / name).read_text(encoding="utf-8")
        except FileNotFoundError as error:
            raise self.refuse(f"file {name!r} is missing") from error
        except (OSError, UnicodeDecodeError) as error:
            raise self.refuse(f"{name} cannot be read ({error})") from error

    def refuse(self, problem: str) -> BundleError:
        """Return an error about the bundle."""
        return BundleError(f"{self.folder}: {problem}; export the bundle again")

    def read_tensors(self, name: str = "weights.safetensors") -> dict[str, NDArray[np.generic]]:
        """Return the arrays of a safetensors file of the bundle.

        Raises:
            BundleError: it is missing or corrupt, or a number is not finite.
        """
        from safetensors import SafetensorError, safe_open

        try:
            with safe_open(self.folder / name, framework="numpy") as file:
                tensors = {key: file.get_tensor(key) for key in file.keys()}  # noqa: SIM118
        except FileNotFoundError as error:
            raise self.refuse(f"{name} is missing") from error
        except (SafetensorError, OSError, ValueError, KeyError, TypeError) as error:
            # A checksum does not prove that the file was valid when it was written.
            raise self.refuse(f"{name} holds no weights ({error})") from error
        for key, tensor in tensors.items():
            if np.issubdtype(tensor.dtype, np.floating) and not np.isfinite(tensor).all():
                raise BundleError(
                    f"{self.folder}: weight {key!r} holds a number that is not finite"
                )
        return tensors


def write_bundle(folder: Path, manifest: Manifest, files: Mapping[str, bytes]) -> None:
    """Write a bundle to a temporary folder, then rename it.

    A crash leaves the old bundle or the new one: if the old one was already renamed,
    `open_bundle` finds it under that name.  This function fills in `manifest.files`.

    Raises:
        BundleError: the folder cannot be written, or is not a bundle.
    """
    check_place(folder)
    part, old = _beside(folder, "part"), _beside(folder, "old")
    checksums = {name: hashlib.sha256(content).hexdigest() for name, content in files.items()}
    complete = replace(manifest, files=checksums, shared={})
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        shutil.rmtree(part, ignore_errors=True)
        part.mkdir()
        for name, content in {**files, MANIFEST: complete.to_json().encode()}.items():
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
    """Check that a new bundle here would replace only a bundle or an empty folder."""
    if folder.is_dir() and ((folder / MANIFEST).is_file() or not any(folder.iterdir())):
        return
    if folder.exists():
        raise BundleError(f"{folder}: exists and is not a bundle; choose another folder")


def open_bundle(folder: Path, *, kind: str | None = None) -> Bundle:
    """Open a bundle and verify its files.

    Raises:
        BundleError: it is missing, corrupt, or of another format or kind.
    """
    if not folder.exists() and _beside(folder, "old").exists():
        folder = _beside(folder, "old")
    if not folder.exists():
        raise BundleError(f"{folder}: no such folder")
    if not (folder / MANIFEST).is_file():
        is_model = (folder / "config.json").is_file() or any(folder.glob("*.onnx"))
        hint = "; `rejoinder models import` makes one of this model" if is_model else ""
        raise BundleError(f"{folder}: not a bundle, it has no {MANIFEST}{hint}")
    try:
        manifest = parse_manifest((folder / MANIFEST).read_text(encoding="utf-8"), folder)
        for name, expected in manifest.files.items():
            _verify(_find_home(folder, manifest, name), name, expected)
    except (OSError, UnicodeDecodeError) as error:
        raise BundleError(f"{folder}: cannot be read: {error}") from error
    if kind is not None and manifest.kind != kind:
        raise BundleError(f"{folder}: is a bundle of kind {manifest.kind!r}, not {kind!r}")
    return Bundle(folder, manifest)


def parse_manifest(text: str, folder: Path) -> Manifest:
    """Parse the manifest of a bundle."""
    try:
        fields = json.loads(text)
        version = fields["format"]
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise BundleError(f"{folder}: {MANIFEST} is corrupt; export the bundle again") from error
    if version != FORMAT:
        raise BundleError(
            f"{folder}: it has format {version}, this version of rejoinder reads format {FORMAT}; "
            "upgrade rejoinder or export the bundle again"
        )
    try:
        return convert(fields, Manifest, path=folder / MANIFEST)
    except DataError as error:
        raise BundleError(f"{error}; export the bundle again") from error


def _find_home(folder: Path, manifest: Manifest, name: str) -> Path:
    """Return the folder that holds a file of a bundle: its own, or that of an included bundle."""
    owner = manifest.shared.get(name)
    if owner is None:
        return folder
    if owner not in {path.name for path in WEIGHTS.iterdir()}:
        raise BundleError(f"{folder}: no included bundle {owner!r} holds {name!r}")
    return WEIGHTS / owner


def _verify(folder: Path, name: str, expected: str) -> None:
    path = folder / name
    if path.parent != folder or path.is_symlink():
        raise BundleError(f"{folder}: file {name!r} is outside the bundle")
    if not path.is_file():
        raise BundleError(f"{folder}: file {name!r} is missing; export the bundle again")
    with path.open("rb") as file:  # in parts: a whole network takes longer to read than to hash
        checksum = hashlib.file_digest(file, "sha256").hexdigest()
    if checksum != expected:
        raise BundleError(f"{folder}: file {name!r} is corrupt; export the bundle again")


def _beside(folder: Path, suffix: str) -> Path:
    return folder.with_name(f".{folder.name}.{suffix}")


def _write_synced(path: Path, content: bytes) -> None:
    with path.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
