from pathlib import Path

import pytest
from click.testing import CliRunner

torch = pytest.importorskip("torch")

from rejoinder.bundle.folder import open_bundle  # noqa: E402
from rejoinder.cli import main  # noqa: E402

TRAININGS = (
    "train cosinet DATA --to NEW",
    "train selector DATA --to NEW",
    "train has DATA --to NEW",
    "train static-vectors --to NEW",
    "train static-encoder DATA --teacher none --to NEW",
    "distil bm25 DATA --to NEW",
    "reproduce wikiqa",
    "reproduce context",
    "reproduce has",
)


@pytest.mark.parametrize("command", TRAININGS)
def test_every_training_refuses_a_device_that_is_not_there(
    command: str, dataset: Path, tmp_path: Path
) -> None:
    if torch.backends.mps.is_available():
        pytest.skip("this machine has it")
    places = {"DATA": str(dataset), "NEW": str(tmp_path / "new")}
    arguments = [places.get(word, word) for word in command.split()]

    result = CliRunner().invoke(main, [*arguments, "--device", "mps"])

    assert result.exit_code == 1
    problem = "Error: --device mps: this machine has no Apple GPU (MPS); use --device cpu"
    assert result.stderr.splitlines()[-1] == problem
    assert not list(tmp_path.glob("new*"))


def test_a_bundle_names_device_precision_and_processes(
    dataset: Path, encoder: Path, tmp_path: Path
) -> None:
    options = ["--device", "cpu", "--precision", "fp16", "--questions-at-once", "3"]
    start = ["--encoder", str(encoder), "--to", str(tmp_path / "m")]

    result = CliRunner().invoke(main, ["train", "selector", str(dataset), *start, *options])

    assert result.exit_code == 0, result.output
    training = open_bundle(tmp_path / "m").manifest.training
    names = ("device", "precision", "questions_at_once", "processes")
    assert [training[name] for name in names] == ["cpu", "fp16", 3, 1]
