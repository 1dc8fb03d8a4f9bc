"""Exports a trained ranker as a bundle, after checking that it scores as torch does.

The bundle is first written elsewhere, opened without torch, and scores a sample.  If the scores
differ, nothing is written.
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
from rejoinder.models.ranker.module.ranker import Ranker, RankerConfig, TorchScorer
from rejoinder.models.ranker.relatedness import CONTEXT_FEATURES
from rejoinder.models.ranker.scorer import find_context
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
    """Write the weights, the vectors they were trained with, and their provenance.

    Raises:
        BundleError: the folder cannot be written, or the exported bundle's scores of the
            sample differ by more than the tolerance.
    """
    state = {name: tensor.contiguous() for name, tensor in model.state_dict().items()}
    manifest = Manifest(
        model.config.model,
        {**model.config.to_dict(), "are_pieces": vectors.are_pieces},
        training=training,
        scores=scores,
    )
    files = {"weights.safetensors": save(state), **to_files(vectors)}
    with TemporaryDirectory() as temporary:
        trial = Path(temporary, folder.name)
        write_bundle(trial, manifest, files)
        exported, trained = make_scorer(open_bundle(trial)), TorchScorer(model, vectors)
        check_parity(exported, trained, sample, tolerance=manifest.tolerance)
    write_bundle(folder, manifest, files)


def read_weights(name: str, config: RankerConfig) -> dict[str, Tensor]:
    """Return the weights of a ranker's bundle, to continue training from them.

    Args:
        name: a shipped bundle, or a bundle's folder.

    Raises:
        BundleError: it is not a bundle, or its network does not fit the configuration.
    """
    bundle = open_bundle(list_shipped().get(name, Path(name)), kind=config.model)
    for setting in ("vector_width", "head"):
        actual, expected = bundle.manifest.config[setting], getattr(config, setting)
        if actual != expected:
            raise BundleError(f"{name}: its {setting} is {actual}, not {expected}; give the same")
    weights = {key: torch.from_numpy(array) for key, array in bundle.read_tensors().items()}
    own = find_context(bundle.manifest.config)
    if own not in ("none", config.context):
        raise BundleError(f"{name}: it reads context {own!r}; train with the same")
    if features := CONTEXT_FEATURES[config.context]:
        # New context features start without influence.
        weights.setdefault("around.weight", torch.zeros(1, features))
    return weights


def check_parity(
    exported: Scorer, trained: Scorer, sample: Sequence[Example], *, tolerance: float
) -> None:
    """Raise BundleError if the scores of two scorers differ by more than the tolerance."""
    for example in sample:
        scores = [
            scorer.score(example.question, example.candidates) for scorer in (exported, trained)
        ]
        difference = np.abs(scores[0] - scores[1]).max(initial=0.0)
        if not difference <= tolerance:
            raise BundleError(
                f"scores of question {example.id!r} differ by {difference:.2g} without torch,"
                f" more than {tolerance:.2g}: nothing was written"
            )
