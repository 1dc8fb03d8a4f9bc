"""HAS from the command line: train, store, ask."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

torch = pytest.importorskip("torch")
pytest.importorskip("onnxruntime")

from rejoinder.bundle.folder import open_bundle  # noqa: E402
from rejoinder.cli import main  # noqa: E402


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(main, [*map(str, arguments)])


def test_train_store_and_ask(dataset: Path, encoder: Path, tmp_path: Path) -> None:
    docs = tmp_path / "docs"
    docs.mkdir()
    (docs / "ice.txt").write_text("The ice is here. It rained in winter.", encoding="utf-8")
    bundle, index = tmp_path / "has", tmp_path / "index"
    options: list[str | Path] = [
        "--encoder",
        encoder,
        "--epochs",
        "2",
        "--dev",
        dataset,
        "--keep-best",
    ]

    trained = run("train", "has", dataset, "--to", bundle, *options, "--no-int8")
    added = run("index", "add", docs, "--index", index, "--sidecar", bundle)
    cascade = tmp_path / "c.toml"
    cascade.write_text(
        '[[stage]]\nscorer = "bm25"\nkeep = 5\n[[stage]]\nscorer = "has"\nmissing = "leave"\n'
    )
    asked = run("ask", "where is the ice?", "--index", index, "--scorer", cascade, "--json")

    assert trained.exit_code == 0, trained.output
    assert "of bits differ" in trained.stdout
    assert " MAP " in trained.stdout
    assert open_bundle(bundle).manifest.training["kept"] == "best epoch on dev"
    assert added.exit_code == 0, added.output
    assert asked.exit_code == 0, asked.output
    stages = json.loads(asked.stdout)["trace"]
    assert [(stage["scorer"], stage["scored"]) for stage in stages] == [("bm25", 2), ("has", 2)]


def test_the_best_epoch_is_chosen_by_the_given_measure(
    dataset: Path, encoder: Path, tmp_path: Path
) -> None:
    bundle, log = tmp_path / "has", tmp_path / "curve.jsonl"
    options: list[str | Path] = ["--epochs", "2", "--dev", dataset, "--keep-best", "--log", log]
    options += ["--encoder", encoder, "--best-by", "P@1", "--max-tokens", "12", "--no-int8"]

    trained = run("train", "has", dataset, "--to", bundle, *options)

    assert trained.exit_code == 0, trained.output
    epochs = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]
    assert [[*epoch["dev"]] for epoch in epochs] == [["P@1"]] * 2
    manifest = open_bundle(bundle).manifest
    assert manifest.training["best_by"] == "P@1"
    assert manifest.config["max_tokens"] == 12


def test_later_additions_are_stored_unasked(dataset: Path, encoder: Path, tmp_path: Path) -> None:
    docs = tmp_path / "docs"
    docs.mkdir()
    (docs / "ice.txt").write_text("The ice is here.", encoding="utf-8")
    bundle, index = tmp_path / "has", tmp_path / "index"
    run("train", "has", dataset, "--to", bundle, "--encoder", encoder, "--epochs", "1")
    run("index", "add", docs, "--index", index, "--sidecar", bundle)
    (docs / "rock.txt").write_text("The rock is here.", encoding="utf-8")

    run("index", "add", docs, "--index", index)
    checked = run("index", "check", "--index", index)
    bundle.rename(tmp_path / "elsewhere")
    (docs / "cave.txt").write_text("The cave is here.", encoding="utf-8")
    added = run("index", "add", docs, "--index", index)

    assert checked.exit_code == 0, checked.output
    assert added.exit_code == 0
    assert "new documents are not stored" in added.stderr
    assert "1 documents are missing" in run("index", "check", "--index", index).stderr


def test_another_bundle_in_the_place_of_the_first_takes_nothing_over_unasked(
    dataset: Path, encoder: Path, tmp_path: Path
) -> None:
    docs = tmp_path / "docs"
    docs.mkdir()
    (docs / "ice.txt").write_text("The ice is here.", encoding="utf-8")
    bundle, index = tmp_path / "has", tmp_path / "index"
    options: list[str | Path] = ["--encoder", encoder, "--epochs", "1"]
    run("train", "has", dataset, "--to", bundle, *options)
    run("index", "add", docs, "--index", index, "--sidecar", bundle)
    (stored,) = index.glob("sidecar/answers-*")
    bundle.rename(tmp_path / "first")
    run("train", "has", dataset, "--to", bundle, *options, "--seed", "1")

    unasked = run("index", "compact", "--index", index)
    assert unasked.exit_code == 0, unasked.output
    assert "is another bundle now" in unasked.stderr
    assert [*index.glob("sidecar/answers-*")] == [stored]

    asked = run("index", "add", docs, "--index", index, "--sidecar", bundle)
    assert asked.exit_code == 0, asked.output
    assert [*index.glob("sidecar/answers-*")] != [stored]


def test_a_bundle_of_another_kind_is_refused_before_anything_is_added(tmp_path: Path) -> None:
    result = run("index", "add", tmp_path, "--index", tmp_path / "i", "--sidecar", tmp_path)

    assert result.exit_code == 1
    assert "not a bundle" in result.stderr
    assert not (tmp_path / "i").exists()
