"""Measure the latency of one question, beside the alternatives.

Usage: python -m benchmarks.latency [--data DATA] [--candidates 10,100,1000] > latency.json

All contenders run in one process on the same question and candidates of 25 words (of WikiQA, or
synthetic): our Cosinet + BiRNN from text, from stored token ids, and in numpy alone; the same
network in plain eager torch (see train_speed) and in onnxruntime; an all-MiniLM-L6-v2
cross-encoder in onnxruntime (fp32 and dynamic int8, one pair per call, the fastest way we know);
bm25s; and the cosine of model2vec sentence vectors.  Prints one JSON object: median wall-clock and
CPU milliseconds, ratios to ours from token ids, and the limit of the machine.  `torch_eager` is
the better of two ways to pad: all pairs together, or pairs of similar length.

The limit is the larger of two times: the minimum of bytes to read (6 kB of products for each
occurrence of a word, because no cache is sure to hold the table) over the measured bandwidth, and
the minimum of operations (five rows and five products per position, the head's matrices) over the
measured peak of a matrix product.

Needs the dependency group `bench`, the extra `train`, and for the cross-encoder the package that
`rejoinder train static-vectors` names.
"""

import argparse
import json
import logging
import statistics
import tempfile
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from threadpoolctl import threadpool_limits
from torch import Tensor, nn

from benchmarks.common import describe_machine, make_texts
from benchmarks.sessions import open_session
from benchmarks.train_speed import CHUNKS, PlainRanker
from rejoinder.bundle.folder import open_bundle
from rejoinder.errors import RejoinderError
from rejoinder.models.cosinet.network import CosinetNetwork
from rejoinder.models.encoders.loading import find_encoder
from rejoinder.models.onnx_session import import_onnxruntime
from rejoinder.models.ranker.export import write_ranker
from rejoinder.models.ranker.module.pairs import TrainingPairs
from rejoinder.models.ranker.module.ranker import Ranker, RankerConfig, initialise
from rejoinder.models.ranker.scorer import RankerScorer
from rejoinder.models.static_vectors.vectors import load_vectors
from rejoinder.text.wordpiece import pretokenize
from rejoinder.training.fit import Plan
from rejoinder.training.loop import Recipe
from rejoinder.types import Candidate, Example

QUESTION = "How are glacier caves formed in the mountains?"
WORDS = 25
CROSS_ENCODER_PAIRS = 20
"""The sample for the cross-encoder, whose time grows linearly with the pairs."""


class Time(NamedTuple):
    """Milliseconds of wall-clock and of CPU time, which other processes do not change."""

    wall: float
    cpu: float


class CrossEncoder(NamedTuple):
    """An exported encoder in each precision, and a sample of pairs."""

    files: dict[str, Path]
    pairs: list[tuple[Tensor, ...]]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--data", type=Path)
    parser.add_argument("--candidates", default="10,30,100,300,1000")
    parser.add_argument("--threads", default="1,2")
    arguments = parser.parse_args()
    logging.disable(logging.WARNING)
    warnings.simplefilter("ignore")  # exporters warn about their own internals
    texts = make_texts(arguments.data, 1000, WORDS)
    results = []
    with tempfile.TemporaryDirectory() as folder:
        encoder = export_cross_encoder(texts, Path(folder))
        for threads in map(int, arguments.threads.split(",")):
            torch.set_num_threads(threads)
            with threadpool_limits(threads):
                peak, bandwidth = measure_machine(threads)
                cross = time_cross_encoder(encoder, threads)
                for count in map(int, arguments.candidates.split(",")):
                    measured = measure_count(texts[:count], threads, cross)
                    bound = compute_limit(texts[:count], peak, bandwidth)
                    share = bound["limit_ms"] / measured["median_ms"]["ours_from_tokens"]
                    results.append({**measured, **bound, "share_of_limit": round(share, 2)})
    result = {"question": QUESTION, "machine": describe_machine(), "results": results}
    print(json.dumps(result, indent=2))


def measure_count(texts: list[str], threads: int, cross: dict[str, Time]) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        ranker, scorer, numpy_scorer = make_scorers(Path(folder), threads)
    candidates = [Candidate(str(at), text, position=at) for at, text in enumerate(texts)]
    stored = [replace(item, tokens=scorer.encode(item.text)) for item in candidates]
    batch = TrainingPairs(
        [Example("q", QUESTION, tuple(candidates), (False,) * len(candidates))], load_vectors()
    ).batch(torch.tensor([0]))
    eager = PlainRanker(ranker).eval()
    padded = PlainRanker(ranker, CHUNKS["padded"]).eval()
    contenders: dict[str, Callable[[], object]] = {
        "ours_from_tokens": lambda: scorer.score(QUESTION, stored),
        "ours_from_text": lambda: scorer.score(QUESTION, candidates),
        "ours_numpy_only": lambda: numpy_scorer.score(QUESTION, stored),
        "torch_eager_padded": lambda: run_eager(padded, batch),
        "torch_eager_by_length": lambda: run_eager(eager, batch),
        **make_searchers(texts),
        "onnxruntime": make_onnx_cosinet(ranker, batch, threads),
    }
    times = {name: time_call(run) for name, run in contenders.items()}
    times["torch_eager"] = min(times["torch_eager_padded"], times["torch_eager_by_length"])
    for name, per_pair in cross.items():
        times[name] = Time(*(len(texts) * value for value in per_pair))
    ours = times["ours_from_tokens"]
    difference = np.abs(scorer.score(QUESTION, stored) - run_eager(eager, batch)).max()
    return {
        "candidates": len(texts),
        "threads": threads,
        "median_ms": {name: round(taken.wall, 3) for name, taken in times.items()},
        "median_cpu_ms": {name: round(taken.cpu, 3) for name, taken in times.items()},
        "ratio_to_ours": {name: round(taken.wall / ours.wall, 2) for name, taken in times.items()},
        "cpu_ratio_to_ours": {
            name: round(taken.cpu / ours.cpu, 2) for name, taken in times.items()
        },
        "largest_difference_to_torch": float(difference),
    }


def make_scorers(folder: Path, threads: int) -> tuple[Ranker, RankerScorer, RankerScorer]:
    vectors = load_vectors()
    plan = Plan(RankerConfig("cosinet", vectors.width, "birnn"), Recipe())
    ranker = initialise(plan.config, 0).eval()
    write_ranker(folder / "m", ranker, vectors, training={}, scores={}, sample=[])
    bundle = open_bundle(folder / "m")
    return (
        ranker,
        RankerScorer(bundle, CosinetNetwork, threads=threads),
        RankerScorer(bundle, CosinetNetwork, threads=threads, compiled=False),
    )


def run_eager(model: nn.Module, batch: Any) -> Any:
    with torch.no_grad():
        return model(batch).numpy()


class ForExport(nn.Module):
    """The plain network on padded inputs, in a form that exports to ONNX."""

    def __init__(self, ranker: Ranker) -> None:
        super().__init__()
        encoder: Any = ranker.encoder
        head: Any = ranker.head
        self.question, self.candidate = encoder.question.convolution, encoder.candidate.convolution
        self.head, self.output = head.network, ranker.output

    def forward(self, question: Tensor, candidate: Tensor, mask: Tensor) -> Tensor:
        """Return scores (P,) of texts (P, E + 1, L); the mask is 0, or -inf at padding."""
        q = self.question(question).amax(dim=2)
        c = (self.candidate(candidate) + mask[:, None]).amax(dim=2)
        read, _ = self.head(torch.cat([q * c, q - c], dim=1))
        scores: Tensor = self.output(read).squeeze(1)
        return scores


def make_onnx_cosinet(ranker: Ranker, batch: Any, threads: int) -> Callable[[], object]:
    from torch.nn.utils.rnn import pad_sequence

    def pad(side: Any) -> Tensor:
        rows = torch.cat([batch.vectors[side.words], side.related[:, None]], dim=1)
        return pad_sequence(rows.split(side.lengths.tolist()), batch_first=True).transpose(1, 2)

    question, candidate = pad(batch.question).contiguous(), pad(batch.candidate).contiguous()
    exists = torch.arange(candidate.shape[2]) < batch.candidate.lengths[:, None]
    mask = torch.zeros(exists.shape).masked_fill(~exists, -1e9)
    inputs = (question, candidate, mask)
    session = export_session(ForExport(ranker).eval(), inputs, threads)
    names = [item.name for item in session.get_inputs()]
    feed = {name: value.numpy() for name, value in zip(names, inputs, strict=True)}
    return lambda: session.run(None, feed)


def export_session(model: nn.Module, inputs: tuple[Tensor, ...], threads: int) -> Any:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "model.onnx")
        # The older exporter keeps the recurrence as one RNN node; the newer one unrolls it.
        torch.onnx.export(model, inputs, str(path), dynamo=False, verbose=False)
        return open_session(path, threads)


def export_cross_encoder(texts: Sequence[str], folder: Path) -> CrossEncoder:
    """Write the encoder in fp32 and in dynamic int8, or nothing if it is not installed."""
    import_onnxruntime()
    from onnxruntime.quantization import QuantType, quantize_dynamic
    from transformers import AutoModel, AutoTokenizer

    try:
        encoder_path = find_encoder()
    except RejoinderError:
        return CrossEncoder({}, [])
    tokenizer: Any = AutoTokenizer.from_pretrained(encoder_path)
    encoder: Any = AutoModel.from_pretrained(encoder_path, attn_implementation="eager").eval()

    class FirstState(nn.Module):
        """The last hidden state of `[CLS]`."""

        def forward(self, ids: Tensor, mask: Tensor, kinds: Tensor) -> Tensor:
            state: Tensor = encoder(ids, mask, kinds).last_hidden_state[:, 0]
            return state

    tokens = [
        tokenizer(QUESTION, text, return_tensors="pt") for text in texts[:CROSS_ENCODER_PAIRS]
    ]
    keys = ("input_ids", "attention_mask", "token_type_ids")
    pairs = [tuple(item[key] for key in keys) for item in tokens]
    path, small = folder / "model.onnx", folder / "int8.onnx"
    lengths = {1: torch.export.Dim("length", min=2, max=512)}
    torch.onnx.export(
        FirstState(), pairs[0], str(path), dynamo=True, verbose=False, dynamic_shapes=(lengths,) * 3
    )
    quantize_dynamic(path, small, weight_type=QuantType.QInt8)
    return CrossEncoder({"cross_encoder_fp32": path, "cross_encoder_int8": small}, pairs)


def time_cross_encoder(encoder: CrossEncoder, threads: int) -> dict[str, Time]:
    """Return milliseconds per pair for each precision, with one pair per call."""
    times = {}
    for name, path in encoder.files.items():
        session = open_session(path, threads)
        names = [item.name for item in session.get_inputs()]
        feeds = [
            {name: part.numpy() for name, part in zip(names, pair, strict=True)}
            for pair in encoder.pairs
        ]
        total = time_call(lambda s=session, f=feeds: [s.run(None, feed) for feed in f])  # type: ignore[misc]
        times[name] = Time(*(value / len(feeds) for value in total))
    return times


def make_searchers(texts: list[str]) -> dict[str, Callable[[], object]]:
    import bm25s

    vectors = load_vectors()

    def search() -> object:
        tokens = bm25s.tokenize(texts, show_progress=False)
        index = bm25s.BM25()
        index.index(tokens, show_progress=False)
        query = bm25s.tokenize([QUESTION], show_progress=False)
        return index.retrieve(query, k=len(texts), show_progress=False)

    def mean(text: str) -> Any:
        return vectors.embed(pretokenize(text)).mean(axis=0)

    return {
        "bm25s": search,
        "static_vector_cosine": lambda: np.stack([mean(text) for text in texts]) @ mean(QUESTION),
    }


def compute_limit(texts: list[str], peak: float, bandwidth: float) -> dict[str, Any]:
    """Return the minimum time of the scoring on this machine, and its terms."""
    positions = sum(len(pretokenize(text)) for text in texts)
    question_positions = len(pretokenize(QUESTION)) * len(texts)
    channels, hidden, kernel = 300, 150, 5
    read = positions * kernel * channels * 4
    pooled = (positions + question_positions) * kernel * channels * 3
    head = len(texts) * 2 * (2 * channels * hidden + hidden * hidden) * 2
    milliseconds = 1e3 * max(read / bandwidth, (pooled + head) / peak)
    return {
        "limit_ms": round(milliseconds, 3),
        "bytes": read,
        "operations": pooled + head,
        "peak_gflops": round(peak / 1e9, 1),
        "bandwidth_gb": round(bandwidth / 1e9, 1),
    }


def measure_machine(threads: int) -> tuple[float, float]:
    """Return the operations per second of a matrix product and the bytes per second of a sum."""
    a, b = torch.randn(1024, 1024), torch.randn(1024, 1024)
    peak = 2 * 1024**3 / (time_call(lambda: a @ b).cpu / threads / 1e3)
    large = torch.ones(64_000_000)
    taken = time_call(lambda: large.sum(), repeats=7).cpu / threads
    bandwidth = large.numel() * 4 / (taken / 1e3)
    return peak, bandwidth


def time_call(run: Callable[[], object], *, repeats: int = 15) -> Time:
    """Return the median milliseconds of a call, after a warm-up."""
    for _ in range(3):
        run()
    times = []
    for _ in range(repeats):
        wall, cpu = time.perf_counter_ns(), time.process_time_ns()
        run()
        taken = time.perf_counter_ns() - wall, time.process_time_ns() - cpu
        times.append([nanoseconds / 1e6 for nanoseconds in taken])
    return Time(*(statistics.median(column) for column in zip(*times, strict=True)))


if __name__ == "__main__":
    main()
