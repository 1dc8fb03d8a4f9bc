import sys
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")
onnxruntime = pytest.importorskip("onnxruntime")

from tests.models.selectors import TOKENIZER, VOCABULARY, WORDS, make_selector  # noqa: E402

from rejoinder.bundle.folder import open_bundle  # noqa: E402
from rejoinder.errors import BundleError, MissingExtraError  # noqa: E402
from rejoinder.models.encoders.onnx_graph import quantise_weight, read_state  # noqa: E402
from rejoinder.models.encoders.tokens import order_pieces  # noqa: E402
from rejoinder.models.selector import agreement  # noqa: E402
from rejoinder.models.selector import export as export_selector  # noqa: E402
from rejoinder.models.selector.agreement import correlate_ranks  # noqa: E402
from rejoinder.models.selector.export import reopen_selector, write_selector  # noqa: E402
from rejoinder.models.selector.export_graph import build_graph  # noqa: E402
from rejoinder.models.selector.module.selector import Selector  # noqa: E402
from rejoinder.models.selector.pair_reader import PairTokens  # noqa: E402
from rejoinder.models.selector.scorer import SelectorScorer  # noqa: E402
from rejoinder.models.static_vectors.vectors import SHIPPED_VECTORS, load_vectors  # noqa: E402
from rejoinder.training.selector import SelectorTorchScorer  # noqa: E402
from rejoinder.types import Candidate, Example  # noqa: E402

QUESTION = "How are glacier caves formed?"
RNG = np.random.default_rng(0)
TEXTS = [
    "Most caves are formed by melted water.",
    "",
    "x",
    "naïve café 猫 \ud800 unheardofword " * 20,
    *(" ".join(RNG.choice(WORDS, size=size)) for size in range(3, 40)),
]
CANDIDATES = tuple(Candidate(str(place), text) for place, text in enumerate(TEXTS))
SAMPLE = [Example("q", QUESTION, CANDIDATES, (False,) * len(CANDIDATES))]


def score_with_torch(model: Selector) -> list[float]:
    tokens = PairTokens(TOKENIZER, max_tokens=model.config.max_tokens)
    found = []
    for text in TEXTS:
        ids, kinds = tokens.join(tokens.tokenize(QUESTION), tokens.tokenize(text))
        with torch.no_grad():
            score = model(
                torch.from_numpy(ids)[None],
                torch.ones(1, len(ids), dtype=torch.long),
                torch.from_numpy(kinds)[None],
            )
        found.append(score.item())
    return found


def export(folder: Path, model: Selector, precision: str) -> SelectorScorer:
    write_selector(
        folder,
        model,
        TOKENIZER,
        precision=precision,
        training={"data": ["none"]},
        sample=SAMPLE,
        files={"README.md": b"a card"},
    )
    return SelectorScorer(open_bundle(folder))


@pytest.mark.parametrize("layers", [1, 2])
def test_fp32_agrees_with_torch(tmp_path: Path, layers: int) -> None:
    model = make_selector(layers=layers)

    scorer = export(tmp_path / "m", model, "fp32")

    np.testing.assert_allclose(
        scorer.score(QUESTION, CANDIDATES), score_with_torch(model), atol=1e-4
    )
    assert open_bundle(tmp_path / "m").manifest.tolerance == 1e-4


def test_int8_is_as_close_as_its_manifest_says(tmp_path: Path) -> None:
    model = make_selector()

    scorer = export(tmp_path / "m", model, "int8")

    manifest = open_bundle(tmp_path / "m").manifest
    expected = score_with_torch(model)
    difference = np.abs(scorer.score(QUESTION, CANDIDATES) - expected).max()
    assert 1e-4 < difference <= manifest.tolerance <= 3 * difference + 0.011
    assert manifest.precision == "int8"
    assert manifest.config["max_tokens"] == 64
    assert manifest.training == {"data": ["none"]}
    assert (tmp_path / "m" / "README.md").read_bytes() == b"a card"


def test_two_exports_give_the_same_bytes(tmp_path: Path) -> None:
    for name in ("one", "two"):
        export(tmp_path / name, make_selector(), "int8")

    one, two = (open_bundle(tmp_path / name).manifest for name in ("one", "two"))
    assert one.files == two.files


def test_padding_in_a_batch_changes_nothing_in_fp32() -> None:
    model = make_selector()
    file = build_graph(model, range(len(VOCABULARY)), precision="fp32")
    session = onnxruntime.InferenceSession(file, providers=["CPUExecutionProvider"])
    ids = np.array([[3, 60, 61, 4, 62, 4, 0, 0], [3, 70, 4, 71, 72, 73, 74, 4]])
    mask = (ids > 0).astype(np.int64)
    kinds = np.array([[0, 0, 0, 0, 1, 1, 0, 0], [0, 0, 0, 1, 1, 1, 1, 1]])

    (together,) = session.run(None, {"ids": ids, "mask": mask, "kinds": kinds})
    (alone,) = session.run(None, {"ids": ids[:1, :6], "mask": mask[:1, :6], "kinds": kinds[:1, :6]})

    with torch.no_grad():
        expected = model(*map(torch.from_numpy, (ids, mask, kinds))).numpy()
    np.testing.assert_allclose(together, expected, atol=1e-5)
    np.testing.assert_allclose(together[:1], alone, atol=1e-5)


def test_a_network_that_is_built_wrongly_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = make_selector(seed=1)
    monkeypatch.setattr(
        export_selector,
        "_build",
        lambda model, rows, precision: build_graph(other, rows, precision=precision),
    )

    with pytest.raises(BundleError, match=r"scores in fp32 differ by .* nothing was written"):
        export(tmp_path / "m", make_selector(), "int8")

    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("limit", "value", "problem"),
    [
        ("MAX_DIFFERENCE", {"fp32": 1e-4, "int8": 1e-4}, "scores in int8 differ by"),
        ("MIN_CORRELATION", 1.01, "ranks in int8 correlate by .* export in fp32"),
    ],
)
def test_int8_that_is_too_far_off_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limit: str, value: object, problem: str
) -> None:
    monkeypatch.setattr(agreement, limit, value)

    with pytest.raises(BundleError, match=problem):
        export(tmp_path / "m", make_selector(), "int8")

    assert list(tmp_path.iterdir()) == []


def test_weights_that_are_not_finite_are_refused(tmp_path: Path) -> None:
    model = make_selector()
    with torch.no_grad():
        model.first.bias.fill_(float("nan"))

    with pytest.raises(BundleError, match="not finite"):
        export(tmp_path / "m", model, "fp32")

    assert list(tmp_path.iterdir()) == []


def test_an_unknown_precision_is_a_mistake_of_the_caller(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="'int4' is none of fp32, int8"):
        export(tmp_path / "m", make_selector(), "int4")


def test_without_onnx_the_extra_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "rejoinder.models.selector.export_graph", None)

    with pytest.raises(MissingExtraError, match=r"rejoinder\[train\]"):
        export(tmp_path / "m", make_selector(), "fp32")


def test_an_encoder_that_is_not_written_by_hand_is_exported_by_torch(tmp_path: Path) -> None:
    export(tmp_path / "m", make_selector(hidden_act="relu"), "int8")

    assert open_bundle(tmp_path / "m").manifest.tolerance < 1


def test_without_a_sample_the_largest_tolerance_is_stated(tmp_path: Path) -> None:
    write_selector(tmp_path / "m", make_selector(), TOKENIZER, training={}, sample=[])

    assert open_bundle(tmp_path / "m").manifest.tolerance == 1.0


def test_a_bundle_keeps_the_pieces_of_words_in_their_order_and_then_the_marks() -> None:
    vocabulary = ["[PAD]", "[unused0]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "[", "]", "cat", "##s"]

    kept = [vocabulary[row] for row in order_pieces(vocabulary)]

    assert kept == ["[PAD]", "[UNK]", "[", "]", "cat", "##s", "[CLS]", "[SEP]"]


def test_a_bundle_of_the_usual_encoder_begins_with_the_shipped_pieces() -> None:
    shipped = load_vectors().vocabulary
    # BERT's uncased vocabulary: padding, pieces without meaning, marks, then words.
    unused = [f"[unused{number}]" for number in range(994)]
    encoder = [shipped[0], *unused[:99], shipped[1], "[CLS]", "[SEP]", "[MASK]", *unused[99:]]
    encoder += shipped[2:]

    kept = [encoder[row] for row in order_pieces(encoder)]

    assert kept == [*shipped, "[CLS]", "[SEP]"]


def test_whole_numbers_have_a_scale_per_row_or_column() -> None:
    matrix = np.array([[1.0, -0.5], [0.0, 0.0], [0.0, 10.0]], dtype=np.float32)

    rows, by_row = quantise_weight(matrix, axis=1, limit=127)
    columns, by_column = quantise_weight(matrix, axis=0, limit=63)

    assert rows.tolist() == [[127, -64], [0, 0], [0, 127]]  # -0.5 / (1 / 127) = -63.5
    np.testing.assert_allclose(by_row[:, 0], [1 / 127, 0, 10 / 127], rtol=1e-6)
    assert columns.tolist() == [[63, -3], [0, 0], [0, 63]]  # -0.5 / (10 / 63) = -3.15
    np.testing.assert_allclose(by_column[0], [1 / 63, 10 / 63], rtol=1e-6)


def test_ranks_correlate_whatever_the_scale() -> None:
    scores = np.array([1.0, 2.0, 4.0])

    assert correlate_ranks(scores, scores**3) == pytest.approx(1.0)
    assert correlate_ranks(scores, -scores) == pytest.approx(-1.0)
    assert correlate_ranks(scores[:1], scores[:1]) == 1.0


@pytest.mark.parametrize(("precision", "tolerance"), [("fp32", 1e-4), ("int8", 0.5)])
def test_a_bundle_can_be_trained_on(tmp_path: Path, precision: str, tolerance: float) -> None:
    scorer = export(tmp_path / "m", make_selector(), precision)
    model, vocabulary = reopen_selector(tmp_path / "m")

    again = SelectorTorchScorer(model, vocabulary).score(QUESTION, CANDIDATES)

    assert again == pytest.approx(scorer.score(QUESTION, CANDIDATES), abs=tolerance)
    names = {name for name, _ in make_selector().named_parameters()}
    assert {name for name, _ in model.named_parameters()} == names


def test_int8_is_reopened_between_its_steps_and_rounds_to_the_same_bytes(tmp_path: Path) -> None:
    export(tmp_path / "m", make_selector(), "int8")

    model, vocabulary = reopen_selector(tmp_path / "m")

    rows = range(len(vocabulary))
    content = (tmp_path / "m" / "model.onnx").read_bytes()
    assert build_graph(model, rows, precision="int8") == content
    on_steps = read_state(build_graph(model, rows, precision="fp32"))
    name = "encoder.encoder.layer.0.output.dense.weight"
    steps = on_steps[name] / (np.abs(on_steps[name]).max(axis=1, keepdims=True) / 127)
    assert np.abs(steps - steps.round()).mean() == pytest.approx(0.25, abs=0.02)


def test_a_reopened_selector_is_exported_unchanged(tmp_path: Path) -> None:
    export(tmp_path / "m", make_selector(), "fp32")
    model, vocabulary = reopen_selector(tmp_path / "m")
    write_selector(
        tmp_path / "again",
        model,
        vocabulary,
        precision="fp32",
        training={},
        sample=SAMPLE,
    )
    one, other = (open_bundle(tmp_path / name).manifest for name in ("m", "again"))
    assert other.files.items() <= one.files.items()
    assert one.config == other.config


def test_another_kind_of_bundle_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BundleError, match="not a bundle"):
        reopen_selector(tmp_path)
    with pytest.raises(BundleError, match="not 'selector'"):
        reopen_selector(SHIPPED_VECTORS)


def test_an_incomplete_manifest_is_refused(tmp_path: Path) -> None:
    export(tmp_path / "m", make_selector(), "fp32")
    manifest = tmp_path / "m" / "manifest.json"
    manifest.write_text(manifest.read_text().replace('"hidden_size": 32', '"hidden_size": 64'))
    with pytest.raises(BundleError, match="training cannot continue from it"):
        reopen_selector(tmp_path / "m")
