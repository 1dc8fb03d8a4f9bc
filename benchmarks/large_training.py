"""Measure the memory and speed of a training on data of ASNQ's size and shape.

Usage: python -m benchmarks.large_training [--model selector] [--max-steps N] > large_training.json

Writes two synthetic data sets in ASNQ's format: one of this many questions with 350 candidates
each, and one of 1 % of it; or reads a data folder (`--data`), such as one that
`benchmarks.published_sizes` wrote.  A process of its own trains a model on each, for an epoch or
for `--max-steps` steps, on one thread.  Transformers are small and have random weights, so
that reading the data and making batches weigh as much as they can.  Seconds are CPU time.  Prints
one JSON object with the seconds of a step and of the whole epoch, as projected from the steps; the
table goes to stderr.  Needs the extra `train`, and 4 GB of disk for 57,000 questions.
"""

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from benchmarks.common import describe_machine
from benchmarks.generated import draw_pairs, list_words
from rejoinder.text.wordpiece import WordPiece

CANDIDATES = 350
SMALL = 100
"""The small data set has one of so many questions."""
MIN_QUESTIONS = 100
"""Enough for a few steps."""
WIDTH, LAYERS, MAX_TOKENS = 64, 2, 128
PIECES = 30_000
"""Words that the transformers know; the others are [UNK]."""


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--model", choices=MODELS, default="selector")
    parser.add_argument("--questions", type=int, default=57_000)
    parser.add_argument("--max-steps", type=int, help="of each training; an epoch by default")
    parser.add_argument("--data", type=Path, help="train on asnq:train of this folder alone")
    parser.add_argument("--folder", type=Path, help="for the data; a temporary one by default")
    parser.add_argument("--measure", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if folder := arguments.measure or arguments.data:
        print(json.dumps(train(arguments.model, folder, arguments.max_steps)))
        return
    with TemporaryDirectory(dir=arguments.folder) as folder:
        result = compare(arguments.model, Path(folder), arguments.questions, arguments.max_steps)
    print_to_stderr(show(result["rows"]))
    print(json.dumps(result, indent=2))


def compare(model: str, folder: Path, questions: int, steps: int | None) -> dict[str, Any]:
    """Return the measures of a training on 1 % of the questions, and on all of them."""
    rows = []
    for name, count in (
        ("small", max(MIN_QUESTIONS, questions // SMALL)),
        ("large", questions),
    ):
        data = folder / name
        write_data(data, count)
        command = [sys.executable, "-m", "benchmarks.large_training", "--model", model]
        command += ["--measure", str(data)]
        command += [] if steps is None else ["--max-steps", str(steps)]
        done = subprocess.run(command, check=True, stdout=subprocess.PIPE)
        rows.append(
            {"questions": count, "candidates": count * CANDIDATES, **json.loads(done.stdout)}
        )
    return {"model": model, "max_steps": steps, "rows": rows, "machine": describe_machine()}


def show(rows: Sequence[dict[str, Any]]) -> str:
    """Return the rows as a Markdown table."""
    head = ["questions", "candidates", "read_seconds", "questions_per_second", "peak_mb"]
    head += ["seconds_per_step", "projected_seconds"]
    lines = [" | ".join(head), "|".join("---:" for _ in head)]
    lines += [" | ".join(f"{row[name]:,}" for name in head) for row in rows]
    return "\n".join(f"| {line} |" for line in lines)


def write_data(folder: Path, questions: int) -> Path:
    """Write the split train of a data set like ASNQ."""
    path = folder / "asnq" / "train.tsv"
    path.parent.mkdir(parents=True)
    with path.open("w", encoding="ascii") as file:
        file.writelines(draw_pairs(questions, CANDIDATES))
    return path


def train(model: str, folder: Path, max_steps: int | None) -> dict[str, Any]:
    """Train a model on a data set, and return the cost."""
    # Imported here because only the process that trains may load torch.
    from rejoinder.training.loop import Step, use_threads
    from rejoinder.training.mixing import read_parts

    use_threads(1)
    fit, questions_per_step = MODELS[model]()
    base = get_peak_mb()
    times = [time.process_time()]

    steps_of_epoch = 0

    def stop(step: Step) -> None:
        nonlocal steps_of_epoch
        steps_of_epoch = step.of
        times.append(time.process_time())
        if step.number == max_steps:
            raise _EnoughError

    with suppress(_EnoughError):
        fit(read_parts(["asnq:train"], folder, print_to_stderr), on_step=stop)
    first, *steps = np.diff(times)
    step = float(np.median(steps))
    return {
        "read_seconds": round(first - step, 1),
        "steps": len(steps) + 1,
        "seconds_per_step": round(step, 3),
        "steps_of_epoch": steps_of_epoch,
        "projected_seconds": round(first + (steps_of_epoch - 1) * step),
        "questions_per_second": round(questions_per_step / step, 1),
        "peak_mb": get_peak_mb(),
        "before_reading_mb": base,
    }


Fit = Callable[..., object]
"""Takes the parts and `on_step`."""


def prepare_selector() -> tuple[Fit, int]:
    """Return how to train a selector, and the questions of a step."""
    from rejoinder.models.selector.module.selector import Selector, SelectorConfig
    from rejoinder.training.fit import Plan
    from rejoinder.training.selector import ADAPTING, fit_selector

    encoder, tokenizer = make_encoder()
    selector = Selector(SelectorConfig("random", None, MAX_TOKENS), encoder)
    recipe = replace(ADAPTING, epochs=1, questions_per_step=16)

    def fit(parts: Any, **control: Any) -> object:
        return fit_selector(Plan(selector.config, recipe), parts, selector, tokenizer, **control)

    return fit, recipe.questions_per_step


def prepare_has() -> tuple[Fit, int]:
    """Return how to train HAS, and the questions of a step."""
    from rejoinder.models.has.module import Has, HasConfig
    from rejoinder.training.fit import Plan
    from rejoinder.training.has import RECIPE, fit_has

    encoder, tokenizer = make_encoder()
    has = Has(HasConfig("random", max_tokens=MAX_TOKENS), encoder)
    recipe = replace(RECIPE, epochs=1)

    def fit(parts: Any, **control: Any) -> object:
        return fit_has(Plan(has.config, recipe), parts, has, tokenizer, **control)

    return fit, recipe.questions_per_step


def prepare_cosinet() -> tuple[Fit, int]:
    """Return how to train Cosinet + BiRNN, and the questions of a step."""
    from rejoinder.models.ranker.module.ranker import RankerConfig
    from rejoinder.models.static_vectors.vectors import load_vectors
    from rejoinder.training.fit import Plan
    from rejoinder.training.loop import Recipe
    from rejoinder.training.ranker import fit_ranker

    vectors = load_vectors()
    plan = Plan(RankerConfig("cosinet", vectors.width, "birnn"), Recipe(epochs=1))

    def fit(parts: Any, **control: Any) -> object:
        return fit_ranker(plan, parts, vectors, **control)

    return fit, plan.recipe.questions_per_step


MODELS = {"selector": prepare_selector, "has": prepare_has, "cosinet": prepare_cosinet}


def make_encoder() -> tuple[Any, WordPiece]:
    """Return a small transformer with random weights, and its tokenizer."""
    import torch
    from transformers import BertConfig, BertModel

    torch.manual_seed(0)
    vocabulary = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", *list_words()[:PIECES]]
    config = BertConfig(
        vocab_size=len(vocabulary),
        hidden_size=WIDTH,
        num_hidden_layers=LAYERS,
        num_attention_heads=4,
        intermediate_size=4 * WIDTH,
        attn_implementation="eager",
    )
    return BertModel(config, add_pooling_layer=False), WordPiece(vocabulary)


def print_to_stderr(text: str) -> None:
    """Print a message without mixing it with the result."""
    print(text, file=sys.stderr)


def get_peak_mb() -> int:
    """Return the largest resident memory of this process so far."""
    import resource  # not on Windows, where tests import this module, too

    # In KiB on Linux.
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 // 10**6


class _EnoughError(Exception):
    """Stops a training."""


if __name__ == "__main__":
    main()
