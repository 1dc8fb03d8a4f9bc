"""Emulated processors, without AVX-512 VNNI or without AVX: the same scores, within their bound.

test_kernel.py runs the other loops of the kernel on ARM.
"""

import json
import os
import platform
import shutil
import subprocess
import sys

import numpy as np
import pytest

import rejoinder
from rejoinder.bundle.folder import open_bundle
from rejoinder.index.vectors import nearest
from rejoinder.index.vectors.codes import encode_question, encode_vectors
from rejoinder.index.vectors.nearest import choose_rows, score_rows
from rejoinder.index.vectors.store import _to_rows
from rejoinder.models.has import compositions
from rejoinder.models.has.compositions import AttentionWeights, Hashed, pack
from rejoinder.models.kernel import Ids, Kernel, Linear, Matrix
from rejoinder.models.registry import find_bundle
from rejoinder.models.selector.agreement import correlate_ranks, make_sample
from rejoinder.models.sidecar import join_rows
from tests.models.arm import ArmLibrary, needs_arm, open_arm_kernel

EMULATOR = shutil.which("qemu-x86_64")
EXAMPLE = make_sample()[0]
SCORE = """
import json, sys
import rejoinder
from rejoinder.models.kernel import load_library
from rejoinder.models.transformer_kernel import has_transformer

question, texts = json.load(sys.stdin)
scores = {name: rejoinder.load(name).score(question, texts).tolist() for name in sys.argv[1:]}
print(json.dumps({"has_transformer": has_transformer(load_library()), "scores": scores}))
"""


@pytest.mark.skipif(
    EMULATOR is None or platform.machine() != "x86_64",
    reason="qemu-user is not installed: `python tests/system_packages.py` installs it",
)
@pytest.mark.parametrize("processor", ["Haswell", "Nehalem"])
def test_scores_on_other_processors_are_within_the_tolerance(processor: str) -> None:
    texts = [candidate.text for candidate in EXAMPLE.candidates[:12]]
    assert EMULATOR is not None
    emulated = subprocess.run(
        [EMULATOR, "-cpu", processor, sys.executable, "-c", SCORE, "selector", "cosinet"],
        input=json.dumps([EXAMPLE.question, texts]),
        check=True,
        capture_output=True,
        text=True,
        # numpy's OpenBLAS takes some emulated processors for newer ones.
        env={**os.environ, "OPENBLAS_CORETYPE": processor},
    )

    found = json.loads(emulated.stdout)

    assert not found["has_transformer"]
    scores = {name: np.array(values) for name, values in found["scores"].items()}
    own = rejoinder.load("selector").score(EXAMPLE.question, texts)
    tolerance = open_bundle(find_bundle("selector")).manifest.tolerance
    assert np.abs(scores["selector"] - own).max() < tolerance
    assert correlate_ranks(scores["selector"], own) > 0.99
    expected = rejoinder.load("cosinet").score(EXAMPLE.question, texts)
    np.testing.assert_allclose(scores["cosinet"], expected, atol=1e-4)


@pytest.fixture(scope="module")
def arm(arm_library: ArmLibrary) -> Kernel:
    return open_arm_kernel(arm_library)


@needs_arm
def test_the_kernel_on_arm_multiplies_as_numpy_does(arm_library: ArmLibrary, arm: Kernel) -> None:
    rng = np.random.default_rng(0)
    rows, depth, lines, line = 29, 37, 7, 4  # no whole tiles of rows
    left, bias = (rng.normal(size=shape) for shape in ((rows, depth), lines * line))
    matrix = rng.normal(size=(depth, lines * line))

    product = Linear(matrix.astype(np.float32), bias.astype(np.float32), arm)

    assert arm_library.bind("has_transformer", "")() == 0
    assert arm_library.bind("kernel_level", "")() == 1  # the only one
    assert arm.line == line
    np.testing.assert_allclose(product(left.astype(np.float32)), left @ matrix + bias, atol=1e-5)


@needs_arm
@pytest.mark.parametrize("width", [9, 48, 384])
def test_the_kernel_on_arm_attends_over_bits_as_numpy_does(
    arm: Kernel, monkeypatch: pytest.MonkeyPatch, width: int
) -> None:
    rng = np.random.default_rng(0)

    def draw(*shape: int) -> Matrix:
        return rng.normal(size=shape).astype(np.float32)

    weights = AttentionWeights(draw(21, width), draw(21, width), draw(21))
    question = draw(width)
    answers = join_rows([pack(draw(n, width)) for n in (1, 200, 3)], -(-width // 8))
    kernels = iter([arm, None])
    monkeypatch.setattr(compositions, "load_kernel", lambda: next(kernels))

    emulated, plain = (Hashed(weights, width).score(question, answers) for _ in range(2))

    np.testing.assert_allclose(emulated, plain, atol=1e-4)


@needs_arm
@pytest.mark.parametrize("width", [128, 256, 384])
def test_the_kernel_on_arm_finds_the_nearest_rows_as_numpy_does(
    arm: Kernel, monkeypatch: pytest.MonkeyPatch, width: int
) -> None:
    rng = np.random.default_rng(0)
    vectors = rng.normal(size=(8_000, width)).astype(np.float32)
    vectors[500:7_000] = vectors[0]  # too many of the same distance
    made, question = encode_vectors(vectors), encode_question(vectors[0] + vectors[1])
    places = np.column_stack([np.arange(8_000) // 10, np.arange(8_000) % 10]).astype("<u4")
    allowed = rng.random(790) < 0.8  # the last documents are unknown
    data = _to_rows(made)

    def search() -> tuple[Ids, Matrix]:
        rows = choose_rows(made.bits.view("<u8"), places, allowed, question, 4)
        return rows, score_rows(data, rows, question)

    monkeypatch.setattr(nearest, "load_kernel", lambda: arm)
    emulated, scores = search()
    monkeypatch.setattr(nearest, "load_kernel", lambda: None)
    plain, expected = search()

    assert emulated.tolist() == plain.tolist()
    assert len(plain) == 5 * 894 + 1
    np.testing.assert_allclose(scores, expected, atol=1e-4)
