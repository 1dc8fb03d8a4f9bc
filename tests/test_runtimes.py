"""The benchmark of runtimes, with a tiny selector."""

import json
import subprocess
import sys
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch")
pytest.importorskip("onnx")

import torch
from benchmarks.conversions import restore_weights
from benchmarks.runtimes import BASELINE, divide

from rejoinder.bundle.folder import open_bundle
from rejoinder.datasets.readers.jsonl import write_examples
from rejoinder.models.kernel import load_library
from rejoinder.models.onnx_session import to_feed
from rejoinder.models.selector.agreement import make_sample
from rejoinder.models.selector.export import reopen_selector, write_selector
from rejoinder.models.selector.module.selector import Selector
from rejoinder.types import Example
from tests.models.selectors import TOKENIZER, make_selector

ROOT = Path(__file__).parents[1]
QUANTISED = ["onnxruntime_dynamic_int8", "onnxruntime_static_int8", "onnxruntime_fused_int8"]


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a selector whose width the kernel supports."""
    folder = tmp_path_factory.mktemp("bundle") / "tiny"
    write_selector(folder, make_selector(width=64), TOKENIZER, training={}, sample=[])
    return folder


def run(bundle: Path, folder: Path) -> dict[str, Any]:
    """Run the benchmark in its own process, because it silences warnings and logs."""
    examples = [answer_first(example) for example in make_sample()[:3]]
    write_examples(folder / "sample.jsonl", examples)
    options = {"--threads": "1,2", "--pairs": "2,9", "--rounds": "1", "--questions": "2"}
    inputs = {"--dataset": str(folder / "sample.jsonl"), "--bundle": str(bundle)}
    words = [word for option in (options | inputs).items() for word in option]
    command = [sys.executable, "-m", "benchmarks.runtimes", *words]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    result: dict[str, Any] = json.loads(done.stdout)
    return result


def answer_first(example: Example) -> Example:
    candidates = example.candidates[:6]
    return replace(example, candidates=candidates, labels=(True,) + (False,) * 5)


def test_all_contenders_score_the_same_pairs(bundle: Path, tmp_path: Path) -> None:
    result = run(bundle, tmp_path)

    contenders = [BASELINE, *QUANTISED]
    contenders += ["ctranslate2_int8"] if find_spec("ctranslate2") else []
    contenders += ["our_kernel"] if load_library() else []
    assert (result["questions"], result["scored_pairs"]) == (2, 12)
    cases = [(item["threads"], item["pairs"]) for item in result["timings"]]
    assert cases == [(1, 2), (1, 9), (2, 2), (2, 9)]
    for item in result["timings"]:
        assert list(item["pairs_per_second"]) == contenders
        assert min(item["pairs_per_second"].values()) > 0
        assert item[f"ratio_to_{BASELINE}"][BASELINE] == 1
        assert set(QUANTISED) <= set(item["fastest_batch"]) <= set(contenders)
        assert max(item["fastest_batch"].values()) <= item["pairs"]
    assert list(result["quality"]) == contenders
    for quality in result["quality"].values():
        for way in ("one_pair_per_call", "one_batch_per_question"):
            assert 0 <= quality[way]["P@1"] <= 100
            assert quality[way]["spearman"] > 0.5  # the same weights
    assert result["quality"][BASELINE]["one_pair_per_call"]["largest_difference"] == 0
    assert not result["quality"][BASELINE]["changes_with_batch"]
    if load_library():
        ours = result["quality"]["our_kernel"]
        assert ours["largest_change_with_batch"] == 0
        assert ours["one_pair_per_call"]["spearman"] > 0.9
    assert result["packages"]["onnxruntime"]["size_mb"] > 1
    assert ("ctranslate2_int8" in result["left_out"]) is (find_spec("ctranslate2") is None)


def test_weights_are_restored_without_the_remainder_for_training(bundle: Path) -> None:
    first, second = (reopen_selector(bundle)[0] for _ in range(2))
    assert isinstance(first, Selector)

    restore_weights(first, open_bundle(bundle))

    name = "encoder.encoder.layer.0.output.dense.weight"
    weight, noisy = first.state_dict()[name], second.state_dict()[name]
    scales = weight.abs().amax(dim=1, keepdim=True) / 127
    assert torch.allclose(weight / scales, (weight / scales).round(), atol=1e-3)
    assert 0 < (weight - noisy).abs().max() < scales.max()


def test_batches_are_of_similar_length_and_hold_each_pair_once() -> None:
    feeds = [to_feed(list(range(length))) for length in (3, 9, 5, 9, 1)]

    assert divide(feeds, 2) == [[1, 3], [2, 0], [4]]
    assert divide(feeds, 1) == [[1], [3], [2], [0], [4]]
