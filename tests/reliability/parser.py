"""A parser of untrusted bytes.

It may reject its input with a RejoinderError.  Any other exception is a bug.
"""

from collections.abc import Callable
from typing import NamedTuple

from rejoinder.errors import RejoinderError


class Parser(NamedTuple):
    """A function that reads bytes, and valid inputs for it."""

    read: Callable[[bytes], object]
    seeds: tuple[bytes, ...]


def parse(parser: Parser, raw: bytes) -> bool:
    """Parse bytes; return False if the parser rejects them."""
    try:
        parser.read(raw)
    except RejoinderError:
        return False
    return True
