"""Measure the memory and speed of a selector's training on data of ASNQ's size and shape.

Usage: python -m benchmarks.large_training [--questions 57000] [--steps N] > large_training.json

Writes two synthetic data sets in ASNQ's format: one of this many questions with 350 candidates
each, and one of 1 % of it.  Words follow Zipf's law, a sentence has 25 of them on average, and
one or two sentences of each question answer it.  A process of its own trains a selector on each,
for an epoch or for `--steps` steps: a small transformer with random weights, so that reading the
data and making batches weigh as much as they can.  Prints one JSON object; the table goes to
stderr.  Needs the extra `train`, and 4 GB of disk for 57,000 questions.
"""

import argparse
import json
import resource
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from benchmarks.common import describe_machine

CANDIDATES, WORDS, QUESTION_WORDS = 350, 25, 9
RARE_WORDS = 60_000
SYLLABLES = [f"{first}{second}" for first in "bdfgklmnprstvz" for second in "aeiou"]
SHARED = 4
"""Words of the question in an answer."""
SMALL = 100
"""The small data set has one of so many questions."""
QUESTIONS_PER_STEP = 16
MIN_QUESTIONS = 3 * QUESTIONS_PER_STEP
WIDTH, LAYERS, MAX_TOKENS = 64, 2, 128


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--questions", type=int, default=57_000)
    parser.add_argument("--steps", type=int, help="of each training; an epoch by default")
    parser.add_argument("--folder", type=Path, help="for the data; a temporary one by default")
    parser.add_argument("--measure", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.measure:
        print(json.dumps(train(arguments.measure, arguments.steps)))
        return
    with TemporaryDirectory(dir=arguments.folder) as folder:
        result = compare(Path(folder), arguments.questions, arguments.steps)
    print(show(result["rows"]), file=sys.stderr)
    print(json.dumps(result, indent=2))


def compare(folder: Path, questions: int, steps: int | None) -> dict[str, Any]:
    """Return the measures of a training on 1 % of the questions, and on all of them."""
    rows = []
    for name, count in (
        ("small", max(MIN_QUESTIONS, questions // SMALL)),
        ("large", questions),
    ):
        data = folder / name
        write_data(data, count)
        command = [sys.executable, "-m", "benchmarks.large_training", "--measure", str(data)]
        command += [] if steps is None else ["--steps", str(steps)]
        done = subprocess.run(command, check=True, stdout=subprocess.PIPE)
        rows.append(
            {"questions": count, "candidates": count * CANDIDATES, **json.loads(done.stdout)}
        )
    return {"rows": rows, "machine": describe_machine()}


def show(rows: Sequence[dict[str, Any]]) -> str:
    """Return the rows as a Markdown table."""
    head = ["questions", "candidates", "read_seconds", "questions_per_second", "peak_mb"]
    lines = [" | ".join(head), "|".join("---:" for _ in head)]
    lines += [" | ".join(f"{row[name]:,}" for name in head) for row in rows]
    return "\n".join(f"| {line} |" for line in lines)


def write_data(folder: Path, questions: int) -> Path:
    """Write the split train of a data set like ASNQ."""
    path = folder / "asnq" / "train.tsv"
    path.parent.mkdir(parents=True)
    with path.open("w", encoding="ascii") as file:
        for lines in draw_questions(questions):
            file.write(lines)
    return path


def draw_questions(count: int) -> Iterator[str]:
    """Yield the lines of each question: question, sentence and label, with tabs between."""
    words = np.array(list_words(), dtype=object)
    chances = np.cumsum(1 / np.arange(1, len(words) + 1))
    rng = np.random.default_rng(0)

    def draw(number: int) -> list[str]:
        drawn = np.searchsorted(chances, rng.random(number) * chances[-1])
        return list(words[drawn])

    for _ in range(count):
        question = draw(QUESTION_WORDS)
        lengths = rng.integers(WORDS - 10, WORDS + 11, CANDIDATES)
        flat, ends = draw(int(lengths.sum())), np.cumsum(lengths).tolist()
        answers = rng.choice(CANDIDATES, rng.integers(1, 3), replace=False).tolist()
        asked, lines = " ".join(question), []
        for place, (start, end) in enumerate(zip([0, *ends], ends, strict=False)):
            sentence = flat[start:end]
            if place in answers:
                sentence[:SHARED] = question[-SHARED:]
            lines.append(f"{asked}\t{' '.join(sentence)}\t{4 if place in answers else 1}\n")
        yield "".join(lines)


def list_words() -> list[str]:
    """Return the vocabulary, the most frequent and shortest words first."""
    two = [f"{first}{second}" for first in SYLLABLES for second in SYLLABLES]
    three = (f"{first}{second}" for first in two for second in SYLLABLES)
    return [*SYLLABLES, *two, *islice(three, RARE_WORDS)]


def train(folder: Path, max_steps: int | None) -> dict[str, Any]:
    """Train a selector on a data set, and return its cost."""
    # Imported here because only the process that trains may load torch.
    from rejoinder.training.fit import Plan
    from rejoinder.training.loop import Step
    from rejoinder.training.mixing import read_parts
    from rejoinder.training.selector import ADAPTING, fit_selector

    model, vocabulary = make_selector()
    base = get_peak_mb()
    recipe = replace(ADAPTING, epochs=1, questions_per_step=QUESTIONS_PER_STEP)
    times = [time.perf_counter()]

    def stop(step: Step) -> None:
        times.append(time.perf_counter())
        if step.number == max_steps:
            raise _EnoughError

    with suppress(_EnoughError):
        parts = read_parts(["asnq:train"], folder, lambda text: print(text, file=sys.stderr))
        fit_selector(Plan(model.config, recipe), parts, model, vocabulary, on_step=stop)
    first, *steps = np.diff(times)
    step = float(np.median(steps))
    return {
        "read_seconds": round(first - step, 1),
        "steps": len(steps) + 1,
        "questions_per_second": round(QUESTIONS_PER_STEP / step, 1),
        "peak_mb": get_peak_mb(),
        "before_reading_mb": base,
    }


def make_selector() -> tuple[Any, list[str]]:
    """Return a small selector with random weights, and its vocabulary."""
    import torch
    from transformers import BertConfig, BertModel

    from rejoinder.models.selector.module import Selector, SelectorConfig

    torch.set_num_threads(1)
    torch.manual_seed(0)
    vocabulary = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", *list_words()]
    config = BertConfig(
        vocab_size=len(vocabulary),
        hidden_size=WIDTH,
        num_hidden_layers=LAYERS,
        num_attention_heads=4,
        intermediate_size=4 * WIDTH,
        attn_implementation="eager",
    )
    encoder = BertModel(config, add_pooling_layer=False)
    return Selector(SelectorConfig("random", None, MAX_TOKENS), encoder), vocabulary


def get_peak_mb() -> int:
    """Return the largest resident memory of this process so far."""
    # In KB on Linux.
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1000


class _EnoughError(Exception):
    """Stops a training."""


if __name__ == "__main__":
    main()
