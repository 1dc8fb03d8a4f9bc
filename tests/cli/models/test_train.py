import json
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

torch = pytest.importorskip("torch")

from benchmarks.generated import write_asnq  # noqa: E402

from rejoinder.bundle.folder import open_bundle  # noqa: E402
from rejoinder.cli import main  # noqa: E402


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(main, ["train", *map(str, arguments)])


def test_training_writes_a_bundle_with_its_provenance(dataset: Path, tmp_path: Path) -> None:
    target = tmp_path / "models" / "mine"

    result = run("cosinet", dataset, "--to", target, "--dev", dataset, "--seed", "3", "--json")

    assert result.exit_code == 0, result.output
    printed = json.loads(result.stdout)
    assert printed["parameters"] == 997_501
    assert set(printed["means"]) == {"P@1", "MAP", "MRR"}
    bundle = open_bundle(target, kind="cosinet")
    assert bundle.manifest.config["head"] == "birnn"
    assert bundle.manifest.training["data"] == [str(dataset)]
    assert bundle.manifest.training["seed"] == 3
    assert bundle.manifest.training["steps"] == 6
    assert bundle.manifest.scores["means"] == printed["means"]
    assert "head.network.weight_hh_l0_reverse" in bundle.read_tensors()
    assert [path.name for path in target.parent.iterdir()] == ["mine"]


def test_the_learning_curve_is_recorded(dataset: Path, tmp_path: Path) -> None:
    log, plot, events = (tmp_path / name for name in ("log.jsonl", "curve.png", "events"))
    places: list[str | Path] = ["--log", log, "--plot", plot, "--tensorboard", events]

    plain = run("cosinet", dataset, "--to", tmp_path / "m", "--dev", dataset, "--json")
    curved = run("cosinet", dataset, "--to", tmp_path / "n", "--dev", dataset, "--json", *places)

    assert curved.exit_code == 0, curved.output
    epochs = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]
    assert [(epoch["epoch"], epoch["step"]) for epoch in epochs] == [(1, 2), (2, 4), (3, 6)]
    means = json.loads(curved.stdout)["means"]
    assert epochs[-1]["dev"]["MAP"] == pytest.approx(means["MAP"], abs=1e-6)
    assert means == json.loads(plain.stdout)["means"]
    assert plot.read_bytes().startswith(b"\x89PNG")
    assert list(events.glob("events.out.*"))


def test_a_training_on_asnq_stops_and_says_what_all_steps_would_take(tmp_path: Path) -> None:
    write_asnq(tmp_path / "data", share=0.002, splits=["train"])  # 114 questions, 356 candidates
    arguments: list[str | Path] = [
        "asnq",
        "--data",
        tmp_path / "data",
        "--max-steps",
        "5",
        "--head",
        "none",
    ]

    plain = run("cosinet", *arguments, "--to", tmp_path / "m")
    result = run("cosinet", *arguments, "--to", tmp_path / "n", "--json")

    assert plain.exit_code == 0, plain.output
    wrote, stopped = plain.stdout.splitlines()
    assert wrote.startswith(f"wrote {tmp_path / 'm'}: ")
    pattern = r"stopped after 5 of 87 steps: \d+\.\d{3} s per step, [\d,]+ s for all"
    assert re.fullmatch(pattern, stopped)
    printed = json.loads(result.stdout)
    assert printed["steps"] == 5
    assert printed["projection"]["steps"] == 87  # three epochs of 29
    training = open_bundle(tmp_path / "n").manifest.training
    assert (training["steps"], training["kept"]) == (5, "step 5 of 87")


def test_training_learns_from_the_feedback_of_an_index(dataset: Path, tmp_path: Path) -> None:
    docs, index = tmp_path / "docs.txt", tmp_path / "index"
    docs.write_text("The ice is here. The rock is here. It rained.", encoding="utf-8")
    invoke = CliRunner().invoke
    invoke(main, ["index", "add", str(docs), "--index", str(index)])
    none = run("cosinet", "--feedback", index, "--to", tmp_path / "m")
    for word in ("ice", "rock"):
        mark = ["feedback", "right", f"where is the {word}?", f"The {word} is here."]
        invoke(main, [*mark, "--index", str(index)])

    alone = run("cosinet", "--feedback", index, "--to", tmp_path / "m", "--epochs", "1")
    mixed = run("cosinet", dataset, "--feedback", index, "--to", tmp_path / "n", "--epochs", "1")

    assert "no answer is marked right" in none.stderr
    assert alone.exit_code == 0, alone.output
    training = open_bundle(tmp_path / "m").manifest.training
    assert training["data"] == [f"feedback of {index}"]
    assert mixed.exit_code == 0, mixed.output
    training = open_bundle(tmp_path / "n").manifest.training
    assert training["data"] == [str(dataset), f"feedback of {index}"]
    assert training["steps"] == 3  # 8 + 2 questions, 4 a step


def test_nothing_to_learn_from_is_one_line(tmp_path: Path) -> None:
    result = run("cosinet", "--to", tmp_path / "m")

    assert result.exit_code == 1
    assert result.stderr == (
        "Error: nothing to learn from: name a DATASET, or an index with --feedback\n"
    )


def test_the_result_is_printed(dataset: Path, tmp_path: Path) -> None:
    result = run("rel-cnn", dataset, "--to", tmp_path / "m", "--head", "none", "--dev", dataset)

    assert f"wrote {tmp_path / 'm'}: " in result.stdout
    assert " parameters in " in result.stdout
    assert f"{dataset} MAP " in result.stdout


def test_vectors_of_a_file_go_into_the_bundle(dataset: Path, tmp_path: Path) -> None:
    vectors = tmp_path / "glove.txt"
    vectors.write_text("ice 1 0 1\nhere 0 1 0\nrained 1 1 0\nrare 1 2 3\n", encoding="utf-8")

    result = run("cosinet", dataset, "--to", tmp_path / "m", "--vectors", vectors)

    assert result.exit_code == 0, result.output
    bundle = open_bundle(tmp_path / "m")
    assert bundle.manifest.config["vector_width"] == 3
    assert bundle.manifest.config["are_pieces"] is False
    assert bundle.read_text("vocabulary.txt").split() == ["ice", "here", "rained", "rare"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--keep-best"], "keeping the best epoch needs dev examples"),
        (["--learning-rate", "1e38"], "the loss became"),
        (["--pairs-per-step", "32"], "listwise with head birnn learns from whole lists"),
        (["--vectors", "nowhere.txt"], "nowhere.txt: No such file or directory"),
        (["--dev", "wikqa"], "unknown data set 'wikqa'"),
    ],
)
def test_a_mistake_is_one_line_and_leaves_nothing(
    dataset: Path, tmp_path: Path, arguments: list[str], message: str
) -> None:
    result = run("cosinet", dataset, "--to", tmp_path / "m", *arguments)

    assert result.exit_code == 1
    assert message in result.stderr.splitlines()[-1]
    assert "Traceback" not in result.output
    assert not (tmp_path / "m").exists()


@pytest.mark.parametrize(
    ("option", "value"), [("--head", "brnn"), ("--loss", "listwize"), ("--epochs", "0")]
)
def test_a_value_that_is_not_allowed_is_a_usage_error(
    dataset: Path, tmp_path: Path, option: str, value: str
) -> None:
    result = run("cosinet", dataset, "--to", tmp_path / "m", option, value)

    assert result.exit_code == 2
    assert f"Invalid value for '{option}': " in result.stderr.splitlines()[-1]
    assert not (tmp_path / "m").exists()


def test_an_unwritable_target_is_an_error_before_training(dataset: Path) -> None:
    result = run("cosinet", dataset, "--to", "/proc/nowhere/m")

    assert result.exit_code == 1
    assert result.stderr == "Error: cannot write /proc/nowhere/m: No such file or directory\n"


def test_vectors_without_a_word_in_common_are_refused(dataset: Path, tmp_path: Path) -> None:
    vectors = tmp_path / "v.txt"
    vectors.write_text("zzz 1 0\n", encoding="utf-8")

    result = run("cosinet", dataset, "--to", tmp_path / "m", "--vectors", vectors)

    assert result.exit_code == 1
    assert f"{vectors}: holds none of the words of the texts" in result.stderr


def test_a_killed_training_resumes_from_its_last_checkpoint(dataset: Path, tmp_path: Path) -> None:
    target = tmp_path / "m"
    checkpoint = tmp_path / "m.checkpoint"
    code = (
        "import rejoinder.training.fit as fit; fit.SECONDS_BETWEEN_CHECKPOINTS = 0.0\n"
        "fit.CHECKPOINT_SHARE = float('inf')\n"
        "from rejoinder.cli import main; main(prog_name='rejoinder')"
    )
    command = [sys.executable, "-c", code, "train", "cosinet", str(dataset), "--to", str(target)]
    command += ["--epochs", "2000", "--threads", "1"]

    process = subprocess.Popen(command, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    deadline = time.monotonic() + 60
    while not checkpoint.exists() and time.monotonic() < deadline:
        time.sleep(0.02)
    time.sleep(0.3)
    process.send_signal(signal.SIGKILL)
    process.wait()

    assert checkpoint.exists()
    assert not target.exists()
    refused = run("cosinet", dataset, "--to", target, "--epochs", "3")
    assert "belongs to a training with other data or options" in refused.stderr
    resumed = subprocess.Popen(
        command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True
    )
    assert resumed.stderr is not None
    line = resumed.stderr.readline()
    resumed.kill()
    resumed.communicate()
    assert line == f"resuming from {checkpoint}\n"


def test_a_bundle_that_cannot_be_written_does_not_cost_the_training(
    dataset: Path, tmp_path: Path
) -> None:
    target = tmp_path / "m"
    checkpoint = tmp_path / "m.checkpoint"
    obstacle = tmp_path / ".m.part"
    obstacle.write_text("where the bundle is put together")

    refused = run("cosinet", dataset, "--to", target, "--epochs", "1")
    assert refused.exit_code == 1
    assert checkpoint.exists()

    obstacle.unlink()
    written = run("cosinet", dataset, "--to", target, "--epochs", "1")
    assert f"resuming from {checkpoint}" in written.stderr
    assert target.is_dir()
    assert not checkpoint.exists()


def test_a_folder_with_other_files_is_refused_before_training(
    dataset: Path, tmp_path: Path
) -> None:
    (tmp_path / "letters").mkdir()
    (tmp_path / "letters" / "first.txt").write_text("dear")

    result = run("cosinet", dataset, "--to", tmp_path / "letters")

    assert result.exit_code == 1
    assert "letters: exists and is not a bundle; choose another folder" in result.stderr
    assert not (tmp_path / "letters.checkpoint").exists()
