"""Models that come as ONNX: opened where they are, imported, and refused."""

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("onnxruntime")
pytest.importorskip("onnx")

from rejoinder.bundle.folder import open_bundle  # noqa: E402
from rejoinder.cascade.loading import load  # noqa: E402
from rejoinder.errors import BundleError, InputError, MissingExtraError, RejoinderError  # noqa: E402
from rejoinder.models.importing import ImportOptions, import_model  # noqa: E402
from rejoinder.models.registry import open_sentence_encoder, verify_bundle  # noqa: E402
from rejoinder.models.selector import agreement  # noqa: E402
from rejoinder.models.selector.export import reopen_selector  # noqa: E402
from rejoinder.models.sentence_encoder.transformer import TransformerEncoder  # noqa: E402
from tests.models.foreign import add_input, add_labels, cast, write_onnx  # noqa: E402
from tests.models.pretrained import write_pretrained  # noqa: E402
from tests.models.test_importing import (  # noqa: E402
    CLASSIFIER,
    QUESTION,
    TEXTS,
    TITLED,
    TOPIC,
    copy,
    score_with_transformers,
)


@pytest.fixture(scope="module")
def bert(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_pretrained(tmp_path_factory.mktemp("torch") / "bert", "bert", CLASSIFIER)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, bert: Path) -> Path:
    return write_onnx(bert, tmp_path_factory.mktemp("onnx") / "tiny")


@pytest.fixture(scope="module")
def states(tmp_path_factory: pytest.TempPathFactory, bert: Path) -> Path:
    source = copy(bert, tmp_path_factory.mktemp("states") / "bert", architectures=["BertModel"])
    return write_onnx(source, source.parent / "states", "last_hidden_state")


def import_to(source: Path, to: Path, **options: Any) -> Any:
    import_model(ImportOptions(str(source), to, **options), command="rejoinder …")
    return load(to)


def test_a_folder_is_opened_where_it_is(bert: Path, folder: Path, tmp_path: Path) -> None:
    moved = copy(folder, tmp_path / "moved")
    (moved / "onnx").mkdir()
    (moved / "model.onnx").rename(moved / "onnx" / "model_quantized.onnx")

    expected = score_with_transformers(bert)

    for place in (folder, folder / "model.onnx", moved, moved / "onnx" / "model_quantized.onnx"):
        np.testing.assert_allclose(load(place).score(QUESTION, TEXTS), expected, atol=1e-4)


def test_a_folder_is_a_stage_of_a_cascade(folder: Path, tmp_path: Path) -> None:
    copy(folder, tmp_path / "tiny")
    stages = '[[stage]]\nscorer = "bm25"\nkeep = 2\n\n[[stage]]\nscorer = "tiny"\n'
    (tmp_path / "c.toml").write_text(stages, encoding="utf-8")

    assert len(load(tmp_path / "c.toml").score(QUESTION, TEXTS)) == len(TEXTS)


@pytest.mark.parametrize("int8", [False, True])
def test_an_imported_network_reads_a_title_and_headings_before_the_candidate(
    bert: Path, folder: Path, tmp_path: Path, int8: bool
) -> None:
    scorer = import_to(folder, tmp_path / "m", context="prefix", int8=int8)

    manifest = open_bundle(tmp_path / "m").manifest
    assert manifest.config["context"] == {"form": "prefix"}
    assert manifest.precision == ("int8" if int8 else "fp32")
    tolerance = manifest.tolerance if int8 else 1e-4
    expected = score_with_transformers(bert, [*TEXTS, *(f"{TOPIC} {text}" for text in TEXTS)])
    found = scorer.score(QUESTION, [*TEXTS, *TITLED])
    np.testing.assert_allclose(found, expected, atol=tolerance)
    assert (found[:2] != found[4:6]).all()
    plain = import_to(folder, tmp_path / "plain")
    assert "context" not in open_bundle(tmp_path / "plain").manifest.config
    np.testing.assert_array_equal(plain.score(QUESTION, TITLED), plain.score(QUESTION, TEXTS))


def test_an_imported_network_scores_as_before(bert: Path, folder: Path, tmp_path: Path) -> None:
    scorer = import_to(folder, tmp_path / "m", licence="MIT")

    scores = scorer.score(QUESTION, TEXTS)
    np.testing.assert_allclose(scores, score_with_transformers(bert), atol=1e-4)
    manifest = open_bundle(tmp_path / "m", kind="selector").manifest
    assert (manifest.precision, manifest.config["max_tokens"]) == ("fp32", 96)
    assert manifest.training["from"] == "tiny"
    assert "MIT" in (tmp_path / "m" / "README.md").read_text(encoding="utf-8")
    verify_bundle(tmp_path / "m")
    with pytest.raises(BundleError, match=r"was imported from ONNX.* import the folder with its"):
        reopen_selector(tmp_path / "m")


def test_int8_says_what_it_costs(folder: Path, tmp_path: Path) -> None:
    scorer = import_to(folder, tmp_path / "m", int8=True)

    manifest = open_bundle(tmp_path / "m").manifest
    assert manifest.precision == "int8"
    assert manifest.scores[agreement.AGREEMENT]["spearman"] > 0.98
    whole = load(folder).score(QUESTION, TEXTS)
    np.testing.assert_allclose(scorer.score(QUESTION, TEXTS), whole, atol=manifest.tolerance)
    assert scorer.score(QUESTION, TEXTS).tolist() != whole.tolist()


def test_a_quantised_network_is_kept(folder: Path, tmp_path: Path) -> None:
    import_to(folder, tmp_path / "m", int8=True)
    other = copy(folder, tmp_path / "quantised")
    shutil.copy(tmp_path / "m" / "model.onnx", other)

    import_to(other, tmp_path / "n", int8=True)

    first, second = (open_bundle(tmp_path / name).manifest for name in "mn")
    assert second.precision == "int8"
    assert first.files["model.onnx"] == second.files["model.onnx"]
    assert second.scores == {}


def test_int8_that_fails_the_gate_is_not_written(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(agreement, "MIN_CORRELATION", 1.01)

    with pytest.raises(BundleError, match=r"nothing was written; export in fp32 \(--no-int8\)"):
        import_to(folder, tmp_path / "m", int8=True)

    assert not (tmp_path / "m").exists()


def test_inputs_of_32_and_outputs_of_16_bits(folder: Path, tmp_path: Path) -> None:
    other = copy(folder, tmp_path / "cast")
    (other / "model.onnx").write_bytes(cast((folder / "model.onnx").read_bytes()))

    scores = load(other).score(QUESTION, TEXTS)

    np.testing.assert_allclose(scores, load(folder).score(QUESTION, TEXTS), atol=5e-3)
    assert scores.dtype == np.float64


def test_an_activation_and_a_maximum_length_are_read(folder: Path, tmp_path: Path) -> None:
    other = copy(folder, tmp_path / "tiny", activation_fn="torch.nn.Sigmoid")
    settings = json.dumps({"model_max_length": 32})
    (other / "tokenizer_config.json").write_text(settings, encoding="utf-8")

    scorer = load(other)

    logits = load(folder).score(QUESTION, TEXTS)
    np.testing.assert_allclose(scorer.score(QUESTION, TEXTS)[:3], 1 / (1 + np.exp(-logits[:3])))
    import_to(other, tmp_path / "m")
    assert open_bundle(tmp_path / "m").manifest.config["max_tokens"] == 32


def test_without_settings_it_reads_512_tokens(folder: Path, tmp_path: Path) -> None:
    other = copy(folder, tmp_path / "bare")
    for name in ("config.json", "tokenizer_config.json"):
        (other / name).unlink(missing_ok=True)

    import_to(other, tmp_path / "m")

    assert open_bundle(tmp_path / "m", kind="selector").manifest.config["max_tokens"] == 512


def test_nothing_heavy_is_imported(folder: Path, tmp_path: Path) -> None:
    code = (
        "import sys\n"
        "from rejoinder.cascade.loading import load\n"
        "from rejoinder.models.importing import ImportOptions, import_model\n"
        f"import_model(ImportOptions({str(folder)!r}, {str(tmp_path / 'm')!r}))\n"
        f"load({str(folder)!r}).score('tea?', ['ice'])\n"
        "print([n for n in ('torch', 'transformers', 'onnx', 'tokenizers') if n in sys.modules])"
    )

    result = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)

    assert result.stdout.strip() == b"[]"


def test_a_network_of_states_is_refused_as_a_selector(states: Path, tmp_path: Path) -> None:
    problem = (
        r"model\.onnx has no scoring head: its output 'last_hidden_state' has the shape"
        r" \(\d+, 64\); import it with `rejoinder models import --as sentence-encoder`"
    )
    with pytest.raises(BundleError, match=problem):
        load(states)
    with pytest.raises(BundleError, match=problem):
        import_to(states, tmp_path / "m", kind="selector")
    assert not (tmp_path / "m").exists()


def change(name: str, content: Any) -> Any:
    """Return a function that changes a file of a folder: by a function, or to other bytes."""

    def apply(folder: Path) -> None:
        path = folder / name
        path.write_bytes(content(path.read_bytes()) if callable(content) else content)

    return apply


def add_tokens(content: bytes) -> bytes:
    settings = json.loads(content)
    pieces = settings["model"]["vocab"]
    pieces |= {f"more{number}": len(pieces) + number for number in range(100)}
    return json.dumps(settings).encode()


def add_network(folder: Path) -> None:
    (folder / "onnx").mkdir()
    shutil.copy(folder / "model.onnx", folder / "onnx" / "model_fp16.onnx")


def keep_weights_outside(folder: Path) -> None:
    import onnx

    model = onnx.load(folder / "model.onnx")
    for item in model.graph.initializer:
        item.ClearField("data_location")
    onnx.save(
        *(model, folder / "model.onnx"),
        save_as_external_data=True,
        location="model.onnx_data",
        size_threshold=0,
    )


@pytest.mark.parametrize(
    ("spoil", "problem"),
    [
        (change("model.onnx", b"no network"), r"cannot be run: .* export model\.onnx again"),
        (
            change("model.onnx", lambda whole: whole[: len(whole) // 2]),
            r"model\.onnx cannot be run",
        ),
        (change("model.onnx", b""), r"model\.onnx cannot be run"),
        (change("model.onnx", add_labels), r"gives 3 labels; a cross-encoder that ranks has one"),
        (change("model.onnx", add_input), r"cannot be run: .*position_ids"),
        (change("tokenizer.json", b"no JSON"), r"tokenizer\.json.* cannot use"),
        (change("tokenizer.json", b"\xff"), r"tokenizer\.json"),
        (change("tokenizer.json", b"[]"), r"tokenizer\.json"),
        (change("tokenizer.json", b"[" * 100_000), r"tokenizer\.json"),
        (change("tokenizer.json", add_tokens), r"model\.onnx cannot be run: .*"),
        (change("config.json", b"no JSON"), r"config\.json: cannot be read as JSON"),
        (change("config.json", b"[]"), r"config\.json: holds no JSON object"),
        (lambda folder: (folder / "tokenizer.json").unlink(), r"there is no tokenizer\.json"),
        (add_network, r"several networks \(model\.onnx, onnx/model_fp16\.onnx\); give the path"),
        (keep_weights_outside, r"as one file without model\.onnx_data"),
    ],
)
def test_what_cannot_be_run_is_refused_in_one_line(
    folder: Path, tmp_path: Path, spoil: Any, problem: str
) -> None:
    other = copy(folder, tmp_path / "tiny")
    spoil(other)

    with pytest.raises(RejoinderError, match=problem) as caught:
        load(other)
    with pytest.raises(RejoinderError, match=problem):
        import_to(other, tmp_path / "m")

    assert "\n" not in str(caught.value)
    assert "tiny" in str(caught.value)
    assert not (tmp_path / "m").exists()


def test_a_missing_library_is_named(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in ("onnx", "rejoinder.models.encoders.onnx_int8"):
        monkeypatch.setitem(sys.modules, module, None)

    with pytest.raises(MissingExtraError, match=r"--int8 needs .*rejoinder\[encoders\]"):
        import_to(folder, tmp_path / "m", int8=True)

    monkeypatch.setitem(sys.modules, "tokenizers", None)
    other = copy(folder, tmp_path / "cased")
    content = (other / "tokenizer.json").read_text(encoding="utf-8")
    spoilt = content.replace('"lowercase":true', '"lowercase":false')
    spoilt = spoilt.replace('"lowercase": true', '"lowercase": false')
    assert spoilt != content
    (other / "tokenizer.json").write_text(spoilt, encoding="utf-8")
    with pytest.raises(MissingExtraError, match=r"rejoinder\[encoders\]"):
        load(other)
    assert not (tmp_path / "m").exists()


def encode_with_torch(folder: Path, text: str, pooling: str) -> Any:
    from transformers import AutoModel, AutoTokenizer

    inputs = AutoTokenizer.from_pretrained(folder)(text, return_tensors="pt")
    with torch.no_grad():
        states = AutoModel.from_pretrained(folder).eval()(**inputs).last_hidden_state[0].numpy()
    vector = states[0] if pooling == "first" else states.mean(axis=0)
    return vector / np.linalg.norm(vector)


@pytest.mark.parametrize("pooling", ["mean", "first"])
@pytest.mark.parametrize("int8", [False, True])
def test_states_are_pooled(
    bert: Path, states: Path, tmp_path: Path, pooling: str, int8: bool
) -> None:
    import_to(states, tmp_path / "m", pooling=pooling, int8=int8)

    encoder = open_sentence_encoder(tmp_path / "m")
    assert isinstance(encoder, TransformerEncoder)
    least = 0.98 if int8 else 0.9999
    for text in TEXTS[:3]:
        assert encoder.encode(text) @ encode_with_torch(bert, text, pooling) > least
    np.testing.assert_allclose(np.linalg.norm(encoder.encode("ice")), 1, atol=1e-6)
    manifest = open_bundle(tmp_path / "m").manifest
    assert manifest.precision == ("int8" if int8 else "fp32")
    assert bool(manifest.scores) is int8


def test_poolings_have_hashes_of_their_own(states: Path, tmp_path: Path) -> None:
    for pooling in ("mean", "first"):
        import_to(states, tmp_path / pooling, pooling=pooling)

    first, second = (open_sentence_encoder(tmp_path / name).hash for name in ("mean", "first"))
    assert first != second


def test_padding_is_not_pooled(states: Path, tmp_path: Path) -> None:
    from rejoinder.models.onnx_session import Runtime
    from tests.models.static_encoders import make_passage

    import_to(states, tmp_path / "m")
    bundle = open_bundle(tmp_path / "m")
    passages = [make_passage(text) for text in TEXTS[:3]]

    batched = TransformerEncoder(bundle, Runtime(batch=3)).encode_passages("", passages)

    alone = TransformerEncoder(bundle).encode_passages("", passages)
    np.testing.assert_allclose(batched, alone, atol=1e-5)


def write_json(path: Path, content: Any) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(content), encoding="utf-8")


@pytest.mark.parametrize("weights", ["onnx", "safetensors"])
def test_pooling_and_prefix_are_those_of_sentence_transformers(
    bert: Path, states: Path, tmp_path: Path, weights: str
) -> None:
    source = copy(states if weights == "onnx" else bert, tmp_path / "tiny")
    write_json(
        source / "1_Pooling" / "config.json",
        {"pooling_mode_cls_token": True, "pooling_mode_mean_tokens": False, "include_prompt": True},
    )
    write_json(source / "config_sentence_transformers.json", {"prompts": {"query": "ask: "}})
    write_json(
        source / "modules.json",
        [{"type": f"sentence_transformers.models.{n}"} for n in ("Transformer", "Pooling")],
    )

    import_to(source, tmp_path / "m", kind="sentence-encoder")
    import_to(source, tmp_path / "n", kind="sentence-encoder", pooling="mean", question_prefix="")

    config, given = (open_bundle(tmp_path / name).manifest.config for name in "mn")
    assert (config["pooling"], config["question_prefix"]) == ("first", "ask: ")
    assert (given["pooling"], given["question_prefix"]) == ("mean", "")


@pytest.mark.parametrize(
    ("name", "content", "problem"),
    [
        ("modules.json", [{"type": "a.Dense"}], r"pass through Dense, which is not supported"),
        ("modules.json", {}, r"modules\.json: holds no JSON list"),
        ("1_Pooling/config.json", {"pooling_mode_max_tokens": True}, r"pools by max_tokens"),
        ("modules.json", ["a.Dense"], r"an entry of its modules\.json is no object"),
        ("1_Pooling/config.json", {"pooling_mode": "lasttoken"}, r"pools by lasttoken"),
        ("config_sentence_transformers.json", {"prompts": ["ask: "]}, r"prompts .* no object"),
    ],
)
def test_other_vectors_of_sentence_transformers_are_refused(
    states: Path, tmp_path: Path, name: str, content: Any, problem: str
) -> None:
    source = copy(states, tmp_path / "tiny")
    write_json(source / name, content)

    with pytest.raises(InputError, match=problem):
        import_to(source, tmp_path / "m")
    assert not (tmp_path / "m").exists()


def test_an_index_is_told_to_import_first(states: Path, bert: Path) -> None:
    for source in (states, bert):
        with pytest.raises(BundleError, match=r"not a bundle.*`rejoinder models import` makes one"):
            open_sentence_encoder(source)
    with pytest.raises(BundleError, match=r"not a bundle.*`rejoinder models import` makes one"):
        load(bert)
