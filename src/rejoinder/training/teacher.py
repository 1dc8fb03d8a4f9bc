"""The vectors of a teacher, which are computed once and cached in two files.

    STEM.keys       digests of the encoded texts, 16 bytes each
    STEM.vectors    their vectors in the same order, float16

Both files only grow, so a run that was interrupted continues.
"""

from collections.abc import Callable, Sequence
from hashlib import blake2b
from pathlib import Path

import numpy as np

from rejoinder.models.parallel import count_cores, spread
from rejoinder.models.sentence_encoder.encoder import Matrix, Vector

KEY = 16
CHUNK = 1024
"""Texts that are encoded and stored together."""

Encode = Callable[[str], Vector]
OnDone = Callable[[int, int], None]
"""Is called with the number of texts that were encoded, and of all that were missing."""


class VectorCache:
    """The two files of an encoder."""

    def __init__(self, stem: Path, width: int) -> None:
        self._keys, self._vectors = (
            stem.with_name(f"{stem.name}.{suffix}") for suffix in ("keys", "vectors")
        )
        self._width = width
        sizes = {self._keys: KEY, self._vectors: 2 * width}
        for path in sizes:
            path.touch()
        rows = min(path.stat().st_size // size for path, size in sizes.items())
        for path, size in sizes.items():
            with path.open("r+b") as file:
                file.truncate(rows * size)  # drop what an interrupted run wrote last

    def embed(
        self, texts: Sequence[str], encode: Encode, on_done: OnDone = lambda _, __: None
    ) -> Matrix:
        """Return the vectors of all texts; those that are missing are computed."""
        keys = [_digest(text) for text in texts]
        known = self._read_keys()
        missing = {key: text for key, text in zip(keys, texts, strict=True) if key not in known}
        todo = list(missing.items())
        for at in range(0, len(todo), CHUNK):
            self._append(todo[at : at + CHUNK], encode)
            on_done(min(at + CHUNK, len(todo)), len(todo))
        if not keys:
            return np.empty((0, self._width), np.float32)
        known = self._read_keys()
        stored = np.memmap(self._vectors, np.float16, "r", shape=(len(known), self._width))
        return stored[[known[key] for key in keys]].astype(np.float32)

    def _append(self, chunk: Sequence[tuple[bytes, str]], encode: Encode) -> None:
        vectors = spread(encode, [text for _, text in chunk], threads=count_cores())
        with self._vectors.open("ab") as file:
            file.write(np.stack(vectors).astype(np.float16).tobytes())
        with self._keys.open("ab") as file:
            file.write(b"".join(key for key, _ in chunk))

    def _read_keys(self) -> dict[bytes, int]:
        raw = self._keys.read_bytes()
        return {raw[at : at + KEY]: at // KEY for at in range(0, len(raw), KEY)}


def _digest(text: str) -> bytes:
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=KEY).digest()
