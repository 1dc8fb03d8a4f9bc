"""A cache of a teacher's vectors in two files, so that each text is encoded once.

    STEM.keys       digests of the encoded texts, 16 bytes each
    STEM.vectors    their vectors in the same order, float16

Both files only grow, so an interrupted run continues where it stopped.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from hashlib import blake2b
from pathlib import Path

import numpy as np

from rejoinder.errors import TrainingError
from rejoinder.models.parallel import count_cores, spread
from rejoinder.models.sentence_encoder.encoder import Matrix, Vector

KEY = 16
CHUNK = 1024
"""Texts that are encoded and stored together."""
REPORT = 10 * CHUNK
"""Texts between two reports, about a minute's work of a small transformer."""

Encode = Callable[[str], Vector]


class VectorCache:
    """The vectors of one encoder by their texts."""

    def __init__(self, stem: Path, width: int) -> None:
        """Open the files, or create them.

        Raises:
            TrainingError: they cannot be written.
        """
        self._keys, self.path = (
            stem.with_name(f"{stem.name}.{suffix}") for suffix in ("keys", "vectors")
        )
        self._width = width
        sizes = {self._keys: KEY, self.path: 2 * width}
        with self._writing():
            for path in sizes:
                path.touch()
            rows = min(path.stat().st_size // size for path, size in sizes.items())
            for path, size in sizes.items():
                with path.open("r+b") as file:
                    file.truncate(rows * size)  # drop rows that an interrupted run left incomplete

    def embed(
        self, texts: Sequence[str], encode: Encode, say: Callable[[str], None] = lambda _: None
    ) -> Matrix:
        """Return the vectors of all texts, shape (texts, width); missing ones are encoded."""
        keys = [_digest(text) for text in texts]
        known = self._read_keys()
        missing = {key: text for key, text in zip(keys, texts, strict=True) if key not in known}
        todo = list(missing.items())
        for at in range(0, len(todo), CHUNK):
            self._append(todo[at : at + CHUNK], encode)
            if at % REPORT == 0:
                say(f"{min(at + CHUNK, len(todo))} of {len(todo)} texts encoded by the teacher")
        if not keys:
            return np.empty((0, self._width), np.float32)
        known = self._read_keys()
        stored = np.memmap(self.path, np.float16, "r", shape=(len(known), self._width))
        return stored[[known[key] for key in keys]].astype(np.float32)

    def _append(self, chunk: Sequence[tuple[bytes, str]], encode: Encode) -> None:
        vectors = spread(encode, [text for _, text in chunk], threads=count_cores())
        with self._writing():
            with self.path.open("ab") as file:
                file.write(np.stack(vectors).astype(np.float16).tobytes())
            with self._keys.open("ab") as file:
                file.write(b"".join(key for key, _ in chunk))

    @contextmanager
    def _writing(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise TrainingError(f"{self.path}: cannot be written: {error.strerror}") from error

    def _read_keys(self) -> dict[bytes, int]:
        raw = self._keys.read_bytes()
        return {raw[at : at + KEY]: at // KEY for at in range(0, len(raw), KEY)}


def _digest(text: str) -> bytes:
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=KEY).digest()
