"""ms-marco-MiniLM-L-12-v2 as its users run it: the int8 network, on two threads."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.common import open_session

CROSS_ENCODER = "ms-marco-minilm-l12"
MAX_TOKENS = 512
THREADS = 2


class CrossEncoder:
    """Scores pairs of a question and a text."""

    def __init__(self, folder: Path) -> None:
        from tokenizers import Tokenizer

        self._tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        self._tokenizer.enable_truncation(MAX_TOKENS, strategy="only_second")
        self._session = open_session(folder / "model.int8.onnx", THREADS)
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
