"""Emulated processors, without AVX-512 VNNI or without AVX: the same scores, within their bound."""

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

pytestmark = pytest.mark.skipif(
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
