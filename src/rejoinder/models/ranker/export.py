"""Writes a trained network as a bundle, if the runtime scores with it as torch does.

A bundle that exists works: before it takes its place it is opened again without torch, and
scores a sample.  Where the two differ, nothing is left behind.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import torch
from safetensors.torch import save
from torch import Tensor

from rejoinder.bundle.folder import Manifest, open_bundle, write_bundle
from rejoinder.errors import BundleError
from rejoinder.models.ranker.module.ranker import Ranker, RankerConfig
from rejoinder.models.ranker.module.torch_scorer import TorchScorer
from rejoinder.models.ranker.surroundings import COUNT
from rejoinder.models.registry import list_shipped, make_scorer
from rejoinder.models.scorer import Scorer
from rejoinder.models.static_vectors.vectors import StaticVectors, to_files
from rejoinder.types import Example


def write_ranker(
    folder: Path,
    model: Ranker,
    vectors: StaticVectors,
    *,
    training: Mapping[str, Any],
    scores: Mapping[str, Any],
    sample: Sequence[Example],
) -> None:
    """Write weights, vectors and their provenance.

    The vectors are part of the bundle: the network works with no others.

    Raises:
        BundleError: the folder cannot be written, or the runtime's scores of the sample
            differ by more than the tolerance.
    """
    state = {name: tensor.contiguous() for name, tensor in model.state_dict().items()}
    manifest = Manifest(
        model.config.model,
        {**model.config.to_dict(), "are_pieces": vectors.are_pieces},
        training=training,
        scores=scores,
    )
    files = {"weights.safetensors": save(state), **to_files(vectors)}
    with TemporaryDirectory() as place:
        trial = Path(place, folder.name)
        write_bundle(trial, manifest, files)
        check_parity(
            make_scorer(open_bundle(trial)),
            TorchScorer(model, vectors),
            sample,
            tolerance=manifest.tolerance,
        )
    write_bundle(folder, manifest, files)


def read_weights(name: str, config: RankerConfig) -> dict[str, Tensor]:
    """Return the weights of a ranker's bundle, to train on from them.

    Args:
        name: of a bundle that comes with the package, else its folder.

    Raises:
        BundleError: it is no bundle, or holds another network than the configuration's.
    """
    bundle = open_bundle(list_shipped().get(name, Path(name)), kind=config.model)
    for setting in ("vector_width", "head"):
        found, wanted = bundle.manifest.config[setting], getattr(config, setting)
        if found != wanted:
            raise BundleError(f"{name}: its {setting} is {found}, not {wanted}; give the same")
    weights = {key: torch.from_numpy(array) for key, array in bundle.read_tensors().items()}
    if bundle.manifest.config.get("context", False) and not config.context:
        raise BundleError(f"{name}: it reads context; train on with context")
    if config.context:
        # Context that is new counts nothing at first.
        weights.setdefault("around.weight", torch.zeros(1, COUNT))
    return weights


def check_parity(
    exported: Scorer, trained: Scorer, sample: Sequence[Example], *, tolerance: float
) -> None:
    """Hold the scores of two scorers against each other.

    Raises:
        BundleError: they differ by more than the tolerance.
    """
    for example in sample:
        difference = np.abs(
            exported.score(example.question, example.candidates)
            - trained.score(example.question, example.candidates)
        ).max(initial=0.0)
        if not difference <= tolerance:
            raise BundleError(
                f"scores of question {example.id!r} differ by {difference:.2g} without torch,"
                f" more than {tolerance:.2g}: nothing was written"
            )
