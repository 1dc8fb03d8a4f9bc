"""Networks in the compiled kernel, beside the same networks in onnxruntime."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch")

from tests.models.pretrained import write_pretrained
from tests.models.selectors import TOKENIZER, make_contextual, make_selector

from rejoinder.bundle.folder import open_bundle
from rejoinder.models.encoders import network as module
from rejoinder.models.encoders.network import (
    CompiledNetwork,
    open_compiled,
    open_network,
    read_pooled,
    read_states,
)
from rejoinder.models.kernel import load_library
from rejoinder.models.onnx_session import NETWORK, Feed, OnnxNetwork, Runtime, to_feed
from rejoinder.models.registry import find_bundle
from rejoinder.models.selector.agreement import correlate_ranks, make_sample
from rejoinder.models.selector.export import write_selector
from rejoinder.models.selector.scorer import SelectorScorer, make_readout
from rejoinder.models.transformer_kernel import has_transformer

LIBRARY = load_library()
pytestmark = pytest.mark.skipif(
    LIBRARY is None or not has_transformer(LIBRARY),
    reason="the kernel was not built, or this processor has no AVX-512 VNNI",
)


@pytest.fixture(scope="module")
def feeds() -> list[Feed]:
    """Pairs of the shipped selector."""
    scorer = SelectorScorer(open_bundle(find_bundle("selector")))
    sample = make_sample()
    return [feed for item in sample for feed in scorer.read(item.question, item.candidates)]


def open_both(folder: Path) -> tuple[CompiledNetwork, OnnxNetwork]:
    bundle = open_bundle(folder)
    network = open_network(bundle, Runtime(threads=2), make_readout)
    assert isinstance(network, CompiledNetwork)
    return network, OnnxNetwork((folder / NETWORK).read_bytes(), folder)


def test_the_shipped_selector_scores_as_in_onnxruntime(feeds: list[Feed]) -> None:
    network, other = open_both(find_bundle("selector"))

    scores, expected = np.ravel(network.run_all(feeds)), np.ravel(other.run_all(feeds))

    # Both round states to bytes, and a rounding that falls the other way changes all that follow.
    assert correlate_ranks(scores, expected) > 0.998
    assert np.abs(scores - expected).max() < open_bundle(find_bundle("selector")).manifest.tolerance
    assert np.abs(scores - expected).mean() < 0.1


def test_a_score_is_the_same_alone_and_in_any_order(feeds: list[Feed]) -> None:
    network, _ = open_both(find_bundle("selector"))
    chosen = feeds[:40]

    together = np.ravel(network.run_all(chosen))

    assert together.tolist() == [float(network.run(feed)[0]) for feed in chosen]
    assert together[::-1].tolist() == np.ravel(network.run_all(chosen[::-1])).tolist()
    assert network.run_all([]) == []


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_all_threads_get_about_as_many_tokens(threads: int) -> None:
    encoder = open_both(find_bundle("selector"))[0]._encoder
    network = CompiledNetwork(encoder, lambda encoded: encoded.get_first(), threads)
    lengths = [20 + 7 * at % 60 for at in range(16)]

    groups = network._divide(lengths)

    assert sorted(place for group in groups for place in group) == list(range(16))
    assert len(groups) % threads == 0
    totals = [sum(lengths[place] for place in group) for group in groups]
    assert max(totals) - min(totals) < max(lengths)


@pytest.mark.parametrize("recipe", ["cosine", "classifier"])
@pytest.mark.parametrize("name", ["bert", "bert-cased", "roberta", "xlm-roberta"])
def test_every_packed_architecture_runs_in_the_kernel(
    name: str, recipe: str, tmp_path: Path
) -> None:
    from rejoinder.models.selector.module.loading import load_selector
    from rejoinder.models.selector.module.selector import SelectorConfig

    source = write_pretrained(tmp_path / "source", name)
    config = SelectorConfig(str(source), None, 40, recipe=recipe)
    model, tokenizer = load_selector(config)
    write_selector(tmp_path / "m", model, tokenizer, training={}, sample=[])

    network, other = open_both(tmp_path / "m")

    rng = np.random.default_rng(0)
    pairs = [
        to_feed(rng.integers(5, 100, n).tolist(), [0] * 4 + [1] * (n - 4)) for n in (9, 30, 40)
    ]
    found, expected = np.ravel(network.run_all(pairs)), np.ravel(other.run_all(pairs))
    np.testing.assert_allclose(found, expected, atol=0.05 * max(1, np.ptp(expected)))


@pytest.mark.parametrize("precision", ["fp32", "int8"])
def test_other_networks_stay_in_onnxruntime(precision: str, tmp_path: Path) -> None:
    is_int8 = precision == "int8"
    model = make_contextual("multi-way") if is_int8 else make_selector(width=64)
    write_selector(tmp_path / "m", model, TOKENIZER, precision=precision, training={}, sample=[])

    network = open_network(open_bundle(tmp_path / "m"), Runtime(), make_readout)

    assert isinstance(network, OnnxNetwork)


@pytest.mark.parametrize("runtime", [Runtime(batch=4), Runtime(provider="cuda")])
def test_batches_and_other_devices_are_left_to_onnxruntime(runtime: Runtime) -> None:
    bundle = open_bundle(find_bundle("selector"))
    content = (bundle.folder / NETWORK).read_bytes()

    assert open_compiled(content, bundle.manifest.config, runtime, make_readout) is None


@pytest.mark.parametrize("lacks", ["kernel", "VNNI"])
def test_without_the_kernel_onnxruntime_scores_and_it_is_said_once(
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    feeds: list[Feed],
    lacks: str,
) -> None:
    library = load_library() if lacks == "VNNI" else None
    monkeypatch.setattr(module, "load_library", lambda: library)
    monkeypatch.setattr(module, "has_transformer", lambda _: False)
    module._find_transformer.cache_clear()
    caplog.set_level("INFO")
    bundle = open_bundle(find_bundle("selector"))
    try:
        networks = [open_network(bundle, Runtime(), make_readout) for _ in range(2)]
    finally:
        module._find_transformer.cache_clear()

    assert all(isinstance(network, OnnxNetwork) for network in networks)
    assert np.isfinite(networks[0].run_all(feeds[:3])).all()
    (record,) = [item for item in caplog.records if item.name == module.__name__]
    assert lacks in record.getMessage()
    assert record.getMessage().startswith("int8 transformers run in onnxruntime")


def test_scoring_in_the_kernel_imports_no_onnxruntime() -> None:
    code = (
        "import sys, rejoinder; rejoinder.load('selector').score('who?', ['I.', 'You.']);"
        "sys.exit('onnxruntime' in sys.modules)"
    )

    subprocess.run([sys.executable, "-c", code], check=True)


def test_weights_beside_the_encoder_must_be_those_that_are_read() -> None:
    other = {"other.weight": np.zeros((2, 2), dtype=np.float32)}

    assert make_readout(other) is None
    assert read_states(other) is None
    assert read_pooled("mean", other) is None
    assert read_pooled("largest", {}) is None


@pytest.mark.parametrize("change", [{"max_tokens": 10_000}, {"architecture": {}}])
def test_settings_that_do_not_fit_the_weights_are_left_to_onnxruntime(
    change: dict[str, object],
) -> None:
    bundle = open_bundle(find_bundle("selector"))
    content = (bundle.folder / NETWORK).read_bytes()
    config = {**bundle.manifest.config, **change}

    assert open_compiled(content, config, Runtime(), make_readout) is None
    assert open_compiled(content, bundle.manifest.config, Runtime(), read_states) is None


def test_what_runs_transformers_is_described() -> None:
    assert "compiled kernel" in module.describe_runtime()
