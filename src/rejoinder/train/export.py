"""Writes a trained network as a bundle."""

import shlex
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from safetensors.torch import save

from rejoinder.bundle.folder import write_bundle
from rejoinder.bundle.manifest import Manifest
from rejoinder.runtime.static_vectors import StaticVectors, to_files
from rejoinder.train.fit import Fitted, Plan


def write_ranker(
    folder: Path,
    plan: Plan,
    fitted: Fitted,
    vectors: StaticVectors,
    *,
    data: Sequence[str],
    scores: Mapping[str, Any],
) -> None:
    """Write weights, vectors and where they come from.

    The vectors go with the network: it is worth nothing with others.
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
    write_bundle(folder, manifest, {"weights.safetensors": save(state), **to_files(vectors)})
