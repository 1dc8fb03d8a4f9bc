"""Measure how long Cosinet-list + BiRNN takes to train on WikiQA, beside a plain implementation.

Usage: python -m benchmarks.train_speed --data DATA [--seeds 5] [--threads 2] > result.json

The plain implementation is the obvious one: padded lists, a batch of pairs through `nn.Conv1d`,
masked max-pooling, `nn.RNN`.  `padded` pads all pairs of a step to the longest; `by_length` pads
pairs of similar length together, the fastest that we found; `by_length_bfloat16` also runs its
convolution under `torch.autocast`, because ours computes its large product in bfloat16 where the
CPU supports it.  Relatedness is computed once for all.  All take the same steps on the same
questions from the same weights, so they train the same network up to rounding.  Prints one JSON
object; times are wall-clock seconds of three epochs in this run: compare the ratios.
"""

import argparse
import json
import time
from pathlib import Path
from statistics import fmean, median
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.nn.utils.rnn import pad_sequence

from benchmarks.common import describe_machine
from rejoinder.datasets.catalogue import open_dataset
from rejoinder.evaluation import evaluate
from rejoinder.models.ranker.module.pairs import Batch, Side, TrainingPairs
from rejoinder.models.ranker.module.ranker import Ranker, RankerConfig, TorchScorer, initialise
from rejoinder.models.static_vectors.vectors import load_vectors
from rejoinder.training.devices import choose_compute
from rejoinder.training.fit import Plan
from rejoinder.training.loop import Recipe, make_state, train
from rejoinder.training.mixing import Part, order_epoch
from rejoinder.training.ranker import fit_ranker
from rejoinder.types import Example

CHUNKS = {"padded": 1_000_000, "by_length": 20, "by_length_bfloat16": 20}
"""Pairs that are padded together; 20 was faster than 10 and 40."""


class PlainRanker(nn.Module):
    """The parameters of a Ranker in the plain implementation."""

    def __init__(
        self, ranker: Ranker, chunk: int = CHUNKS["by_length"], *, in_bfloat16: bool = False
    ) -> None:
        super().__init__()
        self.chunk, self.in_bfloat16 = chunk, in_bfloat16
        self.config = ranker.config
        self.ranker = ranker
        encoder: Any = ranker.encoder
        for side in (encoder.question, encoder.candidate):
            # Contiguous, as in nn.Conv1d; ours has another memory layout.
            weight = side.convolution.weight.detach().contiguous()
            side.convolution.weight = nn.Parameter(weight)

    def forward(self, batch: Batch) -> Tensor:
        """Return one score per pair, shape (P,)."""
        encoder: Any = self.ranker.encoder
        q = self._encode(encoder.question.convolution, batch, batch.question)
        c = self._encode(encoder.candidate.convolution, batch, batch.candidate)
        pairs = torch.cat([q * c, q - c], dim=1)
        segments = pairs.split(batch.segment_lengths.tolist())
        head: Any = self.ranker.head
        packed = nn.utils.rnn.pack_sequence(list(segments), enforce_sorted=False)
        read, _ = head.network(packed)
        padded, lengths = nn.utils.rnn.pad_packed_sequence(read, batch_first=True)
        mask = torch.arange(padded.shape[1]) < lengths[:, None]
        scores: Tensor = self.ranker.output(padded[mask]).squeeze(1)
        return scores

    def _encode(self, convolution: nn.Conv1d, batch: Batch, side: Side) -> Tensor:
        texts = torch.cat([batch.vectors[side.words], side.related[:, None]], dim=1)
        parts = texts.split(side.lengths.tolist())
        order = side.lengths.argsort()
        pooled = [
            self._pool(convolution, [parts[place] for place in chunk.tolist()])
            for chunk in order.split(self.chunk)
        ]
        return torch.cat(pooled)[order.argsort()]

    def _pool(self, convolution: nn.Conv1d, texts: list[Tensor]) -> Tensor:
        lengths = torch.tensor([len(text) for text in texts])
        padded = pad_sequence(texts, batch_first=True)  # (P, L, E + 1)
        with torch.autocast("cpu", torch.bfloat16, enabled=self.in_bfloat16):
            positions = convolution(padded.transpose(1, 2)).float()  # (P, C, L)
        exists = torch.arange(padded.shape[1]) < lengths[:, None]
        hidden = positions.masked_fill(~exists[:, None], float("-inf"))
        return functional.max_pool1d(hidden, hidden.shape[2]).squeeze(2)


def train_plain(
    examples: list[Example],
    vectors: Any,
    config: RankerConfig,
    recipe: Recipe,
    chunk: int,
    *,
    in_bfloat16: bool,
) -> tuple[Ranker, float]:
    start = time.perf_counter()
    pairs = TrainingPairs([example for example in examples if any(example.labels)], vectors)
    ranker = initialise(config, recipe.seed)
    plain: Any = PlainRanker(ranker, chunk, in_bfloat16=in_bfloat16)
    steps = train(
        make_state(plain, recipe, choose_compute("cpu")),
        pairs,
        recipe,
        order=lambda epoch: order_epoch([len(pairs)], [1], recipe.seed, epoch),
    )
    for _ in steps:
        pass
    return ranker, time.perf_counter() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=2)
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    examples = list(open_dataset("wikiqa", split="train", folder=arguments.data))
    dev = list(open_dataset("wikiqa", split="dev", folder=arguments.data))
    vectors = load_vectors()
    config = RankerConfig("cosinet", vectors.width, "birnn")
    seconds: dict[str, list[float]] = {name: [] for name in ("ours", *CHUNKS)}
    quality: dict[str, list[float]] = {name: [] for name in seconds}
    for seed in range(arguments.seeds):
        recipe = Recipe(seed=seed)
        fitted = fit_ranker(Plan(config, recipe), [Part(examples)], vectors)
        trained = {"ours": (fitted.model, fitted.seconds)}
        for name, chunk in CHUNKS.items():
            trained[name] = train_plain(
                examples, vectors, config, recipe, chunk, in_bfloat16=name.endswith("bfloat16")
            )
        for name, (model, taken) in trained.items():
            report = evaluate(TorchScorer(model, vectors), dev, measures=["MAP"])
            quality[name].append(100 * report.means["MAP"])
            seconds[name].append(taken)
    print(json.dumps(summarise(seconds, quality, arguments.threads), indent=2))


def summarise(
    seconds: dict[str, list[float]], quality: dict[str, list[float]], threads: int
) -> dict[str, Any]:
    import resource

    ours = seconds["ours"]
    return {
        "what": "Cosinet-list + BiRNN, WikiQA train, 3 epochs, packing included",
        "seeds": len(ours),
        "threads": threads,
        "mean_seconds": {name: round(fmean(values), 2) for name, values in seconds.items()},
        "best_seconds": {name: round(min(values), 2) for name, values in seconds.items()},
        "ratio_median": {
            name: round(median(b / a for a, b in zip(ours, values, strict=True)), 2)
            for name, values in seconds.items()
        },
        "dev_map": {name: round(fmean(values), 2) for name, values in quality.items()},
        "peak_memory_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
        "machine": describe_machine(),
    }


if __name__ == "__main__":
    main()
