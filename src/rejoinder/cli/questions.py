"""Questions of a file or of stdin, one per line, in the batches in which they arrive."""

import io
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import cast

from rejoinder.errors import DataError

STDIN = Path("-")
MAX_BATCH = 64
"""Questions that are answered at once: enough for all cores, few enough to see them arrive."""
MAX_LINE_BYTES = 1_000_000
CHUNK_BYTES = 65_536


def read_batches(source: Path) -> Iterator[list[str]]:
    """Yield the questions of a file, or of stdin for "-"; blank lines are skipped.

    A batch holds the lines that have arrived: a program that writes one question gets its
    answer before it writes the next.

    Raises:
        DataError: the file cannot be read, is not UTF-8, or a line is too long.
    """
    from rejoinder.datasets.files import decode_lines

    path = Path("<stdin>") if source == STDIN else source
    number = 1
    with ExitStack() as stack:
        try:
            file = cast("io.BufferedReader", sys.stdin.buffer)  # typeshed says only BinaryIO
            if source != STDIN:
                file = stack.enter_context(source.open("rb"))
        except OSError as error:
            raise DataError(error.strerror or str(error), path=path) from error
        for lines in _read_available(file, path):
            texts = [text.strip() for _, text in decode_lines(lines, path, start=number)]
            number += len(lines)
            questions = [text for text in texts if text]
            for first in range(0, len(questions), MAX_BATCH):
                yield questions[first : first + MAX_BATCH]


def _read_available(file: io.BufferedReader, path: Path) -> Iterator[list[bytes]]:
    """Yield the whole lines that each read returns, and at last the one without a line end."""
    rest = b""
    try:
        while chunk := file.read1(CHUNK_BYTES):
            *lines, rest = (rest + chunk).split(b"\n")
            if lines:
                yield lines
            if len(rest) > MAX_LINE_BYTES:
                problem = (
                    f"a line has more than {MAX_LINE_BYTES:,} bytes; give one question per line"
                )
                raise DataError(problem, path=path)
    except OSError as error:
        raise DataError(error.strerror or str(error), path=path) from error
    if rest:
        yield [rest]
