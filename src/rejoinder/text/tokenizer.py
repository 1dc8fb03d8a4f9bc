"""Tokenizers of pretrained encoders: what a model needs of one, and those of tokenizer.json.

Uncased WordPiece has a module of its own, which is faster.  Every other tokenizer is one of the
library `tokenizers`, which the extra `encoders` installs.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from hashlib import sha256
from typing import Any, NamedTuple, Protocol

from rejoinder.errors import InputError, MissingExtraError, is_panic, shorten

PROBES = ("a", "the", "1", ".", "一")
"""Texts that show where special tokens stand; a vocabulary has at least one of them."""
UNKNOWN = ("[UNK]", "<unk>", "<|unk|>")


class Frame(NamedTuple):
    """The ids of the special tokens around texts.

    A text is read as `first text last`, a pair as `first text between text last`.
    """

    first: tuple[int, ...]
    between: tuple[int, ...]
    last: tuple[int, ...]


class Tokenizer(Protocol):
    """Turns text into the ids that an encoder reads."""

    @property
    def frame(self) -> Frame:
        """The special tokens around texts."""
        ...

    @property
    def unknown(self) -> int:
        """The id that stands for a text without any token."""
        ...

    @property
    def hash(self) -> str:
        """Identifies the tokenizer."""
        ...

    def __len__(self) -> int:
        """Return how many ids there are."""
        ...

    def to_ids(self, text: str) -> list[int]:
        """Return the ids of a text, without special tokens around it."""
        ...


class JsonTokenizer:
    """The tokenizer of a tokenizer.json."""

    def __init__(self, content: str) -> None:
        try:
            from tokenizers import Tokenizer as Library
        except ImportError as error:
            raise MissingExtraError("reading tokenizer.json", extra="encoders") from error
        from rejoinder.text.tokenizer_check import check_tokenizer

        check_tokenizer(content)
        self.content = content
        with _refusing("not a tokenizer.json"):
            tokenizer: Any = Library.from_str(content)
        # The file may pad and truncate; models do that themselves.
        tokenizer.no_padding()
        tokenizer.no_truncation()
        self._tokenizer = tokenizer
        with _refusing("it cannot read a text"):
            self.frame = _find_frame(tokenizer)
        ids = [tokenizer.token_to_id(token) for token in UNKNOWN]
        known = [id_ for id_ in ids if id_ is not None]
        self.unknown = known[0] if known else self.frame.last[-1]

    def __len__(self) -> int:
        ids: dict[str, int] = self._tokenizer.get_vocab(with_added_tokens=True)
        return max(ids.values()) + 1

    @cached_property
    def hash(self) -> str:
        """Identifies the tokenizer."""
        return sha256(self.content.encode()).hexdigest()[:16]

    def to_ids(self, text: str) -> list[int]:
        """Return the ids of a text, without special tokens around it.

        Raises:
            InputError: the tokenizer cannot read it.
        """
        with _refusing("the scorer's tokenizer cannot read this text"):
            ids: list[int] = self._tokenizer.encode(text, add_special_tokens=False).ids
        return ids


@contextmanager
def _refusing(problem: str) -> Iterator[None]:
    """Turn errors and panics of the library, which raises nothing more specific, into ours."""
    try:
        yield
    except InputError:
        raise
    except BaseException as error:
        if not isinstance(error, Exception) and not is_panic(error):
            raise
        raise InputError(f"{problem}: {shorten(error)}") from error


def _find_frame(tokenizer: Any) -> Frame:
    """Return the special tokens that the tokenizer puts around a pair."""
    for probe in PROBES:
        pair = tokenizer.encode(probe, probe)
        sides = pair.sequence_ids
        if 0 in sides and 1 in sides:
            begin, end = sides.index(0), len(sides) - sides[::-1].index(0)
            second, after = sides.index(1), len(sides) - sides[::-1].index(1)
            ids = pair.ids
            frame = Frame(tuple(ids[:begin]), tuple(ids[end:second]), tuple(ids[after:]))
            if frame.first and frame.last:
                return frame
    raise InputError("its tokenizer.json puts no special tokens around a pair of texts")
