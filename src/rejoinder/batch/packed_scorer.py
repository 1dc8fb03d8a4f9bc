"""Scorers for workers: sent by name or path, or with their files.

A worker process loads a scorer once, however many partitions it gets.
"""

import hashlib
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

from msgspec import structs

from rejoinder.cascade.file import find_scorer, read_cascade_file, to_toml
from rejoinder.cascade.loading import describe_cascades, load
from rejoinder.errors import InputError, UnknownNameError
from rejoinder.models.registry import list_names
from rejoinder.models.scorer import Scorer

_CASCADE = "cascade.toml"
_BUNDLE = "bundle"


@dataclass(frozen=True, slots=True)
class PackedScorer:
    """A scorer for a worker: a name or path that it can open itself, or the files."""

    name: str
    files: Mapping[str, bytes] = field(default_factory=dict, repr=False, compare=False)
    digest: str = ""
    """Identifies the files of the scorer; empty for a name."""


def pack_scorer(scorer: str, *, send: bool) -> PackedScorer:
    """Prepare a scorer for workers.

    Args:
        scorer: a name of `rejoinder models list`, the folder of a bundle, or a cascade file.
        send: send the files, for workers that cannot open the path.
    """
    path = Path(scorer)
    if not path.exists():
        known = [*list_names(), *(cascade.name for cascade in describe_cascades())]
        if scorer not in known:
            raise UnknownNameError("scorer", scorer, known)
        return PackedScorer(scorer)  # the package has it on every machine
    is_cascade = path.suffix == ".toml"
    files = _pack_cascade(path) if is_cascade else _pack_folder(path, _BUNDLE)
    digest = hashlib.sha256()
    for name, content in files.items():
        digest.update(f"{name}\0{len(content)}\0".encode() + content)
    if not send:
        return PackedScorer(str(path.resolve()), digest=digest.hexdigest())
    return PackedScorer(_CASCADE if is_cascade else _BUNDLE, files, digest.hexdigest())


@lru_cache(maxsize=1)
def load_packed_scorer(packed: PackedScorer) -> Scorer:
    """Load a scorer with one thread, since there is one process per core."""
    if not packed.files:
        return load(packed.name, threads=1)
    with tempfile.TemporaryDirectory(prefix="rejoinder-") as folder:
        for name, content in packed.files.items():
            path = Path(folder, name)
            if ".." in path.parts or Path(name).is_absolute():
                raise InputError(f"file {name!r} of the scorer is outside its folder")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
        return load(Path(folder, packed.name), threads=1)


def _pack_cascade(path: Path) -> dict[str, bytes]:
    """Return the cascade file and the bundles that it names."""
    cascade = read_cascade_file(path)
    files: dict[str, bytes] = {}
    stages = []
    for number, stage in enumerate(cascade.stages, start=1):
        source = find_scorer(stage.scorer, path.parent)
        name = stage.scorer
        if isinstance(source, Path):
            name = f"stage-{number}"
            files |= _pack_folder(source, name)
        stages.append(structs.replace(stage, scorer=name))
    return {_CASCADE: to_toml(structs.replace(cascade, stages=tuple(stages))).encode(), **files}


def _pack_folder(folder: Path, name: str) -> dict[str, bytes]:
    return {
        f"{name}/{path.name}": path.read_bytes()
        for path in sorted(folder.iterdir())
        if path.is_file()
    }
