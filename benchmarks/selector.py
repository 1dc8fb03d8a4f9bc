"""Measure the speed and accuracy of the selector's int8 weights and of one pair per call.

Usage: python -m benchmarks.selector --data DATA [--bundle INT8] [--fp32 FP32] > selector.json

All contenders run in one process on the first pairs of a data set, for each number of threads:
torch and onnxruntime in fp32, both in padded batches of 32 pairs of similar length; onnxruntime in
fp32 and in the shipped precision, one pair per call, spread over threads.  These read token ids;
`shipped_from_text` is the scorer itself, question by question.  Prints one JSON object: pairs per
second (the best of several rounds, with all contenders in each), ratios to batched onnxruntime
fp32, and the MAP of every given bundle on the data set's split.

Without bundles the network is the default encoder with an untrained output, which is as fast.
`--fp32` names the same network, exported in fp32.  Needs the extra `train`.
"""

import argparse
import json
import logging
import tempfile
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import torch

from benchmarks.common import describe_machine
from benchmarks.sessions import open_session
from rejoinder.bundle.folder import Bundle, open_bundle
from rejoinder.datasets.catalogue import open_dataset
from rejoinder.evaluation import evaluate
from rejoinder.models.onnx_session import Feed, Runtime, to_feed
from rejoinder.models.onnx_session import pad as pad_feeds
from rejoinder.models.selector.export import write_selector
from rejoinder.models.selector.module.loading import load_selector
from rejoinder.models.selector.module.selector import SelectorConfig
from rejoinder.models.selector.pair_reader import PairTokens
from rejoinder.models.selector.scorer import SelectorScorer
from rejoinder.text.wordpiece import WordPiece
from rejoinder.types import Example

BATCH = 32
ROUNDS = 3
Run = Callable[[Sequence[Feed]], object]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--dataset", default="wikiqa")
    parser.add_argument("--split", default="dev")
    parser.add_argument("--bundle", type=Path, help="the bundle in the shipped precision")
    parser.add_argument("--fp32", type=Path, help="the same network in fp32")
    parser.add_argument("--pairs", type=int, default=400)
    parser.add_argument("--threads", default="1,2")
    arguments = parser.parse_args()
    logging.disable(logging.WARNING)
    examples = list(open_dataset(arguments.dataset, split=arguments.split, folder=arguments.data))
    with tempfile.TemporaryDirectory() as folder:
        small = open_bundle(arguments.bundle or export(Path(folder, "int8"), "int8"))
        config = read_config(small)
        full = open_bundle(arguments.fp32 or export(Path(folder, "fp32"), "fp32", config))
        timings = [
            measure_speed(examples, small, full, threads, arguments.pairs)
            for threads in map(int, arguments.threads.split(","))
        ]
    bundles = {"shipped": arguments.bundle, "fp32": arguments.fp32}
    quality = {name: measure_map(examples, path) for name, path in bundles.items() if path}
    result = {
        "dataset": arguments.dataset,
        "split": arguments.split,
        "precision": small.manifest.precision,
        "machine": describe_machine(),
        "timings": timings,
        "map": quality,
    }
    print(json.dumps(result, indent=2))


def export(folder: Path, precision: str, config: SelectorConfig | None = None) -> Path:
    """Write the encoder with an untrained output as a bundle."""
    model, tokenizer = load_selector(config or SelectorConfig())
    write_selector(folder, model, tokenizer, precision=precision, training={}, sample=[])
    return folder


def read_config(bundle: Bundle) -> SelectorConfig:
    config = bundle.manifest.config
    return SelectorConfig(config["encoder"], config["layers"], config["max_tokens"])


def measure_speed(
    examples: Sequence[Example], small: Bundle, full: Bundle, threads: int, count: int
) -> dict[str, Any]:
    feeds = make_feeds(examples, small, count)
    contenders: dict[str, tuple[int, Callable[[], object]]] = {
        name: (len(feeds), partial(run, feeds))
        for name, run in make_contenders(small, full, threads).items()
    }
    contenders["shipped_from_text"] = make_scoring(examples, small, threads, count)
    rates = dict.fromkeys(contenders, 0.0)
    for _ in range(ROUNDS):
        for name, (pairs, run) in contenders.items():
            rates[name] = max(rates[name], pairs / time_call(run))
    baseline = rates["onnxruntime_fp32_batched"]
    return {
        "threads": threads,
        "pairs": len(feeds),
        "mean_tokens": round(float(np.mean([feed["ids"].size for feed in feeds])), 1),
        "pairs_per_second": {name: round(rate, 1) for name, rate in rates.items()},
        "ratio_to_onnxruntime_fp32_batched": {
            name: round(rate / baseline, 2) for name, rate in rates.items()
        },
    }


def make_scoring(
    examples: Sequence[Example], bundle: Bundle, threads: int, count: int
) -> tuple[int, Callable[[], object]]:
    """Return the number of pairs in whole questions, about so many, and a call that scores them."""
    scorer = SelectorScorer(bundle, Runtime(threads))
    pairs, chosen = 0, []
    for example in examples:
        if pairs < count:
            chosen.append(example)
            pairs += len(example.candidates)
    return pairs, lambda: [scorer.score(item.question, item.candidates) for item in chosen]


def make_feeds(examples: Sequence[Example], bundle: Bundle, count: int) -> list[Feed]:
    pieces = WordPiece(bundle.read_text("vocabulary.txt").split("\n")[:-1])
    tokens = PairTokens(pieces, max_tokens=bundle.manifest.config["max_tokens"])
    pairs = (
        tokens.join(tokens.tokenize(example.question), tokens.tokenize(candidate.text))
        for example in examples
        for candidate in example.candidates
    )
    feeds = [to_feed(*pair) for pair in islice(pairs, count)]
    return sorted(feeds, key=lambda feed: -feed["ids"].size)


def make_contenders(small: Bundle, full: Bundle, threads: int) -> dict[str, Run]:
    torch.set_num_threads(threads)
    model = load_selector(read_config(small))[0].eval()
    fp32, int8 = full.folder / "model.onnx", small.folder / "model.onnx"
    batched = open_session(fp32, threads)
    single, single_int8 = open_session(fp32, 1), open_session(int8, 1)

    def run_torch(feed: Feed) -> object:
        with torch.inference_mode():
            return model(**{name: torch.from_numpy(value) for name, value in feed.items()})

    return {
        "torch_fp32_batched": lambda feeds: [run_torch(batch) for batch in pad(feeds)],
        "onnxruntime_fp32_batched": lambda feeds: [
            batched.run(None, batch) for batch in pad(feeds)
        ],
        "onnxruntime_fp32_one_by_one": lambda feeds: spread(single, feeds, threads),
        "shipped_one_by_one": lambda feeds: spread(single_int8, feeds, threads),
    }


def pad(feeds: Sequence[Feed]) -> list[Feed]:
    return [pad_feeds(feeds[start : start + BATCH]) for start in range(0, len(feeds), BATCH)]


def spread(session: Any, feeds: Sequence[Feed], threads: int) -> list[Any]:
    if threads == 1:
        return [session.run(None, feed) for feed in feeds]
    with ThreadPoolExecutor(threads) as pool:
        return list(pool.map(lambda feed: session.run(None, feed), feeds))


def measure_map(examples: Sequence[Example], folder: Path) -> float:
    report = evaluate(SelectorScorer(open_bundle(folder)), examples)
    return round(100 * report.means["MAP"], 2)


def time_call(run: Callable[[], object]) -> float:
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


if __name__ == "__main__":
    main()
