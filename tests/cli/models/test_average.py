"""`rejoinder models average` on tiny selectors."""

from pathlib import Path

import pytest
from click.testing import CliRunner, Result

torch = pytest.importorskip("torch")

from tests.models.selectors import TOKENIZER, make_selector  # noqa: E402

from rejoinder.bundle.folder import open_bundle  # noqa: E402
from rejoinder.cli import main  # noqa: E402
from rejoinder.models.selector.export import write_selector  # noqa: E402


def write(folder: Path, *, seed: int = 0, layers: int = 2) -> Path:
    model = make_selector(seed=seed, layers=layers)
    write_selector(folder, model, TOKENIZER, precision="fp32", training={"seed": seed}, sample=[])
    return folder


def average(*arguments: str | Path) -> Result:
    return CliRunner().invoke(main, ["models", "average", *map(str, arguments)])


def test_writes_a_bundle_that_scores(tmp_path: Path) -> None:
    trained, start = write(tmp_path / "trained", seed=2), write(tmp_path / "start", seed=1)
    target = tmp_path / "average"

    result = average(trained, start, "--share", "0.3", "--to", target)

    assert result.exit_code == 0, result.output
    assert (result.stdout, result.stderr) == ("", f"wrote {target}\n")
    training = open_bundle(target).manifest.training
    assert training["averaged"]["share"] == 0.3
    assert training["trained"] == {"seed": 2}
    assert CliRunner().invoke(main, ["models", "verify", str(target)]).exit_code == 0


def test_a_mistake_is_one_line_and_leaves_nothing(tmp_path: Path) -> None:
    trained, other = write(tmp_path / "trained"), write(tmp_path / "other", layers=1)
    target = tmp_path / "average"

    different = average(trained, other, "--to", target)
    missing = average(trained, tmp_path / "nowhere", "--to", target)
    wrong_share = average(trained, trained, "--share", "1.5", "--to", target)

    assert different.exit_code == missing.exit_code == 1
    assert "different networks" in different.stderr
    assert str(tmp_path / "nowhere") in missing.stderr
    assert len(missing.stderr.splitlines()) == 1
    assert wrong_share.exit_code == 2
    assert "Invalid value for '--share': 1.5" in wrong_share.stderr
    assert not target.exists()
