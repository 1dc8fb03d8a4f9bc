"""Measure how fast a selector trains, beside the same network on padded texts.

Usage: python -m benchmarks.selector_training --data DATA [--steps 10] [--threads 1] > result.json

Both contenders run forward and backward on the same questions with the same weights, in turn:
`ours` reads all tokens of a chunk as one row and draws dropout four numbers at a time, `padded`
calls the encoder of `transformers` on the padded chunk.  Both compute products in bfloat16 where
the CPU supports it.  Prints one JSON object: the pairs per second of the median step, and the
median ratio of the step times.  Needs the extra `train`.
"""

import argparse
import json
import time
from pathlib import Path
from statistics import median
from typing import Any

import torch
from torch import Tensor, nn

from benchmarks.common import describe_machine
from rejoinder.datasets.catalogue import open_dataset
from rejoinder.models.selector.module.loading import load_selector, make_reader
from rejoinder.models.selector.module.selector import Selector, SelectorConfig
from rejoinder.training.batches import CandidateLists, TokenBatch
from rejoinder.training.devices import choose_compute
from rejoinder.training.loop import use_threads

QUESTIONS = 16
"""Per step, as in training."""
WARM_UP = 2
COMPUTE = choose_compute("cpu")


class PaddedSelector(Selector):
    """The same network, whose encoder also computes the padding."""

    def read(self, ids: Tensor, mask: Tensor, kinds: Tensor) -> Tensor:
        """Return the encoder's last hidden states, (P, L, E)."""
        output = self.encoder(input_ids=ids, attention_mask=mask, token_type_ids=kinds)
        states: Tensor = output.last_hidden_state.float()
        return states


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--dataset", default="qed")
    parser.add_argument("--split", default="dev")
    parser.add_argument("--steps", type=int, default=10)
    parser.add_argument("--threads", type=int, default=1)
    arguments = parser.parse_args()
    use_threads(arguments.threads)
    model, tokenizer = load_selector(SelectorConfig())
    examples = list(open_dataset(arguments.dataset, split=arguments.split, folder=arguments.data))
    lists = CandidateLists(examples, make_reader(model.config, tokenizer))
    contenders = {"ours": model, "padded": PaddedSelector(model.config, model.encoder)}
    seconds: dict[str, list[float]] = {name: [] for name in contenders}
    pairs = []
    for step in range(WARM_UP + arguments.steps):
        places = torch.arange(step * QUESTIONS, (step + 1) * QUESTIONS) % len(examples)
        batch = lists.batch(places)
        pairs.append(len(batch.labels))
        for name, contender in contenders.items():
            seconds[name].append(time_step(contender.train(), batch))
    pairs = pairs[WARM_UP:]
    seconds = {name: taken[WARM_UP:] for name, taken in seconds.items()}
    print(json.dumps(summarise(seconds, pairs, arguments), indent=2))


def time_step(model: nn.Module, batch: TokenBatch) -> float:
    start = time.perf_counter()
    with COMPUTE.autocast():
        scores = [model(**chunk.inputs) for chunk in batch.chunks]
    torch.cat(scores).float().square().mean().backward()
    taken = time.perf_counter() - start
    model.zero_grad()
    return taken


def summarise(
    seconds: dict[str, list[float]], pairs: list[int], arguments: argparse.Namespace
) -> dict[str, Any]:
    ours, padded = seconds["ours"], seconds["padded"]
    return {
        "what": f"steps of {QUESTIONS} questions of {arguments.dataset}:{arguments.split}",
        "steps": len(ours),
        "threads": arguments.threads,
        "pairs_per_second": {
            name: round(median(count / one for count, one in zip(pairs, taken, strict=True)), 1)
            for name, taken in seconds.items()
        },
        "ratio_median": round(median(b / a for a, b in zip(ours, padded, strict=True)), 2),
        "in_bfloat16": COMPUTE.dtype == torch.bfloat16,
        "machine": describe_machine(),
    }


if __name__ == "__main__":
    main()
