"""An imported cross-encoder works wherever a scorer is given."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

torch = pytest.importorskip("torch")
pytest.importorskip("onnxruntime")
pytest.importorskip("tokenizers")

from tests.models.foreign import write_onnx  # noqa: E402
from tests.models.pretrained import write_pretrained  # noqa: E402
from tests.models.selectors import write_encoder  # noqa: E402

from rejoinder.bundle.folder import open_bundle  # noqa: E402
from rejoinder.cli import main  # noqa: E402
from rejoinder.models.registry import open_scorer  # noqa: E402
from rejoinder.models.selector.context import ContextConfig  # noqa: E402
from rejoinder.models.selector.scorer import open_similarity  # noqa: E402
from rejoinder.models.selector.similarity import Cosine  # noqa: E402


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(main, [*map(str, arguments)])


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("source") / "tiny"
    return write_pretrained(folder, "bert", "AutoModelForSequenceClassification")


@pytest.fixture(scope="module")
def onnx(source: Path) -> Path:
    return write_onnx(source, source.parent / "onnx")


def test_from_import_to_an_answer(source: Path, dataset: Path, tmp_path: Path) -> None:
    bundle, cascade, index = (tmp_path / name for name in ("m", "c.toml", "index"))
    (tmp_path / "lines.txt").write_text("The ice is here.\nIt rained.\n", encoding="utf-8")

    imported = run("models", "import", source, "--to", bundle, "--int8", "--licence", "MIT")
    assert imported.exit_code == 0, imported.output
    shown = imported.stderr.splitlines()
    assert shown[-3] == "selector, int8, 96 tokens"
    assert shown[-2].startswith("int8 against fp32: pairs 165, spearman 0.9")
    assert shown[-1] == f"wrote {bundle}"
    assert run("models", "verify", bundle).exit_code == 0

    stages = ("--scorer", "jaccard", "--scorer", bundle)
    tuned = run("tune", dataset, *stages, "--budget-ms", "1000", "--to", cascade)
    assert tuned.exit_code == 0, tuned.output
    file = '[[stage]]\nscorer = "jaccard"\nkeep = 2\n\n[[stage]]\nscorer = "m"\n'
    cascade.write_text(file, encoding="utf-8")
    more = tmp_path / "more.jsonl"
    more.write_text(4 * dataset.read_text(encoding="utf-8"), encoding="utf-8")
    calibrated = run("calibrate", cascade, more, "--unanswerable", "0.5")
    assert calibrated.exit_code == 0, calibrated.output

    run("index", "add", tmp_path / "lines.txt", "--index", index)
    asked = run(
        *("ask", "where is the ice?", "--index", index, "--scorer", cascade),
        *("--budget-ms", "5000", "--json"),
    )
    assert asked.exit_code == 0, asked.output
    result = json.loads(asked.stdout)
    assert [stage["scorer"] for stage in result["trace"]] == ["jaccard", "m"]
    assert 0 <= result["confidence"] <= 1


def test_a_folder_with_onnx_ranks_without_import(onnx: Path, tmp_path: Path) -> None:
    (tmp_path / "lines.txt").write_text("The ice is here.\nIt rained.\n", encoding="utf-8")

    ranked = run("rank", "where is the ice?", tmp_path / "lines.txt", "--scorer", onnx, "--json")

    assert ranked.exit_code == 0, ranked.output
    assert "The ice is here." in ranked.stdout
    imported = run("models", "import", onnx, "--to", tmp_path / "m")
    assert imported.exit_code == 0, imported.output
    assert imported.stderr.splitlines() == [
        "selector, fp32, 96 tokens",
        f"wrote {tmp_path / 'm'}",
    ]


@pytest.mark.parametrize("kind", ["safetensors", "onnx"])
def test_titles_and_headings_are_read_as_a_prefix(
    source: Path, onnx: Path, tmp_path: Path, kind: str
) -> None:
    given = source if kind == "safetensors" else onnx
    guide = "# Cold ice\n\n## Deep caves\n\nThe river is here in winter.\n"
    (tmp_path / "guide.md").write_text(guide, encoding="utf-8")
    run("index", "add", tmp_path / "guide.md", "--index", tmp_path / "index")

    for name, form in (("p", "prefix"), ("n", "none")):
        imported = run("models", "import", given, "--context", form, "--to", tmp_path / name)
        assert imported.exit_code == 0, imported.output

    forms = [
        open_bundle(tmp_path / name).manifest.config.get("context", {}).get("form")
        for name in ("p", "n")
    ]
    assert forms == ["prefix", None]
    scores = []
    for name in ("p", "n"):
        asked = run(
            *("ask", "where is the river", "--index", tmp_path / "index"),
            *("--scorer", tmp_path / name, "--json"),
        )
        assert asked.exit_code == 0, asked.output
        (answer,) = json.loads(asked.stdout)["answers"]
        scores.append(answer["score"])
    prefixed = "Cold ice. Deep caves. The river is here in winter."
    texts = [prefixed, "The river is here in winter."]
    expected = open_scorer(tmp_path / "n").score("where is the river", texts)
    assert scores == pytest.approx(expected, abs=1e-5)
    assert scores[0] != scores[1]


def test_training_continues_from_weights_and_not_from_onnx(
    source: Path, onnx: Path, dataset: Path, tmp_path: Path
) -> None:
    run("models", "import", source, "--to", tmp_path / "m")
    run("models", "import", onnx, "--to", tmp_path / "o")
    before = open_bundle(tmp_path / "m").manifest

    trained = run("train", "selector", dataset, "--from", tmp_path / "m", "--to", tmp_path / "n")
    refused = run("train", "selector", dataset, "--from", tmp_path / "o", "--to", tmp_path / "p")

    assert trained.exit_code == 0, trained.output
    after = open_bundle(tmp_path / "n", kind="selector").manifest
    assert after.config["recipe"] == "classifier"
    assert after.files["model.onnx"] != before.files["model.onnx"]
    assert refused.exit_code == 1
    assert "was imported from ONNX, which training cannot continue" in refused.stderr
    assert not (tmp_path / "p").exists()


def test_context_is_found_with_the_encoder_that_is_named(
    dataset: Path, encoder: Path, tmp_path: Path
) -> None:
    second = write_encoder(tmp_path / "second", width=64)
    start = ("train", "selector", dataset, "--encoder", encoder, "--to", tmp_path / "m")
    assert run(*start, "--epochs", "1").exit_code == 0

    result = run(
        *("train", "selector", dataset, "--from", tmp_path / "m", "--encoder", second),
        *("--context", "global", "--similarity", "encoder", "--epochs", "1"),
        *("--to", tmp_path / "n"),
    )

    assert result.exit_code == 0, result.output
    bundle = open_bundle(tmp_path / "n")
    similarity = open_similarity(ContextConfig(**bundle.manifest.config["context"]), bundle)
    assert isinstance(similarity, Cosine)
    assert similarity.width == 64


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["./nowhere"], "nowhere: no such folder"),
        (["nowhere.onnx"], "nowhere.onnx: no such file"),
        (["SOURCE/config.json"], "is no ONNX file; give the folder of a model"),
        (["SOURCE", "--as", "ranker"], "'ranker' is not one of 'selector', 'sentence-encoder'"),
        (["SOURCE", "--context", "title"], "'title' is not one of 'none', 'prefix'"),
    ],
)
def test_what_cannot_be_imported_is_one_line(
    source: Path, tmp_path: Path, arguments: list[str], problem: str
) -> None:
    given = [argument.replace("SOURCE", str(source)) for argument in arguments]

    result = run("models", "import", *given, "--to", tmp_path / "m")

    assert result.exit_code in (1, 2)
    assert problem in result.stderr.splitlines()[-1]
    assert not (tmp_path / "m").exists()
