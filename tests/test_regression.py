"""The benchmark against another checkout, without running it."""

import json
import subprocess
from pathlib import Path

from benchmarks import regression

from rejoinder.cascade.file import read_cascade_file

WEIGHTS = Path("src/rejoinder/weights")


def test_the_other_weights_are_a_cascade_that_names_its_bundles(tmp_path: Path) -> None:
    weights = tmp_path / "other" / WEIGHTS
    (weights / "cosinet").mkdir(parents=True)
    (weights / "default.toml").write_text(
        """name = "default"
[[stage]]
scorer = "retrieval-order"
keep = 200
document_prior = 0.5
cost = { fixed_ms = 0.1, candidate_ms = 0.01, word_ms = 0.0002 }
[[stage]]
scorer = "cosinet"
[calibration]
a_setting_of_its_own_time = 1
""",
        encoding="utf-8",
    )

    regression.write_cascade(tmp_path, tmp_path / "other")

    first, last = read_cascade_file(tmp_path / regression.OTHER_WEIGHTS).stages
    assert (first.scorer, first.keep, first.document_prior) == ("retrieval-order", 200, 0.5)
    assert first.cost is None
    assert last.scorer == str(weights / "cosinet")


def test_a_commit_says_whether_its_files_differ(tmp_path: Path) -> None:
    def git(*command: str) -> str:
        identity = ("-c", "user.name=a", "-c", "user.email=a@localhost")
        whole = ["git", "-C", str(tmp_path), *identity, *command]
        return subprocess.run(whole, check=True, capture_output=True, text=True).stdout.strip()

    assert regression.get_commit(tmp_path) is None
    git("init", "-q")
    (tmp_path / "file").write_text("one", encoding="utf-8")
    git("add", "file")
    git("commit", "-qm", "Begin")
    assert regression.get_commit(tmp_path) == git("rev-parse", "--short", "HEAD")
    (tmp_path / "file").write_text("two", encoding="utf-8")
    assert regression.get_commit(tmp_path) == f"{git('rev-parse', '--short', 'HEAD')}-dirty"


def test_every_figure_of_a_task_is_compared(tmp_path: Path) -> None:
    trees = {"this": tmp_path / "a", "other": tmp_path / "b"}
    runs = iter([1.0, 2.0, 30.0, 40.0, 5.0, 8.0])  # the first two warm up

    def task(_: Path, folder: Path) -> dict[str, float]:
        value = next(runs)
        return {"open": value, "first": 2 * value if folder.name == "this" else value}

    figures = regression.measure(task, trees, tmp_path, 2)

    # Rounds begin with the other tree and with this one in turn.
    assert figures["open"] == {"this": 22.5, "other": 19.0, "ratio": 0.979}
    assert figures["first"] == {"this": 45.0, "other": 19.0, "ratio": 1.958}


def test_the_share_of_same_answers_is_that_of_a_task(tmp_path: Path) -> None:
    trees = {"this": tmp_path, "other": tmp_path}
    for name, answers in (("this", [["a"], ["b"]]), ("other", [["a"], []])):
        (tmp_path / name).mkdir()
        (tmp_path / name / "same_weights.json").write_text(json.dumps(answers), encoding="utf-8")

    assert regression.compare_answers(tmp_path, trees, "same_weights") == 0.5
