"""Measure the memory and speed of a training on data of ASNQ's size and shape.

Usage: python -m benchmarks.large_training [--model selector] [--max-steps N] > large_training.json

Writes two synthetic data sets in ASNQ's format: one of this many questions with 350 candidates
each, and one of 1 % of it; or reads a data folder (`--data`), such as one that
`benchmarks.published_sizes` wrote.  A process of its own trains a model on each, for an epoch or
for `--max-steps` steps, on one thread.  Transformers are small and have random weights, so
that reading the data and making batches weigh as much as they can.  Prints
one JSON object with the seconds of a step and of the whole epoch, as projected from the steps; the
table goes to stderr.  Needs the extra `train`, and 4 GB of disk for 57,000 questions.
"""

import argparse
import json
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

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
    from rejoinder.training.fit import Pace
    from rejoinder.training.loop import use_threads
    from rejoinder.training.mixing import read_parts

    use_threads(1)
    fit, questions_per_step = MODELS[model](max_steps)
    base, pace = get_peak_mb(), Pace()
    fitted = fit(read_parts(["asnq:train"], folder, print_to_stderr), on_step=pace.add)
    step, whole = pace.get_step_seconds(), pace.project()
    return {
        "read_seconds": round(pace.get_reading_seconds(), 1),
        "steps": fitted.steps,
        "seconds_per_step": round(step, 3),
        "steps_of_epoch": whole.steps if whole else fitted.steps,
        "projected_seconds": round(whole.seconds if whole else fitted.seconds),
        "questions_per_second": round(questions_per_step / step, 1),
        "peak_mb": get_peak_mb(),
        "before_reading_mb": base,
    }


Fit = Callable[..., Any]
"""Takes the parts and `on_step`, and returns `Fitted`."""


def prepare_selector(max_steps: int | None, context: str = "none") -> tuple[Fit, int]:
    """Return how to train a selector that reads this context, and the questions of a step."""
    from rejoinder.models.selector.context import ContextConfig
    from rejoinder.models.selector.module.selector import Selector, SelectorConfig, add_context
    from rejoinder.training.fit import Plan
    from rejoinder.training.selector import ADAPTING, fit_selector

    encoder, tokenizer = make_encoder()
    selector = Selector(SelectorConfig("random", None, MAX_TOKENS), encoder)
    if context != "none":
        selector = add_context(selector, ContextConfig(context))
    recipe = replace(ADAPTING, epochs=1, questions_per_step=16)

    def fit(parts: Any, **control: Any) -> object:
        plan = Plan(selector.config, recipe, max_steps=max_steps)
        return fit_selector(plan, parts, selector, tokenizer, **control)

    return fit, recipe.questions_per_step


def prepare_has(max_steps: int | None) -> tuple[Fit, int]:
    """Return how to train HAS, and the questions of a step."""
    from rejoinder.models.has.module import Has, HasConfig
    from rejoinder.training.fit import Plan
    from rejoinder.training.has import RECIPE, fit_has

    encoder, tokenizer = make_encoder()
    has = Has(HasConfig("random", max_tokens=MAX_TOKENS), encoder)
    recipe = replace(RECIPE, epochs=1)

    def fit(parts: Any, **control: Any) -> object:
        plan = Plan(has.config, recipe, max_steps=max_steps)
        return fit_has(plan, parts, has, tokenizer, **control)

    return fit, recipe.questions_per_step


def prepare_cosinet(max_steps: int | None) -> tuple[Fit, int]:
    """Return how to train Cosinet + BiRNN, and the questions of a step."""
    from rejoinder.models.ranker.module.ranker import RankerConfig
    from rejoinder.models.static_vectors.vectors import load_vectors
    from rejoinder.training.fit import Plan
    from rejoinder.training.loop import Recipe
    from rejoinder.training.ranker import fit_ranker

    vectors = load_vectors()
    config = RankerConfig("cosinet", vectors.width, "birnn")
    plan = Plan(config, Recipe(epochs=1), max_steps=max_steps)

    def fit(parts: Any, **control: Any) -> object:
        return fit_ranker(plan, parts, vectors, **control)

    return fit, plan.recipe.questions_per_step


MODELS: dict[str, Callable[[int | None], tuple[Fit, int]]] = {
    "selector": prepare_selector,
    "selector-local": partial(prepare_selector, context="local"),
    "has": prepare_has,
    "cosinet": prepare_cosinet,
}


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


if __name__ == "__main__":
    main()
