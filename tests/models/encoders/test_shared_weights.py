"""Weights that several processes share."""

import logging
import os
import subprocess
import sys
from collections.abc import Iterator
from io import FileIO
from pathlib import Path

import numpy as np
import pytest

import rejoinder
from rejoinder.models.encoders.network import SHARED
from rejoinder.models.encoders.shared_weights import PAGE, create_memory, share
from rejoinder.models.kernel import load_library
from rejoinder.models.transformer_kernel import Bytes, has_transformer

LIBRARY = load_library()
pytestmark = pytest.mark.skipif(not hasattr(os, "memfd_create"), reason="needs Linux")
ONE, OTHER = b"1".ljust(32), b"2".ljust(32)
TEXTS = ["Tea is hot.", "It rained.", "Ada built the tower."]


@pytest.fixture
def memory() -> Iterator[FileIO]:
    created = create_memory()
    assert created
    with created:
        yield created


def make(value: int, size: int) -> Bytes:
    return np.full(size, value, dtype=np.uint8)


def refuse() -> Bytes:
    raise AssertionError("the weights are there")


def test_weights_are_packed_once_and_found_by_their_key(memory: FileIO) -> None:
    number = memory.fileno()
    for key, value, size in ((ONE, 1, PAGE + 1), (OTHER, 2, 10)):
        np.testing.assert_array_equal(
            share(number, key, lambda v=value, s=size: make(v, s)),  # type: ignore[misc]
            make(value, size),
        )

    found = share(number, ONE, refuse)

    np.testing.assert_array_equal(found, make(1, PAGE + 1))
    np.testing.assert_array_equal(share(number, OTHER, refuse), make(2, 10))
    assert found.ctypes.data % 64 == 0
    assert not found.flags.writeable


def test_weights_of_a_process_that_died_while_it_wrote_are_packed_again(memory: FileIO) -> None:
    number = memory.fileno()
    share(number, ONE, lambda: make(1, 10))
    os.pwrite(number, b"half", 3 * PAGE)  # without the header before it

    np.testing.assert_array_equal(share(number, OTHER, lambda: make(2, 10)), make(2, 10))
    np.testing.assert_array_equal(share(number, OTHER, refuse), make(2, 10))


def test_another_process_maps_what_the_first_has_packed(memory: FileIO) -> None:
    share(memory.fileno(), ONE, lambda: make(7, 5))
    code = (
        "from rejoinder.models.encoders.shared_weights import share\n"
        f"print(share({memory.fileno()}, {ONE!r}, None).tolist())"
    )

    found = subprocess.run(
        [sys.executable, "-c", code], pass_fds=[memory.fileno()], check=True, capture_output=True
    )

    assert found.stdout.strip() == b"[7, 7, 7, 7, 7]"


@pytest.mark.skipif(
    LIBRARY is None or not has_transformer(LIBRARY),
    reason="the kernel was not built, or this processor has no AVX-512 VNNI",
)
def test_a_selector_scores_the_same_with_shared_weights(
    memory: FileIO, monkeypatch: pytest.MonkeyPatch
) -> None:
    private = rejoinder.load("selector").score("is tea hot?", TEXTS)
    monkeypatch.setenv(SHARED, str(memory.fileno()))
    first, second = rejoinder.load("selector"), rejoinder.load("selector")

    for scorer in (first, second):
        np.testing.assert_array_equal(scorer.score("is tea hot?", TEXTS), private)
    size = os.fstat(memory.fileno()).st_size
    assert 10_000_000 < size < 40_000_000  # one copy


@pytest.mark.skipif(
    LIBRARY is None or not has_transformer(LIBRARY),
    reason="the kernel was not built, or this processor has no AVX-512 VNNI",
)
def test_a_selector_packs_its_own_weights_where_none_can_be_shared(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    with Path(os.devnull).open("rb") as file, caplog.at_level(logging.WARNING):
        monkeypatch.setenv(SHARED, str(file.fileno()))
        scores = rejoinder.load("selector").score("is tea hot?", TEXTS)

    assert scores.argmax() == 0
    assert "not shared" in caplog.text
