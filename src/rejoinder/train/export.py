"""Writes a trained network as a bundle, if the runtime scores with it as torch does.

A bundle that exists works: before it takes its place it is opened again without torch, and
scores a sample.  Where the two differ, nothing is left behind.
"""

import shlex
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import torch
from safetensors.torch import save
from torch import Tensor

from rejoinder.bundle.folder import open_bundle, write_bundle
from rejoinder.bundle.manifest import Manifest
from rejoinder.errors import BundleError
from rejoinder.records import Example
from rejoinder.runtime.catalogue import list_shipped
from rejoinder.runtime.ranker import RankerScorer
from rejoinder.runtime.scorer import Scorer
from rejoinder.runtime.static_vectors import StaticVectors, to_files
from rejoinder.runtime.surroundings import COUNT
from rejoinder.train.fit import Fitted, Plan
from rejoinder.train.models.ranker import Ranker, RankerConfig
from rejoinder.train.torch_scorer import TorchScorer


def write_ranker(
    folder: Path,
    plan: Plan[RankerConfig],
    fitted: Fitted[Ranker],
    vectors: StaticVectors,
    *,
    data: Sequence[str],
    scores: Mapping[str, Any],
    sample: Sequence[Example],
) -> None:
    """Write weights, vectors and where they come from.

    The vectors go with the network: it is worth nothing with others.

    Raises:
        BundleError: the folder cannot be written, or the runtime's scores of the sample
            differ by more than the tolerance.
    """
    state = {name: tensor.contiguous() for name, tensor in fitted.model.state_dict().items()}
    recipe = plan.recipe
    manifest = Manifest(
        plan.config.model,
        {**plan.config.to_dict(), "are_pieces": vectors.are_pieces},
        training={
            "data": list(data),
            "loss": recipe.loss,
            "epochs": recipe.epochs,
            "questions_per_step": recipe.questions_per_step,
            "learning_rate": recipe.peak,
            "weight_decay": recipe.weight_decay,
            "kept": "best epoch on dev" if plan.keeps_best else "last epoch",
            "seed": recipe.seed,
            "steps": fitted.steps,
            "seconds": round(fitted.seconds, 1),
            "command": shlex.join(["rejoinder", *sys.argv[1:]]),
        },
        scores=scores,
    )
    files = {"weights.safetensors": save(state), **to_files(vectors)}
    with TemporaryDirectory() as place:
        trial = Path(place, folder.name)
        write_bundle(trial, manifest, files)
        check_parity(
            RankerScorer(open_bundle(trial)),
            TorchScorer(fitted.model, vectors),
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
