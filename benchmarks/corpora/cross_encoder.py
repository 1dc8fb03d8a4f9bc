"""ms-marco-MiniLM-L-12-v2 as its users run it: in onnxruntime, int8 or fp32."""

import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.sessions import open_session

CROSS_ENCODER = "ms-marco-minilm-l12"
MAX_TOKENS = 512
THREADS = 2


class CrossEncoder:
    """Scores pairs of a question and a text."""

    def __init__(
        self, folder: Path, network: Path | None = None, *, threads: int = THREADS
    ) -> None:
        """Open the tokenizer of a folder, and its int8 network or another."""
        from tokenizers import Tokenizer

        self._tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        self._tokenizer.enable_truncation(MAX_TOKENS, strategy="only_second")
        self._session = open_session(network or folder / "model.int8.onnx", threads)
        self._inputs = {item.name for item in self._session.get_inputs()}

    def score(self, question: str, texts: Sequence[str]) -> list[float]:
        """Return a score for each text; higher is better.

        Each pair is a call of its own: in a batch, all are padded to the longest, and int8 scores
        depend on their neighbours.
        """
        return [self._score(self._tokenizer.encode(question, text)) for text in texts]

    def _score(self, encoded: Any) -> float:
        feed = {
            "input_ids": encoded.ids,
            "attention_mask": encoded.attention_mask,
            "token_type_ids": encoded.type_ids,
        }
        given = {
            name: np.array([value], dtype=np.int64)
            for name, value in feed.items()
            if name in self._inputs
        }
        return float(self._session.run(None, given)[0].reshape(-1)[0])


def export_fp32(folder: Path, path: Path) -> None:
    """Write the network of the weights in a folder in fp32."""
    import torch
    from transformers import AutoModelForSequenceClassification

    model: Any = AutoModelForSequenceClassification.from_pretrained(
        str(folder), attn_implementation="eager"
    ).eval()
    names = ("input_ids", "attention_mask", "token_type_ids")

    class Logits(torch.nn.Module):
        """The score of a pair."""

        def forward(
            self, ids: torch.Tensor, mask: torch.Tensor, kinds: torch.Tensor
        ) -> torch.Tensor:
            logits: torch.Tensor = model(ids, mask, kinds).logits
            return logits

    pair = tuple(torch.ones((1, 16), dtype=torch.int64) for _ in names)
    lengths = {1: torch.export.Dim("length", min=2, max=MAX_TOKENS)}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the exporter warns about its own internals
        torch.onnx.export(
            Logits(),
            pair,
            str(path),
            input_names=names,
            dynamo=True,
            external_data=False,
            verbose=False,
            dynamic_shapes=(lengths,) * 3,
        )
