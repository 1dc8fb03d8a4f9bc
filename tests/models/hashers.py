"""A tiny HAS with random weights, and bundles of it."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

from rejoinder.bundle.folder import open_bundle
from rejoinder.models.has.export import write_has
from rejoinder.models.has.module import Has, HasConfig
from rejoinder.models.has.scorer import HasScorer
from rejoinder.models.onnx_session import Runtime
from rejoinder.types import Candidate, Example
from tests.models.selectors import TOKENIZER, make_selector

CANDIDATES = (
    Candidate("a", "Most caves are formed by melted water."),
    Candidate("b", "The wind in summer is warm."),
    Candidate("c", "A cat, a dog, hot tea."),
    Candidate("d", ""),
)
EXAMPLE = Example("q", "how are caves formed", CANDIDATES, (True, False, False, False))
OTHER = Example("r", "who is warm in summer", CANDIDATES, (False, True, False, False))
TEXTS = [item.text for item in CANDIDATES] + ["café 猫 unheardofword " * 20]


def make_has(*, seed: int = 0, dropout: float = 0.1, **settings: Any) -> Has:
    """Return a network whose words have 32 numbers, and texts 30 word pieces at most."""
    base = make_selector(
        seed=seed,
        max_tokens=32,
        hidden_dropout_prob=dropout,
        attention_probs_dropout_prob=dropout,
    )
    torch.manual_seed(seed)
    config = HasConfig(encoder="tiny", attention_width=6, max_tokens=32)
    return Has(replace(config, **settings), base.encoder).eval()


def write_tiny_has(
    folder: Path, model: Has | None = None, *, precision: str = "fp32", sample: tuple[str, ...] = ()
) -> HasScorer:
    """Write a bundle and return its scorer."""
    write_has(
        folder,
        model or make_has(),
        TOKENIZER,
        precision=precision,
        training={},
        sample=sample,
    )
    return HasScorer(open_bundle(folder), Runtime(threads=1))
