"""Emulated processors, without AVX-512 VNNI or without AVX: the same scores, within their bound."""

import json
import os
import platform
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import rejoinder
from rejoinder import models
from rejoinder.bundle.folder import open_bundle
from rejoinder.models.registry import find_bundle
from rejoinder.models.selector.agreement import correlate_ranks, make_sample

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

ARM_EMULATOR, ARM_COMPILER = shutil.which("qemu-aarch64"), shutil.which("aarch64-linux-gnu-gcc")


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


@pytest.mark.skipif(
    ARM_EMULATOR is None or ARM_COMPILER is None,
    reason="no compiler or emulator for ARM: `python tests/system_packages.py` installs them",
)
def test_the_kernel_on_arm_multiplies_as_numpy_does(tmp_path: Path) -> None:
    assert ARM_EMULATOR is not None
    assert ARM_COMPILER is not None
    kernel = [Path(models.__path__[0], name) for name in ("kernel.c", "transformer.c")]
    program = tmp_path / "arm"
    flags = ("-O3", "-std=gnu11", "-static", "-fno-math-errno", "-fno-trapping-math")
    sources = [Path(__file__).with_name("arm.c"), *kernel]
    subprocess.run([ARM_COMPILER, *flags, *sources, "-o", program, "-lm"], check=True)
    rng = np.random.default_rng(0)
    rows, depth, lines, line = 29, 37, 7, 4  # no whole tiles of rows
    left, bias = (rng.normal(size=shape) for shape in ((rows, depth), lines * line))
    matrix = rng.normal(size=(depth, lines * line))
    panels = matrix.reshape(depth, lines, line).swapaxes(0, 1)
    given = np.concatenate([part.ravel() for part in (left, panels, bias)]).astype("<f4")

    emulated = subprocess.run(
        [ARM_EMULATOR, program, *map(str, (rows, depth, lines))],
        input=given.tobytes(),
        check=True,
        capture_output=True,
    )

    first, *numbers = emulated.stdout.decode().splitlines()
    assert first.split() == ["0", "1", str(line)]  # no transformer, the only level, its line
    product = np.array(numbers, dtype=float).reshape(rows, lines * line)
    np.testing.assert_allclose(product, left @ matrix + bias, atol=1e-5)
