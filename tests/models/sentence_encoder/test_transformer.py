"""Imported transformers: vectors as torch computes them, refused encoders, corrupt bundles."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("onnxruntime")

from tests.models.selectors import VOCABULARY, write_encoder  # noqa: E402
from tests.models.static_encoders import make_passage  # noqa: E402

from rejoinder.bundle.folder import Manifest, open_bundle, write_bundle  # noqa: E402
from rejoinder.errors import BundleError, InputError, UnknownNameError  # noqa: E402
from rejoinder.models.encoders.loading import load_encoder  # noqa: E402
from rejoinder.models.importing import ImportOptions, import_model  # noqa: E402
from rejoinder.models.onnx_session import Runtime  # noqa: E402
from rejoinder.models.registry import (  # noqa: E402
    open_scorer,
    open_sentence_encoder,
    verify_bundle,
)
from rejoinder.models.sentence_encoder import importing  # noqa: E402
from rejoinder.models.sentence_encoder.transformer import TransformerEncoder  # noqa: E402
from rejoinder.text.wordpiece import WordPiece  # noqa: E402
from rejoinder.types import Candidate, Document  # noqa: E402

TEXTS = [
    "The glacier caves are formed by melted water.",
    "ice",
    "",
    "naïve café 猫 unheardofword",
    "a cold wind in summer " * 30,
]


@pytest.fixture(scope="module")
def pretrained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_encoder(tmp_path_factory.mktemp("pretrained") / "tiny", width=64)


def import_tiny(folder: Path, pretrained: Path, **options: Any) -> TransformerEncoder:
    import_model(ImportOptions(to=folder, source=str(pretrained), **options), command="rejoinder …")
    return TransformerEncoder(open_bundle(folder))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, pretrained: Path) -> Path:
    folder = tmp_path_factory.mktemp("imported") / "encoder"
    import_tiny(folder, pretrained, question_prefix="deep water: ", licence="MIT")
    return folder


@pytest.fixture
def encoder(folder: Path) -> TransformerEncoder:
    return TransformerEncoder(open_bundle(folder))


def encode_with_torch(pretrained: Path, text: str, pooling: str) -> Any:
    """Return the vector of a text by torch and its own tokens."""
    model, _ = load_encoder(str(pretrained))
    cls, sep = (VOCABULARY.index(token) for token in ("[CLS]", "[SEP]"))
    ids = [piece for word in WordPiece(VOCABULARY).tokenize(text) for piece in word]
    ids = [cls, *(ids or [VOCABULARY.index("[UNK]")])[: 80 - 2], sep]
    with torch.no_grad():
        states = model.eval()(torch.tensor([ids])).last_hidden_state[0]
    vector = (states.mean(dim=0) if pooling == "mean" else states[0]).numpy()
    return vector / np.linalg.norm(vector)


@pytest.mark.parametrize("pooling", ["mean", "first"])
def test_vectors_are_those_of_torch(tmp_path: Path, pretrained: Path, pooling: str) -> None:
    encoder = import_tiny(tmp_path / "encoder", pretrained, pooling=pooling)

    vectors = [encoder.encode(text) for text in TEXTS]

    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)
    expected = [encode_with_torch(pretrained, text, pooling) for text in TEXTS]
    assert np.einsum("ij,ij->i", vectors, expected).min() > 0.99
    other = "first" if pooling == "mean" else "mean"
    assert vectors[0] @ encode_with_torch(pretrained, TEXTS[0], other) < 0.98


def test_a_question_has_the_prefix_and_a_sentence_has_not(encoder: TransformerEncoder) -> None:
    asked = encoder.encode_question("where is the ice?")

    assert asked.tolist() == encoder.encode("deep water: where is the ice?").tolist()
    (vector,) = encoder.encode_passages("", [make_passage("where is the ice?")])
    assert vector.tolist() == encoder.encode("where is the ice?").tolist()


def test_a_sentence_is_read_after_its_title_and_innermost_heading(
    encoder: TransformerEncoder,
) -> None:
    passages = [
        make_passage("It melted.", headings=["Glacier", "Ice", "Winter"], before=["no"]),
        make_passage("It melted.", headings=["Glacier"]),
        make_passage("It melted."),
    ]

    vectors = encoder.encode_passages("Glacier", passages)

    texts = ["Glacier. Winter. It melted.", "Glacier. It melted.", "Glacier. It melted."]
    assert vectors.tolist() == [encoder.encode(text).tolist() for text in texts]
    assert encoder.encode_passages("Glacier", []).shape == (0, 64)


def test_a_vector_does_not_depend_on_other_texts(folder: Path) -> None:
    bundle = open_bundle(folder)
    passages = [make_passage(text) for text in TEXTS]

    together = TransformerEncoder(bundle, Runtime(threads=2)).encode_passages("", passages)

    alone = TransformerEncoder(bundle, Runtime(threads=1))
    assert together.tolist() == [alone.encode_passages("", [item])[0].tolist() for item in passages]


def test_batches_have_the_vectors_of_each_text(folder: Path) -> None:
    bundle = open_bundle(folder)
    passages = [make_passage(text) for text in TEXTS]

    batched = TransformerEncoder(bundle, Runtime(batch=2)).encode_passages("", passages)

    alone = TransformerEncoder(bundle).encode_passages("", passages)
    assert np.einsum("ij,ij->i", batched, alone).min() > 1 - bundle.manifest.tolerance


def test_each_piece_is_encoded_by_itself(encoder: TransformerEncoder) -> None:
    vectors = encoder.encode_pieces()

    assert vectors.shape == (len(encoder.vocabulary), 64)
    place = encoder.vocabulary.index("ice")
    np.testing.assert_allclose(vectors[place], encoder.encode("ice"), atol=1e-6)
    assert "[CLS]" not in encoder.vocabulary


def test_the_bundle_says_where_it_comes_from(folder: Path) -> None:
    manifest = open_bundle(folder, kind="transformer-encoder").manifest

    assert manifest.precision == "int8"
    assert manifest.training["command"] == "rejoinder …"
    assert manifest.config["max_tokens"] == 80  # the encoder has no more positions
    assert manifest.scores["smallest cosine with the original"] > 0.98
    card = (folder / "README.md").read_text(encoding="utf-8")
    assert "tiny" in card
    assert "deep water: " in card
    assert "MIT" in card


def test_it_scores_by_cosine(folder: Path, encoder: TransformerEncoder) -> None:
    page = Document("d", "Ice", ("It melted.", "The wind is cold."))
    scorer = open_scorer(folder)

    scores = scorer.score("where?", [Candidate("a", "It melted.", page, 0), Candidate("b", "Ice")])

    asked = encoder.encode_question("where?")
    expected = [encoder.encode(text) @ asked for text in ("Ice. It melted.", "Ice")]
    np.testing.assert_allclose(scores, expected, atol=1e-6)
    assert scorer.name == "transformer-encoder"
    verify_bundle(folder)


def test_a_tokenizer_of_another_encoder_is_refused(tmp_path: Path, pretrained: Path) -> None:
    from transformers import DistilBertConfig, DistilBertModel

    config = DistilBertConfig(vocab_size=50, dim=64, n_layers=1, n_heads=2, hidden_dim=64)
    DistilBertModel(config).save_pretrained(tmp_path / "distil")
    for path in pretrained.glob("*token*"):
        (tmp_path / "distil" / path.name).write_bytes(path.read_bytes())

    with pytest.raises(InputError, match="distil: its tokenizer has"):
        import_tiny(tmp_path / "encoder", tmp_path / "distil")
    assert not (tmp_path / "encoder").exists()


def test_a_width_that_does_not_fit_is_refused(tmp_path: Path) -> None:
    narrow = write_encoder(tmp_path / "narrow", width=32)

    with pytest.raises(InputError, match="narrow: its width is 32, not a multiple of 64"):
        import_tiny(tmp_path / "encoder", narrow)


def test_a_missing_encoder_or_pooling_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"it has no config\.json"):
        import_tiny(tmp_path / "encoder", tmp_path)
    with pytest.raises(UnknownNameError, match=r"'max'; .*known: mean, first"):
        ImportOptions("tiny", to=tmp_path, pooling="max")


def test_a_folder_of_other_files_is_not_replaced(tmp_path: Path, pretrained: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine", encoding="utf-8")

    with pytest.raises(BundleError, match="exists and is not a bundle"):
        import_tiny(tmp_path, pretrained)


def test_vectors_that_differ_from_torch_are_not_written(
    tmp_path: Path, pretrained: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(importing, "MIN_PARITY", {"fp32": 0.9999, "int8": 1.1})

    with pytest.raises(BundleError, match=r"vectors in int8 differ from .*nothing was"):
        import_tiny(tmp_path / "encoder", pretrained)
    assert not (tmp_path / "encoder").exists()


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("model.onnx", b"no network"),
        ("model.onnx", b""),
        ("vocabulary.txt", b""),
        ("vocabulary.txt", b"[UNK]\nice\n"),
        ("vocabulary.txt", b"ice\n[CLS]\n[SEP]\n"),
        ("vocabulary.txt", b"\xff\n"),
    ],
)
def test_files_that_are_something_else_are_refused(
    tmp_path: Path, folder: Path, name: str, content: bytes
) -> None:
    files = {path.name: path.read_bytes() for path in folder.iterdir()}
    config = json.loads(files.pop("manifest.json"))["config"]
    spoilt = tmp_path / "spoilt"
    write_bundle(spoilt, Manifest("transformer-encoder", config), {**files, name: content})

    with pytest.raises(BundleError, match="export the bundle again"):
        open_sentence_encoder(spoilt)


@pytest.mark.parametrize("max_tokens", [None, "many", [], float("inf"), "missing"])
def test_settings_that_do_not_fit_are_refused(
    tmp_path: Path, folder: Path, max_tokens: object
) -> None:
    files = {path.name: path.read_bytes() for path in folder.iterdir()}
    config = json.loads(files.pop("manifest.json"))["config"]
    config["max_tokens"] = max_tokens
    if max_tokens == "missing":
        config.pop("max_tokens")
    write_bundle(tmp_path / "spoilt", Manifest("transformer-encoder", config), files)

    with pytest.raises(BundleError, match="export the bundle again"):
        open_sentence_encoder(tmp_path / "spoilt")


def test_a_network_of_states_is_no_sentence_encoder(tmp_path: Path, folder: Path) -> None:
    from tests.models.selectors import make_selector

    from rejoinder.models.encoders.onnx_bert import add_encoder, get_inputs
    from rejoinder.models.encoders.onnx_graph import Graph

    model = make_selector(width=64).encoder
    state = {name: value.detach().numpy() for name, value in model.state_dict().items()}
    graph = Graph(state, is_int8=False, epsilon=model.config.layer_norm_eps)
    rows = np.arange(len(VOCABULARY))
    states = add_encoder(graph, model, rows, 80, scope="")
    network = graph.to_bytes(get_inputs(), states, ["pairs", "tokens", 64])
    files = {path.name: path.read_bytes() for path in folder.iterdir()}
    config = json.loads(files.pop("manifest.json"))["config"]
    files["model.onnx"] = network
    write_bundle(tmp_path / "spoilt", Manifest("transformer-encoder", config), files)

    with pytest.raises(BundleError, match=r"model\.onnx returns a vector of shape \(3, 64\)"):
        open_sentence_encoder(tmp_path / "spoilt")
