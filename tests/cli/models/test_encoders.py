"""Sentence encoders from the command line: import, train, index, ask."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

torch = pytest.importorskip("torch")
pytest.importorskip("onnxruntime")

from tests.models.selectors import write_encoder  # noqa: E402

from rejoinder.bundle.folder import open_bundle  # noqa: E402
from rejoinder.cli import main  # noqa: E402


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(main, [*map(str, arguments)])


@pytest.fixture
def pretrained(tmp_path: Path) -> Path:
    return write_encoder(tmp_path / "pretrained", width=64)


def test_import_train_index_and_ask(dataset: Path, pretrained: Path, tmp_path: Path) -> None:
    teacher, static, index = (tmp_path / name for name in ("teacher", "static", "index"))
    docs = tmp_path / "docs.txt"
    docs.write_text("The ice is in the deep cave. It rained in winter.", encoding="utf-8")

    imported = run(
        *("models", "import", pretrained, "--to", teacher, "--pooling", "first"),
        *("--question-prefix", "who: ", "--licence", "MIT"),
    )
    assert imported.exit_code == 0, imported.output
    assert imported.stderr.splitlines()[-1] == f"wrote {teacher}"
    manifest = open_bundle(teacher, kind="transformer-encoder").manifest
    assert (manifest.config["pooling"], manifest.config["question_prefix"]) == ("first", "who: ")
    assert manifest.training["command"].startswith("rejoinder ")
    assert run("models", "verify", teacher).exit_code == 0

    trained = run(
        *("train", "static-encoder", dataset, "--teacher", teacher, "--to", static),
        *("--width", "64", "--epochs", "2", "--dev", dataset, "--json"),
    )
    assert trained.exit_code == 0, trained.output
    assert "8 questions, 9 sentences; the teacher's vectors are cached in" in trained.stderr
    assert set(json.loads(trained.stdout)["means"]) == {"P@1", "MAP", "MRR"}
    training = open_bundle(static, kind="static-encoder").manifest.training
    assert (training["epochs"], training["steps"], training["loss"]) == (2, 2, "distillation")
    assert run("models", "verify", static).exit_code == 0

    for encoder in (teacher, static):
        added = run("index", "add", docs, "--index", index, "--embed", encoder)
        assert added.exit_code == 0, added.output
        checked = run("index", "check", "--index", index)
        assert checked.exit_code == 0, checked.output
    asked = run("ask", "where is the ice?", "--index", index, "--json")
    assert asked.exit_code == 0, asked.output
    assert json.loads(asked.stdout)["answers"][0]["found_by"] == ["words", "meaning"]


@pytest.mark.parametrize(
    ("arguments", "status", "problem"),
    [
        (["nowhere/at-all", "--to", "m"], 1, "nowhere/at-all: cannot be loaded as an encoder"),
        ([".", "--to", "m"], 1, "not an encoder, it has no config.json"),
        ([".", "--to", "m", "--pooling", "max"], 2, "'max' is not one of 'mean', 'first'"),
        (["."], 2, "Missing option '--to'"),
    ],
)
def test_an_invalid_import_is_one_line(
    arguments: list[str],
    status: int,
    problem: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")

    result = run("models", "import", *arguments)

    assert result.exit_code == status
    assert problem in result.stderr.splitlines()[-1]
    assert not (tmp_path / "m").exists()


@pytest.mark.parametrize(
    ("arguments", "status", "problem"),
    [
        ([], 2, "Missing option '--teacher'"),
        (["--teacher", "nowhere"], 1, "nowhere: no such folder"),
        (["--teacher", "nowhere", "--width", "100"], 1, "width cannot be 100"),
        (["--teacher", "nowhere", "--width", "32"], 2, "32 is not in the range 64<=x<=1024"),
    ],
)
def test_an_invalid_training_is_one_line(
    arguments: list[str], status: int, problem: str, dataset: Path, tmp_path: Path
) -> None:
    result = run("train", "static-encoder", dataset, "--to", tmp_path / "m", *arguments)

    assert result.exit_code == status
    assert problem in result.stderr.splitlines()[-1]
    assert not (tmp_path / "m").exists()
