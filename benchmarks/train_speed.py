"""Measures how long Cosinet-list + BiRNN takes to train on WikiQA, against the plain way.

Usage: python -m benchmarks.train_speed --data DATA [--seeds 5] [--threads 2] > result.json

The plain way is the paper's network as one would write it first: lists padded, a batch of
pairs through `nn.Conv1d`, max-pooling over a mask, `nn.RNN` over padded lists.  To be fair
to it, relatedness is computed once for it too, and pairs of similar length are padded
together, which was its best batching.  Both take the same steps on the same questions from
the same weights, so they end at the same network up to rounding.  Prints one JSON object; times
are wall-clock seconds of three epochs in this run on this machine, to be read as a ratio.
"""

import argparse
import json
import os
import platform
import resource
import time
from pathlib import Path
from statistics import fmean, median, stdev
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.nn.utils.rnn import pad_sequence

from rejoinder.data.catalogue import open_dataset
from rejoinder.evaluation.evaluate import evaluate
from rejoinder.records import Example
from rejoinder.runtime.static_vectors import load_vectors
from rejoinder.train.fit import Plan, fit
from rejoinder.train.loop import Recipe, make_optimizer, train
from rejoinder.train.mixing import Part, order_epoch
from rejoinder.train.models.ranker import Ranker, RankerConfig, initialise
from rejoinder.train.pairs import Batch, Pairs, Side
from rejoinder.train.torch_scorer import TorchScorer

CHUNK = 20
"""Pairs of similar length that are padded together: 10, 20, 40 and all were tried."""


class PlainRanker(nn.Module):
    """The same parameters as a Ranker, used the way one would write it first."""

    def __init__(self, ranker: Ranker) -> None:
        super().__init__()
        self.config = ranker.config
        self.ranker = ranker
        encoder: Any = ranker.encoder
        for side in (encoder.question, encoder.candidate):
            # Laid out in memory as nn.Conv1d has it, not as ours does.
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
            for chunk in order.split(CHUNK)
        ]
        return torch.cat(pooled)[order.argsort()]

    def _pool(self, convolution: nn.Conv1d, texts: list[Tensor]) -> Tensor:
        lengths = torch.tensor([len(text) for text in texts])
        padded = pad_sequence(texts, batch_first=True)  # (P, L, E + 1)
        positions = convolution(padded.transpose(1, 2))  # (P, C, L)
        exists = torch.arange(padded.shape[1]) < lengths[:, None]
        hidden = positions.masked_fill(~exists[:, None], float("-inf"))
        return functional.max_pool1d(hidden, hidden.shape[2]).squeeze(2)


def train_plain(
    examples: list[Example], vectors: Any, config: RankerConfig, recipe: Recipe
) -> tuple[Ranker, float]:
    start = time.perf_counter()
    pairs = Pairs([example for example in examples if any(example.labels)], vectors)
    ranker = initialise(config, recipe.seed)
    plain: Any = PlainRanker(ranker)
    steps = train(
        plain,
        pairs,
        recipe,
        make_optimizer(plain, recipe),
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
    found: dict[str, list[float]] = {
        name: [] for name in ("ours", "plain", "ours_map", "plain_map")
    }
    for seed in range(arguments.seeds):
        recipe = Recipe(seed=seed)
        fitted = fit(Plan(config, recipe), [Part(examples)], vectors)
        plain, seconds = train_plain(examples, vectors, config, recipe)
        found["ours"].append(fitted.seconds)
        found["plain"].append(seconds)
        for name, model in (("ours_map", fitted.model), ("plain_map", plain)):
            report = evaluate(TorchScorer(model, vectors), dev, measures=["MAP"])
            found[name].append(100 * report.means["MAP"])
    print(json.dumps(summarise(found, arguments.threads), indent=2))


def summarise(found: dict[str, list[float]], threads: int) -> dict[str, Any]:
    ratios = [plain / ours for plain, ours in zip(found["plain"], found["ours"], strict=True)]
    return {
        "what": "Cosinet-list + BiRNN, WikiQA train, 3 epochs, packing included",
        "seeds": len(ratios),
        "threads": threads,
        "ours_seconds": round(fmean(found["ours"]), 2),
        "ours_seconds_best": round(min(found["ours"]), 2),
        "plain_seconds": round(fmean(found["plain"]), 2),
        "plain_seconds_best": round(min(found["plain"]), 2),
        "ratio_median": round(median(ratios), 2),
        "ratio_of_best": round(min(found["plain"]) / min(found["ours"]), 2),
        "ours_dev_map": round(fmean(found["ours_map"]), 2),
        "plain_dev_map": round(fmean(found["plain_map"]), 2),
        "deviation_dev_map": round(stdev(found["ours_map"]), 2) if len(ratios) > 1 else None,
        "peak_memory_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
        "machine": {"cores": os.cpu_count(), "kind": platform.machine()},
    }


if __name__ == "__main__":
    main()
