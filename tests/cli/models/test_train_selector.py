import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

torch = pytest.importorskip("torch")

from rejoinder.bundle.folder import open_bundle  # noqa: E402
from rejoinder.cli import main  # noqa: E402
from rejoinder.models.registry import open_scorer  # noqa: E402


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(main, [*map(str, arguments)])


def train(dataset: Path, target: Path, *arguments: str | Path) -> Result:
    return run("train", "selector", dataset, "--to", target, *arguments)


def test_transfer_then_adapt(dataset: Path, encoder: Path, tmp_path: Path) -> None:
    first = train(dataset, tmp_path / "general", "--encoder", encoder, "--dev", dataset)
    second = train(
        dataset,
        tmp_path / "adapted",
        *("--from", tmp_path / "general", "--epochs", "2", "--dev", dataset, "--json"),
    )

    assert first.exit_code == 0, first.output
    assert f"wrote {tmp_path / 'general'}" in first.stdout
    assert "MAP" in first.stdout
    assert second.exit_code == 0, second.output
    assert set(json.loads(second.stdout)["means"]) == {"P@1", "MAP", "MRR"}
    training = open_bundle(tmp_path / "adapted", kind="selector").manifest.training
    assert training["from"] == str(tmp_path / "general")
    assert (training["epochs"], training["steps"], training["loss"]) == (2, 2, "anchored")
    scores = open_scorer(tmp_path / "adapted").score("where is the ice?", ["the ice is here", "no"])
    assert scores.shape == (2,)


def test_a_selector_learns_from_feedback(encoder: Path, tmp_path: Path) -> None:
    docs, index = tmp_path / "docs.txt", tmp_path / "index"
    docs.write_text("The ice is here. The rock is here. It rained.", encoding="utf-8")
    run("index", "add", docs, "--index", index)
    run("feedback", "right", "where is the ice?", "The ice is here.", "--index", index)

    result = run(
        *("train", "selector", "--feedback", index, "--encoder", encoder, "--to", tmp_path / "m")
    )

    assert result.exit_code == 0, result.output
    training = open_bundle(tmp_path / "m", kind="selector").manifest.training
    assert training["data"] == [f"feedback of {index}"]


def test_context_is_added_and_two_selectors_form_an_ensemble(
    dataset: Path, encoder: Path, tmp_path: Path
) -> None:
    for form in ("local", "global"):
        result = train(dataset, tmp_path / form, "--encoder", encoder, "--context", form)
        assert result.exit_code == 0, result.output
    both = ("--from", tmp_path / "local", "--from", tmp_path / "global")

    joined = train(dataset, tmp_path / "both", *both, "--context", "ensemble")
    refused = train(dataset, tmp_path / "no", *both, "--context", "multi-way")
    again = train(dataset, tmp_path / "again", "--from", tmp_path / "local")

    assert joined.exit_code == 0, joined.output
    assert refused.exit_code == 1
    assert "only an ensemble starts from two selectors" in refused.output
    assert again.exit_code == 0, again.output
    forms = {
        name: open_bundle(tmp_path / name).manifest.config["context"]["form"]
        for name in ("both", "again")
    }
    assert forms == {"both": "ensemble", "again": "local"}


def test_pages_are_chosen_by_the_encoder_that_is_trained(
    dataset: Path, encoder: Path, tmp_path: Path
) -> None:
    own = ("--similarity", "own")
    first = train(dataset, tmp_path / "a", "--encoder", encoder, "--context", "global", *own)
    assert first.exit_code == 0, first.output
    plain = train(dataset, tmp_path / "plain", "--encoder", encoder)
    assert plain.exit_code == 0, plain.output

    second = train(
        dataset, tmp_path / "b", "--from", tmp_path / "plain", "--context", "global", *own
    )
    near = train(dataset, tmp_path / "c", "--from", tmp_path / "plain", "--context", "local", *own)
    assert near.exit_code == 0, near.output
    both = ("--from", tmp_path / "c", "--from", tmp_path / "b")
    joined = train(dataset, tmp_path / "both", *both, "--context", "ensemble", *own)

    assert second.exit_code == 0, second.output
    assert joined.exit_code == 0, joined.output
    named = {
        name: open_bundle(tmp_path / name).manifest.config["context"]["encoder"]
        for name in ("a", "b", "both")
    }
    start = str(tmp_path / "plain")
    assert named == {"a": str(encoder), "b": start, "both": start}
    # The second has the weights that training moved.
    files = {name: (tmp_path / name / "encoder.onnx").read_bytes() for name in named}
    assert files["a"] != files["b"] == files["both"]


def test_fewer_layers_in_full_precision(dataset: Path, encoder: Path, tmp_path: Path) -> None:
    target = tmp_path / "small"
    result = train(dataset, target, "--encoder", encoder, "--layers", "1", "--no-int8")

    assert result.exit_code == 0, result.output
    manifest = open_bundle(target).manifest
    assert (manifest.precision, manifest.config["architecture"]["num_hidden_layers"]) == ("fp32", 1)


@pytest.mark.parametrize(
    ("arguments", "status", "problem"),
    [
        (["--from", "nowhere"], 1, "nowhere: no such folder"),
        (["--encoder", "."], 1, "config.json"),
        (["--loss", "listwize"], 2, "'listwize' is not one of 'pointwise', 'pairwise', 'listwise'"),
    ],
)
def test_an_invalid_option_is_one_line(
    dataset: Path, tmp_path: Path, arguments: list[str], status: int, problem: str
) -> None:
    result = train(dataset, tmp_path / "m", *arguments)

    assert result.exit_code == status
    assert problem in result.stderr.splitlines()[-1]
    assert not (tmp_path / "m").exists()


def test_distil_then_adapt(dataset: Path, tmp_path: Path) -> None:
    small = tmp_path / "small"
    result = run(
        "distil", "word-overlap", dataset, "--to", small, "--dev", dataset, "--epochs", "1"
    )
    again = run("distil", "word-overlap", dataset, "--to", small, "--epochs", "1", "--json")
    adapted = run("train", "cosinet", dataset, "--from", small, "--to", tmp_path / "adapted")

    assert result.exit_code == 0, result.output
    assert "scoring with word-overlap" in result.stderr
    assert len((tmp_path / "small.teacher.jsonl").read_text().splitlines()) == 8  # questions
    assert again.exit_code == 0, again.output
    assert open_bundle(small, kind="cosinet").manifest.training["loss"] == "anchored"
    assert adapted.exit_code == 0, adapted.output


def test_weights_of_another_head_are_refused(dataset: Path, tmp_path: Path) -> None:
    run("train", "cosinet", dataset, "--head", "none", "--to", tmp_path / "m")
    result = run("train", "cosinet", dataset, "--from", tmp_path / "m", "--to", tmp_path / "n")

    assert result.exit_code == 1
    assert "its head is none, not birnn" in result.output
