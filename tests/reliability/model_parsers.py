"""Bundles of every family, and models to import, as archives of their files."""

import hashlib
import json
import shutil
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Any

from rejoinder.bundle.folder import MANIFEST
from rejoinder.documents.parsed import Sentence
from rejoinder.documents.passages import Passage
from rejoinder.errors import InputError
from rejoinder.models.importing import ImportOptions, import_model
from rejoinder.models.registry import open_scorer, open_sentence_encoder
from tests.reliability.document_parsers import read_seeds
from tests.reliability.mutations import unpack
from tests.reliability.parser import Parser

QUESTION = "where is the red cat?"
TEXTS = ["the cat is here", "it rained", ""]
NETWORKS = ONNX, TORCH = "model.onnx", "model.safetensors"


def read_bundle(raw: bytes, folder: Path) -> object:
    """Open a bundle, score with it, and encode if it can."""
    _unpack(_forge(raw), folder)
    scores = open_scorer(folder).score(QUESTION, TEXTS)
    assert scores.shape == (len(TEXTS),)
    if "encoder" in json.loads((folder / MANIFEST).read_bytes())["kind"]:
        passage = Passage(Sentence(0, TEXTS[0], 0, len(TEXTS[0])), (), (), ())
        encoder = open_sentence_encoder(folder)
        assert encoder.encode_passages("cats", [passage]).shape == (1, encoder.width)
    return scores


def read_source(raw: bytes, folder: Path, *, network: str, int8: bool | None = None) -> object:
    """Import a model with a network of this name, and score with the bundle."""
    parts = unpack(raw)
    if network not in parts:
        raise InputError(f"no {network}")  # torch, for instance, has a parser of its own
    _unpack(parts, folder)
    target = folder.with_name(f"{folder.name}-imported")
    shutil.rmtree(target, ignore_errors=True)
    import_model(ImportOptions(str(folder), target, int8=int8))
    scores = open_scorer(target).score(QUESTION, TEXTS)
    assert scores.shape == (len(TEXTS),)
    return scores


def _forge(raw: bytes) -> dict[str, bytes]:
    """Return the files of a bundle with right checksums: who forges a file forges its checksum."""
    parts = unpack(raw)
    try:
        manifest = json.loads(parts[MANIFEST])
        named = [name for name in manifest["files"] if name in parts]
    except (KeyError, TypeError, ValueError, RecursionError):
        return parts
    sums = {name: hashlib.sha256(parts[name]).hexdigest() for name in named}
    if isinstance(manifest["files"], dict):
        manifest["files"] |= sums
        parts[MANIFEST] = json.dumps(manifest).encode()
    return parts


def _unpack(parts: Mapping[str, bytes], folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    if not parts:
        raise InputError("not an archive")
    for name, content in parts.items():
        place = PurePosixPath(name)
        if place.is_absolute() or ".." in place.parts or len(place.parts) > 2:
            raise InputError("not the name of a part")  # archives are ours, not rejoinder's
        (folder / place).parent.mkdir(exist_ok=True)
        (folder / place).write_bytes(content)


def make_parsers(folder: Path) -> dict[str, Parser]:
    """Return the parsers by the names that reports use; they work in this folder."""
    sources = {
        name: tuple(raw for raw in read_seeds("import") if name in unpack(raw)) for name in NETWORKS
    }
    readers: dict[str, tuple[Callable[..., Any], tuple[bytes, ...]]] = {
        "bundle of any family": (read_bundle, read_seeds("bundle")),
        "import of ONNX": (partial(read_source, network=ONNX), sources[ONNX]),
        "import of ONNX to int8": (
            partial(read_source, network=ONNX, int8=True),
            sources[ONNX],
        ),
        "import of safetensors": (partial(read_source, network=TORCH), sources[TORCH]),
    }
    return {
        name: Parser(partial(read, folder=folder / name.replace(" ", "-")), seeds)
        for name, (read, seeds) in readers.items()
    }
