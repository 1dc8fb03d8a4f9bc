"""Imported cross-encoders: scores as `transformers` computes them, and what is refused."""

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("onnxruntime")
pytest.importorskip("tokenizers")

from rejoinder.bundle.folder import open_bundle  # noqa: E402
from rejoinder.errors import BundleError, InputError, RejoinderError, UnknownNameError  # noqa: E402
from rejoinder.models.importing import ImportOptions, import_model  # noqa: E402
from rejoinder.models.registry import open_scorer, verify_bundle  # noqa: E402
from rejoinder.models.selector import agreement  # noqa: E402
from rejoinder.models.selector.export import reopen_selector  # noqa: E402
from rejoinder.training.selector import SelectorTorchScorer  # noqa: E402
from rejoinder.types import Candidate, Document  # noqa: E402
from tests.models.pretrained import write_pretrained  # noqa: E402

CLASSIFIER = "AutoModelForSequenceClassification"
QUESTION = "how are glacier caves formed?"
TEXTS = ["The caves are formed by melted water.", "It rained.", "x", "a cold wind 猫 " * 40]
TOPIC = "Glacier caves. Deep ice. Rock."
TITLED = [
    Candidate(str(at), text, Document("d", "Glacier caves"), None, ("Deep ice", "Rock"))
    for at, text in enumerate(TEXTS)
]
"""The same texts below a title and headings: `TOPIC`."""


@pytest.fixture(scope="module")
def bert(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_pretrained(tmp_path_factory.mktemp("tiny") / "bert", "bert", CLASSIFIER)


def copy(folder: Path, to: Path, **settings: Any) -> Path:
    """Copy a model, with other settings in its config.json."""
    shutil.copytree(folder, to)
    config = json.loads((to / "config.json").read_text(encoding="utf-8"))
    (to / "config.json").write_text(json.dumps(config | settings), encoding="utf-8")
    return to


def score_with_transformers(folder: Path, texts: list[str] = TEXTS, limit: int = 96) -> list[float]:
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = AutoModelForSequenceClassification.from_pretrained(folder).eval()
    scores = []
    for text in texts:
        inputs = tokenizer(
            *(QUESTION, text),
            truncation=True,
            max_length=limit,
            return_token_type_ids=model.config.model_type == "bert",
            return_tensors="pt",
        )
        with torch.no_grad():
            scores.append(model(**inputs).logits.item())
    return scores


def import_to(source: Path, to: Path, **options: Any) -> Any:
    import_model(ImportOptions(str(source), to, **options), command="rejoinder …")
    return open_scorer(to)


@pytest.mark.parametrize("architecture", ["bert", "roberta", "mpnet", "deberta-v2"])
def test_an_imported_cross_encoder_scores_as_transformers_does(
    tmp_path: Path, architecture: str
) -> None:
    source = write_pretrained(tmp_path / "tiny", architecture, CLASSIFIER)

    scorer = import_to(source, tmp_path / "m")

    expected = score_with_transformers(source)
    np.testing.assert_allclose(scorer.score(QUESTION, TEXTS), expected, atol=1e-4)
    assert np.std(expected) > 0.01


def test_the_bundle_says_where_it_comes_from(bert: Path, tmp_path: Path) -> None:
    import_to(bert, tmp_path / "m", licence="MIT", int8=True)

    manifest = open_bundle(tmp_path / "m", kind="selector").manifest
    assert manifest.training["from"] == "bert"
    assert manifest.training["command"] == "rejoinder …"
    assert manifest.config["max_tokens"] == 96
    assert manifest.precision == "int8"
    found = manifest.scores[agreement.AGREEMENT]
    assert found["pairs"] == 165
    assert found["spearman"] > 0.98
    assert 0 < 3 * found["largest difference"] <= manifest.tolerance + 0.001
    card = (tmp_path / "m" / "README.md").read_text(encoding="utf-8")
    assert "bert, int8; it reads 96 tokens" in card
    assert "MIT" in card
    verify_bundle(tmp_path / "m")


def test_the_tokenizer_may_shorten_the_input(bert: Path, tmp_path: Path) -> None:
    source = copy(bert, tmp_path / "short")
    settings = json.loads((source / "tokenizer_config.json").read_text(encoding="utf-8"))
    settings["model_max_length"] = 64
    (source / "tokenizer_config.json").write_text(json.dumps(settings), encoding="utf-8")

    scorer = import_to(source, tmp_path / "m")

    expected = score_with_transformers(source, limit=64)
    np.testing.assert_allclose(scorer.score(QUESTION, TEXTS), expected, atol=1e-4)


@pytest.mark.parametrize(
    "stated",
    [
        {"sentence_transformers": {"activation_fn": "torch.nn.modules.activation.Sigmoid"}},
        {"sbert_ce_default_activation_function": "torch.nn.modules.activation.Sigmoid"},
        {"activation_fn": "Sigmoid"},
    ],
)
def test_an_activation_is_kept(bert: Path, tmp_path: Path, stated: dict[str, Any]) -> None:
    scorer = import_to(copy(bert, tmp_path / "tiny", **stated), tmp_path / "m", int8=True)

    logits = scorer.get_logits(QUESTION, TEXTS)
    np.testing.assert_allclose(scorer.score(QUESTION, TEXTS), 1 / (1 + np.exp(-logits)))


@pytest.mark.parametrize("int8", [False, True])
def test_a_title_and_headings_are_read_before_the_candidate(
    bert: Path, tmp_path: Path, int8: bool
) -> None:
    scorer = import_to(bert, tmp_path / "m", context="prefix", int8=int8)

    manifest = open_bundle(tmp_path / "m").manifest
    assert manifest.config["context"]["form"] == "prefix"
    expected = score_with_transformers(bert, [*TEXTS, *(f"{TOPIC} {text}" for text in TEXTS)])
    found = scorer.score(QUESTION, [*TEXTS, *TITLED])
    np.testing.assert_allclose(found, expected, atol=manifest.tolerance)
    assert (found[:2] != found[4:6]).all()
    verify_bundle(tmp_path / "m")
    model, tokenizer = reopen_selector(tmp_path / "m")
    again = SelectorTorchScorer(model, tokenizer).score(QUESTION, [*TEXTS, *TITLED])
    np.testing.assert_allclose(again, found, atol=manifest.tolerance)


def test_a_bundle_without_context_says_nothing_of_it(bert: Path, tmp_path: Path) -> None:
    scorer = import_to(bert, tmp_path / "m")

    assert "context" not in open_bundle(tmp_path / "m").manifest.config
    np.testing.assert_array_equal(scorer.score(QUESTION, TITLED), scorer.score(QUESTION, TEXTS))


@pytest.mark.parametrize("form", ["headings", "title", "local"])
def test_a_context_that_needs_training_is_refused(form: str) -> None:
    with pytest.raises(UnknownNameError, match=rf"form of context '{form}'.* known: none, prefix"):
        ImportOptions("source", "m", context=form)


def test_training_continues_from_it(bert: Path, tmp_path: Path) -> None:
    source = copy(bert, tmp_path / "tiny", activation_fn="Sigmoid")
    scorer = import_to(source, tmp_path / "m")

    model, _ = reopen_selector(tmp_path / "m")

    (feed,) = scorer.read(QUESTION, [Candidate("a", TEXTS[0])])
    given = {name: torch.from_numpy(value) for name, value in feed.items()}
    with torch.no_grad():
        assert model.eval()(**given).item() == pytest.approx(scorer.run(feed), abs=1e-4)


def test_an_encoder_without_a_head_becomes_a_sentence_encoder(tmp_path: Path) -> None:
    source = write_pretrained(tmp_path / "tiny", "bert")

    import_to(source, tmp_path / "m")

    assert open_bundle(tmp_path / "m").manifest.kind == "transformer-encoder"
    with pytest.raises(InputError, match=r"tiny: has no scoring head \(BertModel\)"):
        import_to(source, tmp_path / "n", kind="selector")
    with pytest.raises(UnknownNameError, match="known: selector, sentence-encoder"):
        ImportOptions(str(source), tmp_path, kind="ranker")


def test_a_cross_encoder_can_become_a_sentence_encoder(bert: Path, tmp_path: Path) -> None:
    import_to(bert, tmp_path / "m", kind="sentence-encoder", int8=False)

    manifest = open_bundle(tmp_path / "m", kind="transformer-encoder").manifest
    assert manifest.precision == "fp32"


def save_as_pickle(folder: Path) -> None:
    (folder / "model.safetensors").unlink()
    (folder / "pytorch_model.bin").write_bytes(b"\x80\x04.")


def spoil(name: str, content: bytes = b"spoilt") -> Any:
    return lambda folder: (folder / name).write_bytes(content)


def truncate(folder: Path) -> None:
    whole = (folder / "model.safetensors").read_bytes()
    (folder / "model.safetensors").write_bytes(whole[: len(whole) // 2])


def drop_head(folder: Path) -> None:
    from safetensors.torch import load_file, save_file

    path = folder / "model.safetensors"
    kept = {key: item for key, item in load_file(path).items() if "classifier" not in key}
    save_file(kept, path, metadata={"format": "pt"})


def state_a_list_of_lengths(folder: Path) -> None:
    path = folder / "tokenizer_config.json"
    settings = json.loads(path.read_text(encoding="utf-8"))
    path.write_text(json.dumps({**settings, "model_max_length": [64]}), encoding="utf-8")


@pytest.mark.parametrize(
    ("change", "settings", "problem"),
    [
        (save_as_pickle, {}, r"only pytorch_model\.bin, a pickle file; save it with"),
        (None, {"model_type": "gpt2"}, r"architecture 'gpt2' is not supported; supported: bert,"),
        (None, {"model_type": "t5", "is_encoder_decoder": True}, r"generative model"),
        (None, {"architectures": ["BertLMHeadModel"]}, r"is a generative model \(bert\)"),
        (None, {"architectures": [5]}, r"architectures .* must be a list of names"),
        (None, {"id2label": {"0": "a", "1": "b"}}, r"its head has 2 labels; .* has one"),
        (None, {"vocab_size": 50}, r"cannot be loaded as an encoder|its tokenizer has"),
        (None, {"activation_fn": "torch.nn.ReLU"}, r"ReLU is not supported; .* sigmoid"),
        (spoil("tokenizer.json"), {}, r"cannot"),
        (spoil("config.json"), {}, r"cannot be loaded"),
        (spoil("model.safetensors"), {}, r"cannot be loaded"),
        (truncate, {}, r"cannot be loaded"),
        (state_a_list_of_lengths, {}, r"model_max_length of its tokenizer is no number"),
        (drop_head, {}, r"its weights lack 2 tensors of this architecture, such as classifier"),
    ],
)
def test_what_cannot_be_imported_is_refused_in_one_line(
    bert: Path, tmp_path: Path, change: Any, settings: dict[str, Any], problem: str
) -> None:
    source = copy(bert, tmp_path / "tiny", **settings)
    if change:
        change(source)

    with pytest.raises(RejoinderError, match=problem) as caught:
        import_to(source, tmp_path / "m", kind="selector")

    assert "tiny" in str(caught.value)
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "m").exists()


def test_int8_that_fails_the_gate_is_not_written(
    bert: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(agreement, "MAX_DIFFERENCE", {"fp32": 1e-4, "int8": 1e-5})

    with pytest.raises(BundleError, match=r"nothing was written; export in fp32 \(--no-int8\)"):
        import_to(bert, tmp_path / "m", int8=True)

    assert not (tmp_path / "m").exists()
