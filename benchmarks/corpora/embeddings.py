"""Nearest neighbours of sentence embeddings, which are computed once and cached in a folder.

    CACHE/ENCODER.keys       digests of the embedded texts, 16 bytes each
    CACHE/ENCODER.vectors    their vectors in the same order, float16

Both files only grow, so a run that was interrupted continues.
"""

import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from hashlib import blake2b
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rejoinder.errors import InputError
from rejoinder.models.encoders.loading import find_encoder

WIDTH = 384
KEY = 16
CHUNK = 2048
"""Texts that are sorted by length, embedded and stored together."""
BATCH = 32
MAX_TOKENS = 256


class Encoder(NamedTuple):
    """A pretrained encoder of sentences."""

    find: Callable[[Path | None], str | None]
    """Returns its folder, given the folder of all weights."""
    pools_mean: bool
    """Whether a text's vector is the mean state; else the first."""
    prefix: str = ""
    """Goes before a question."""


def _find_minilm(_: Path | None) -> str | None:
    with suppress(InputError):
        return find_encoder()
    return None


def _find_bge(weights: Path | None) -> str | None:
    folder = weights / "bge-small" if weights else None
    return str(folder) if folder and folder.is_dir() else None


ENCODERS = {
    "minilm-l6": Encoder(_find_minilm, pools_mean=True),
    "bge-small": Encoder(
        _find_bge,
        pools_mean=False,
        prefix="Represent this sentence for searching relevant passages: ",
    ),
}


def has_torch() -> bool:
    """Whether encoders can run."""
    return bool(find_spec("torch") and find_spec("transformers"))


class NearestNeighbours:
    """Searches texts by the cosine of their vectors, exactly."""

    def __init__(
        self, encoder: str, weights: Path | None, cache: Path, texts: Sequence[str]
    ) -> None:
        self._encode = _load(encoder, weights)
        self._prefix = ENCODERS[encoder].prefix
        self._vectors = _VectorCache(cache / encoder).embed(texts, self._encode)

    def search(self, question: str, k: int) -> list[int]:
        """Return the places of the k nearest texts, the nearest first."""
        scores = self._vectors @ self._encode([self._prefix + question])[0]
        best = np.argpartition(-scores, min(k, len(scores) - 1))[:k]
        places: list[int] = best[np.argsort(-scores[best], kind="stable")].tolist()
        return places


Encode = Callable[[Sequence[str]], NDArray[np.float32]]


def _load(name: str, weights: Path | None) -> Encode:
    import torch
    from transformers import AutoModel, AutoTokenizer

    folder = ENCODERS[name].find(weights)
    assert folder is not None
    tokenizer: Any = AutoTokenizer.from_pretrained(folder)
    encoder: Any = AutoModel.from_pretrained(folder).eval()

    def encode(texts: Sequence[str]) -> NDArray[np.float32]:
        batch = tokenizer(
            list(texts), padding=True, truncation=True, max_length=MAX_TOKENS, return_tensors="pt"
        )
        with torch.inference_mode():
            states = encoder(**batch).last_hidden_state
        if ENCODERS[name].pools_mean:
            mask = batch["attention_mask"][:, :, None]
            pooled = (states * mask).sum(1) / mask.sum(1)
        else:
            pooled = states[:, 0]
        vectors: NDArray[np.float32] = torch.nn.functional.normalize(pooled, dim=1).numpy()
        return vectors

    return encode


class _VectorCache:
    """The two files of an encoder."""

    def __init__(self, stem: Path) -> None:
        self._keys, self._vectors = stem.with_suffix(".keys"), stem.with_suffix(".vectors")
        stem.parent.mkdir(parents=True, exist_ok=True)
        sizes = (KEY, 2 * WIDTH)
        paths = (self._keys, self._vectors)
        for path in paths:
            path.touch()
        rows = min(path.stat().st_size // size for path, size in zip(paths, sizes, strict=True))
        for path, size in zip(paths, sizes, strict=True):
            with path.open("r+b") as file:
                file.truncate(rows * size)  # drop what an interrupted run wrote last

    def embed(self, texts: Sequence[str], encode: Encode) -> NDArray[np.float32]:
        """Return the vectors of all texts; those that are missing are computed."""
        keys = [blake2b(text.encode("utf-8"), digest_size=KEY).digest() for text in texts]
        known = self._read_keys()
        missing = {key: text for key, text in zip(keys, texts, strict=True) if key not in known}
        todo, start = list(missing.items()), time.monotonic()
        for at in range(0, len(todo), CHUNK):
            chunk = sorted(todo[at : at + CHUNK], key=lambda item: len(item[1]))
            self._append(chunk, encode)
            done = min(at + CHUNK, len(todo))
            left = (time.monotonic() - start) / done * (len(todo) - done)
            print(f"{done:,} of {len(todo):,} embedded, {left / 60:.0f} min left", file=sys.stderr)
        known = self._read_keys()
        stored = np.memmap(self._vectors, np.float16, "r", shape=(len(known), WIDTH))
        return stored[[known[key] for key in keys]].astype(np.float32)

    def _append(self, chunk: Sequence[tuple[bytes, str]], encode: Encode) -> None:
        texts = [text for _, text in chunk]
        vectors = [encode(texts[at : at + BATCH]) for at in range(0, len(texts), BATCH)]
        with self._vectors.open("ab") as file:
            file.write(np.concatenate(vectors).astype(np.float16).tobytes())
        with self._keys.open("ab") as file:
            file.write(b"".join(key for key, _ in chunk))

    def _read_keys(self) -> dict[bytes, int]:
        raw = self._keys.read_bytes()
        return {raw[at : at + KEY]: at // KEY for at in range(0, len(raw), KEY)}
