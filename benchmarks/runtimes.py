"""Compare the runtimes of a transformer on the shipped selector: speed, fidelity and size.

Usage: python -m benchmarks.runtimes [--data DATA] [--pairs 8,16,32,64] > runtimes.json

All contenders run the weights of the shipped bundle in one process, for each number of threads:

- `onnxruntime_as_it_was`: the shipped graph, int8 with a scale per token, one pair per call, with
  calls spread over threads;
- `onnxruntime_dynamic_int8`: `quantize_dynamic`, with a scale per column of a weight;
- `onnxruntime_static_int8`: `quantize_static` (QDQ), calibrated on pairs of other questions;
- `onnxruntime_fused_int8`: attention and norms fused by onnxruntime's optimizer for BERT, then
  `quantize_dynamic`;
- `ctranslate2_int8`: its Encoder, and the score computed from the last states in numpy;
- `our_kernel`: the compiled kernel, as the scorer calls it.

The middle four are made from the bundle's weights in fp32, the int8 numbers times their scales.
They read padded batches of pairs of similar length, of 1, 8 and 32 pairs, and the fastest counts.
Tokens and padded batches are prepared beforehand, so that only the network is timed.

Prints one JSON object:

- `timings`: pairs per second (the best of several rounds, with all contenders in each), the ratio
  to `onnxruntime_as_it_was`, and the fastest batch;
- `quality`, over the candidates of answered questions, with one pair per call and in a batch for
  each question: Spearman's correlation with the scores of `onnxruntime_as_it_was`, the largest
  difference to them, and P@1; and the largest change of a score between the two;
- `packages`: their size on disk, without dependencies;
- `left_out`: contenders that are not installed.

Needs the extra `train`, and ctranslate2 for its contender.
"""

import argparse
import json
import logging
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib import metadata
from importlib.util import find_spec
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.common import describe_machine
from benchmarks.conversions import Sources, write_sources
from benchmarks.sessions import open_session
from rejoinder.bundle.folder import WEIGHTS, Bundle, open_bundle
from rejoinder.datasets.catalogue import open_dataset
from rejoinder.evaluation.measures import Protocol
from rejoinder.models.encoders.network import CompiledNetwork, open_network, to_length_1
from rejoinder.models.kernel import LIBRARY, Matrix
from rejoinder.models.onnx_session import NETWORK, Feed, OnnxNetwork, Runtime
from rejoinder.models.onnx_session import pad as pad_feeds
from rejoinder.models.scorer import Scores
from rejoinder.models.selector.agreement import correlate_ranks
from rejoinder.models.selector.module.selector import Selector
from rejoinder.models.selector.pair_reader import CANDIDATE, QUESTION
from rejoinder.models.selector.scorer import SelectorScorer, make_readout
from rejoinder.types import Example

BASELINE = "onnxruntime_as_it_was"
BATCHES = (1, 8, 32)
"""Pairs per call that are tried with the contenders that read padded batches."""
CALIBRATION_PAIRS = 100
ROUNDING = 1e-5
"""Scores that differ by less do so because sums of floats depend on their order."""
PAUSE_SECONDS = 0.05
"""Between contenders: onnxruntime's threads go on spinning for a while after a call."""

Prepare = Callable[[Sequence[Feed]], Callable[[], Scores]]
"""Takes the inputs of pairs, and returns a call that computes their scores."""
Contender = Mapping[int, Prepare]
"""A runtime, for each number of pairs per call; 0 stands for its own choice."""
Key = tuple[str, int]
"""The name of a contender, and its number of pairs per call."""


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--data", type=Path, help="folder of data sets")
    parser.add_argument("--dataset", default="wikiqa:dev", help="NAME:SPLIT or a JSON-lines file")
    parser.add_argument("--bundle", type=Path, default=WEIGHTS / "selector", help="in int8")
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--pairs", default="8,16,32,64")
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--questions", type=int, default=120, help="answered ones, for P@1")
    arguments = parser.parse_args()
    logging.disable(logging.WARNING)
    warnings.simplefilter("ignore")  # exporters warn about their own internals
    examples = list(open_dataset(arguments.dataset, folder=arguments.data))
    chosen = [example for example in examples if Protocol().counts(example)]
    chosen = chosen[: arguments.questions]
    others = [example for example in examples if example not in chosen]
    bundle = open_bundle(arguments.bundle)
    lists = read_lists(bundle, chosen)
    calibration = list(chain(*read_lists(bundle, others or chosen)))[:CALIBRATION_PAIRS]
    counts = [int(count) for count in arguments.pairs.split(",")]
    with tempfile.TemporaryDirectory() as folder:
        sources = write_sources(bundle, calibration, Path(folder))
        timings = [
            {"threads": threads, **timing}
            for threads in map(int, arguments.threads.split(","))
            for timing in measure_speed(
                make_contenders(sources, threads), lists, counts, arguments.rounds
            )
        ]
        quality = measure_quality(make_contenders(sources, 1), chosen, lists)
    result = {
        "dataset": arguments.dataset,
        "machine": describe_machine(),
        "questions": len(chosen),
        "scored_pairs": sum(map(len, lists)),
        "timings": timings,
        "quality": quality,
        "packages": describe_packages(),
        "left_out": list_missing(),
    }
    print(json.dumps(result, indent=2))


def read_lists(bundle: Bundle, examples: Sequence[Example]) -> list[list[Feed]]:
    """Return the network's inputs for each candidate of each question."""
    scorer = SelectorScorer(bundle, Runtime(1))
    return [scorer.read(example.question, example.candidates) for example in examples]


def make_contenders(sources: Sources, threads: int) -> dict[str, Contender]:
    """Return all contenders that are installed, on so many threads."""
    bundle, runtime = sources.bundle, Runtime(threads)
    shipped = OnnxNetwork((bundle.folder / NETWORK).read_bytes(), bundle.folder, runtime)
    contenders: dict[str, Contender] = {BASELINE: {0: run_pairs(shipped)}}
    for name, path in sources.graphs.items():
        single = OnnxNetwork(path.read_bytes(), path.parent, runtime)  # one pair per call
        session = open_session(path, threads)
        batched = {size: run_batches(session, size) for size in BATCHES if size > 1}
        contenders[name] = {1: run_pairs(single), **batched}
    if sources.ctranslate2 is not None:
        read = open_ctranslate2(sources.ctranslate2, sources.model, threads)
        contenders["ctranslate2_int8"] = {size: run_ctranslate2(read, size) for size in BATCHES}
    compiled = open_network(bundle, runtime, make_readout)
    if isinstance(compiled, CompiledNetwork):
        contenders["our_kernel"] = {0: run_pairs(compiled)}
    return contenders


def run_pairs(network: OnnxNetwork | CompiledNetwork) -> Prepare:
    """Run pairs as a scorer does."""
    return lambda feeds: lambda: np.array(network.run_all(feeds), dtype=np.float64).reshape(-1)


def run_batches(session: Any, size: int) -> Prepare:
    """Run padded batches in onnxruntime."""

    def prepare(feeds: Sequence[Feed]) -> Callable[[], Scores]:
        batches = [
            (places, pad_feeds([feeds[place] for place in places]))
            for places in divide(feeds, size)
        ]

        def run() -> Scores:
            scores = np.empty(len(feeds), dtype=np.float64)
            for places, feed in batches:
                scores[places] = session.run(None, feed)[0]
            return scores

        return run

    return prepare


def divide(feeds: Sequence[Feed], size: int) -> list[list[int]]:
    """Return batches of similar length, as the places of their pairs."""
    order = sorted(range(len(feeds)), key=lambda place: -feeds[place]["ids"].size)
    return [order[start : start + size] for start in range(0, len(order), size)]


def open_ctranslate2(folder: Path, model: Selector, threads: int) -> Callable[..., Scores]:
    """Return a function of ids, kinds and the masks of both sides that computes scores."""
    import ctranslate2

    encoder = ctranslate2.Encoder(
        str(folder), device="cpu", compute_type="int8", inter_threads=1, intra_threads=threads
    )
    alike, by_first, bias = (
        value.numpy(force=True).reshape(-1)
        for value in (model.alike, model.first.weight, model.first.bias)
    )

    def average(states: Matrix, mask: Matrix) -> Matrix:
        total = (mask[:, None] @ states)[:, 0]
        return to_length_1(total / np.maximum(mask.sum(axis=1, keepdims=True), 1))

    def read(ids: list[list[int]], kinds: list[list[int]], sides: Sequence[Matrix]) -> Scores:
        states = np.asarray(encoder.forward_batch(ids, token_type_ids=kinds).last_hidden_state)
        question, candidate = (average(states, mask) for mask in sides)
        return np.asarray((question * candidate) @ alike + states[:, 0] @ by_first + bias)

    return read


def run_ctranslate2(read: Callable[..., Scores], size: int) -> Prepare:
    """Run batches, which CTranslate2 pads by itself."""

    def prepare(feeds: Sequence[Feed]) -> Callable[[], Scores]:
        batches = []
        for places in divide(feeds, size):
            chosen = [feeds[place] for place in places]
            padded = pad_feeds(chosen)
            sides = [
                (padded["mask"] * (padded["kinds"] == kind)).astype(np.float32)
                for kind in (QUESTION, CANDIDATE)
            ]
            tokens = ([feed[name][0].tolist() for feed in chosen] for name in ("ids", "kinds"))
            batches.append((places, *tokens, sides))

        def run() -> Scores:
            scores = np.empty(len(feeds), dtype=np.float64)
            for places, *inputs in batches:
                scores[places] = read(*inputs)
            return scores

        return run

    return prepare


def measure_speed(
    contenders: Mapping[str, Contender],
    lists: Sequence[Sequence[Feed]],
    counts: Sequence[int],
    rounds: int,
) -> Iterator[dict[str, Any]]:
    """Yield the speed of all contenders for each number of pairs."""
    feeds = list(chain(*lists))
    # Spread over the data set: the candidates of one question are alike in length.
    shuffled = [feeds[place] for place in np.random.default_rng(0).permutation(len(feeds))]
    for count in counts:
        chosen = shuffled[:count]
        runs = {
            (name, size): prepare(chosen)
            for name, contender in contenders.items()
            for size, prepare in contender.items()
            if size <= count
        }
        rates = time_rounds(runs, len(chosen), rounds)
        best = {
            name: max((key for key in rates if key[0] == name), key=lambda key: rates[key])
            for name in contenders
        }
        baseline = rates[best[BASELINE]]
        yield {
            "pairs": len(chosen),
            "mean_tokens": round(float(np.mean([feed["ids"].size for feed in chosen])), 1),
            "pairs_per_second": {name: round(rates[key], 1) for name, key in best.items()},
            f"ratio_to_{BASELINE}": {
                name: round(rates[key] / baseline, 2) for name, key in best.items()
            },
            "fastest_batch": {name: size for name, size in best.values() if size},
        }


def time_rounds(
    runs: Mapping[Key, Callable[[], object]], pairs: int, rounds: int
) -> dict[Key, float]:
    """Return the best pairs per second of each contender and batch."""
    rates = dict.fromkeys(runs, 0.0)
    for _ in range(rounds):
        for key, run in runs.items():
            time.sleep(PAUSE_SECONDS)
            run()  # fills the caches, which another contender has used
            start = time.perf_counter()
            run()
            rates[key] = max(rates[key], pairs / (time.perf_counter() - start))
    return rates


def measure_quality(
    contenders: Mapping[str, Contender],
    examples: Sequence[Example],
    lists: Sequence[Sequence[Feed]],
) -> dict[str, dict[str, Any]]:
    """Return how well each contender ranks, and how near its scores are to the baseline's."""
    expected = np.concatenate([contenders[BASELINE][0](feeds)() for feeds in lists])
    quality = {}
    for name, contender in contenders.items():
        prepare = contender[max(contender)]
        batched = [prepare(feeds)() for feeds in lists]
        alone = [np.concatenate([prepare([feed])() for feed in feeds]) for feeds in lists]
        change = float(np.abs(np.concatenate(batched) - np.concatenate(alone)).max())
        quality[name] = {
            "one_pair_per_call": judge(alone, expected, examples),
            "one_batch_per_question": judge(batched, expected, examples),
            "largest_change_with_batch": change,
            "changes_with_batch": change > ROUNDING,
        }
    return quality


def judge(
    scores: Sequence[Scores], expected: Scores, examples: Sequence[Example]
) -> dict[str, float]:
    """Return how well scores rank the candidates of each question, and how near they are."""
    found = np.concatenate(scores)
    is_right = [
        example.labels[int(np.argmax(own))] for example, own in zip(examples, scores, strict=True)
    ]
    return {
        "spearman": round(correlate_ranks(found, expected), 5),
        "largest_difference": round(float(np.abs(found - expected).max()), 4),
        "P@1": round(100 * float(np.mean(is_right)), 2),
    }


def describe_packages() -> dict[str, dict[str, Any]]:
    """Return the version and the MB on disk of each package that is installed."""
    packages: dict[str, dict[str, Any]] = {
        name: {"version": metadata.version(name), "size_mb": measure_package(name)}
        for name in ("onnxruntime", "ctranslate2")
        if find_spec(name)
    }
    if LIBRARY.exists():
        packages["our_kernel"] = {"size_mb": round(LIBRARY.stat().st_size / 1e6, 1)}
    return packages


def measure_package(name: str) -> float:
    files = metadata.files(name) or []
    paths = [Path(str(item.locate())) for item in files]
    return round(sum(path.stat().st_size for path in paths if path.is_file()) / 1e6, 1)


def list_missing() -> dict[str, str]:
    """Return why contenders were left out, by name."""
    missing = {}
    if not find_spec("ctranslate2"):
        missing["ctranslate2_int8"] = "the package ctranslate2 is not installed"
    if not LIBRARY.exists():
        missing["our_kernel"] = "the kernel was not compiled for this machine"
    return missing


if __name__ == "__main__":
    main()
