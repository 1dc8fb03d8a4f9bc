"""Trains a tiny selector without dropout in the processes of torchrun; saves the weights of each.

Usage: torchrun --nproc-per-node 2 -m tests.training.train_in_processes FOLDER
"""

import sys
from dataclasses import replace
from pathlib import Path

import torch
from safetensors.torch import save_file

from rejoinder.training.devices import choose_compute, count_processes, get_rank, join_processes
from rejoinder.training.fit import Plan
from rejoinder.training.loop import Recipe
from rejoinder.training.mixing import Part
from rejoinder.training.selector import fit_selector
from tests.models.examples import make_examples
from tests.models.selectors import TOKENIZER, make_selector

RECIPE = Recipe(
    "anchored", epochs=3, questions_per_step=5, learning_rate=1e-3, clip=1.0, weight_decay=0.01
)
"""Of eleven questions, the last step of an epoch has one: the second process has none."""


def train(folder: Path) -> None:
    """Save the weights as FOLDER/PROCESSES-RANK.safetensors."""
    torch.set_num_threads(1)
    model = make_selector(hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0)
    model.dropout.p = 0.0
    compute = choose_compute("cpu", "fp32")
    plan = Plan(model.config, RECIPE, keeps_best=True, compute=compute)
    # Lists of different lengths: each process averages over another number of candidates.
    examples = make_examples()[:11]
    examples[::3] = [
        replace(item, candidates=item.candidates[:2], labels=item.labels[:2])
        for item in examples[::3]
    ]
    with join_processes(compute):
        fitted = fit_selector(
            plan, [Part(examples)], model, TOKENIZER, dev=examples, checkpoint=folder / "checkpoint"
        )
    weights = {name: value.contiguous() for name, value in fitted.model.state_dict().items()}
    save_file(weights, folder / f"{count_processes()}-{get_rank()}.safetensors")


if __name__ == "__main__":
    train(Path(sys.argv[1]))
