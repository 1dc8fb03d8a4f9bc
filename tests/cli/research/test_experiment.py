import json
import tomllib
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from rejoinder.bundle.folder import open_bundle
from rejoinder.cli import main
from rejoinder.cli.research.experiment import read_steps

LINES = [
    {"question": word, "candidates": [{"text": "a dog", "label": 0}, {"text": word, "label": 1}]}
    for word in ("cat", "cow", "hen", "owl")
]


@pytest.fixture
def dataset(tmp_path: Path) -> Path:
    path = tmp_path / "my questions.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in LINES), encoding="utf-8")
    return path


def run(*words: str | Path) -> Result:
    return CliRunner().invoke(main, ["experiment", *map(str, words)])


def test_added_commands_are_run_as_if_they_were_typed(dataset: Path, tmp_path: Path) -> None:
    file, lines = tmp_path / "x.toml", tmp_path / "q.jsonl"
    first = ["evaluate", "bm25", str(dataset), "--measures", "MAP,P@1", "--json"]
    second = ["evaluate", "jaccard", str(dataset), "--per-question", str(lines)]

    added = [run("add", file, *first), run("add", file, *second)]
    result = run("run", file)

    assert [one.exit_code for one in (*added, result)] == [0, 0, 0]
    typed = [CliRunner().invoke(main, words).stdout for words in (first, second)]
    assert result.stdout == "".join(typed)
    assert len(lines.read_text(encoding="utf-8").splitlines()) == 4
    assert result.stderr.splitlines()[0].startswith("step 1 of 2: rejoinder evaluate ")
    assert tomllib.loads(file.read_text(encoding="utf-8"))["step"][0] == {
        "command": "evaluate",
        "arguments": ["bm25", str(dataset)],
        "measures": "MAP,P@1",
        "json": True,
    }


def test_a_bundle_records_its_own_command(dataset: Path, tmp_path: Path) -> None:
    pytest.importorskip("torch")
    file, bundle = tmp_path / "x.toml", tmp_path / "m"
    words = ["train", "cosinet", str(dataset), "--epochs", "1", "--to", str(bundle)]

    run("add", file, *words)
    result = run("run", file)

    assert result.exit_code == 0, result.output
    command = open_bundle(bundle).manifest.training["command"]
    assert command.startswith("rejoinder train cosinet ")
    assert "experiment" not in command


@pytest.mark.parametrize(
    ("step", "words"),
    [
        (
            'command = "reproduce wikiqa"\ntrain = ["qed@0.5", "a.jsonl"]\nseeds = 2\njson = true',
            "reproduce wikiqa --train qed@0.5 --train a.jsonl --seeds 2 --json",
        ),
        (
            'command = "reproduce has"\nmodels = ["has", "pooling"]\nint8 = false\nstudy = false',
            "reproduce has --models has,pooling --no-int8",
        ),
        (
            'command = "train selector"\narguments = ["qed"]\nto = "m"\nfrom = "selector"',
            "train selector --to m --from selector qed",
        ),
    ],
)
def test_keys_are_options(step: str, words: str, tmp_path: Path) -> None:
    file = tmp_path / "x.toml"
    file.write_text(f"[[step]]\n{step}\n", encoding="utf-8")

    result = run("run", file, "--dry-run")

    assert result.stdout == f"rejoinder {words}\n"
    assert [" ".join(one.words) for one in read_steps(file)] == [words]


def test_every_text_survives_the_file(tmp_path: Path) -> None:
    file = tmp_path / "x.toml"
    question = 'who said "é 😀 \\ \x7f"?\ttab'

    run("add", file, "rank", question, "-")
    run("add", file, "rank", "--top", "3", question, "-")

    one, two = read_steps(file)
    assert list(one.words) == ["rank", question, "-"]
    assert list(two.words) == ["rank", "--top", "3", question, "-"]


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ("", "field 'step' is missing"),
        ("name = 1", "unknown field 'name'; known: step"),
        ("step = 3", "step: expected 'array', found 3"),
        ("[[step]", "not TOML: "),
        ("step = [3]", "step 1: expected 'object', found 3"),
        ("[[step]]\nseeds = 3", "step 1: needs a command"),
        ('[[step]]\ncommand = "evaluat"', "step 1: unknown command 'evaluat'; did you mean 'eval"),
        ('[[step]]\ncommand = "experiment run"', "step 1: unknown command 'experiment'"),
        ('[[step]]\ncommand = "train"', "step 1: unknown command 'train '"),
        ('[[step]]\ncommand = "evaluate bm25"', "step 1: 'bm25' is no part of the command"),
        (
            '[[step]]\ncommand = "data list"\n[[step]]\ncommand = "train cosinet"\nepocs = 3',
            "step 2: unknown option of train cosinet 'epocs'; did you mean 'epochs'?",
        ),
        ('[[step]]\ncommand = "train cosinet"', "step 1: Missing option '--to'."),
        (
            '[[step]]\ncommand = "train cosinet"\nto = "m"\nepochs = "many"',
            "step 1: Invalid value for '--epochs': 'many' is not a valid integer range.",
        ),
        (
            '[[step]]\ncommand = "data list"\njson = "yes"',
            "step 1: json must be true or false",
        ),
        (
            '[[step]]\ncommand = "data list"\ndata = true',
            "step 1: data must be a text, a number or a list",
        ),
    ],
)
def test_a_mistake_is_one_line_before_anything_runs(
    content: str, problem: str, tmp_path: Path
) -> None:
    file = tmp_path / "x.toml"
    file.write_text(content, encoding="utf-8")

    result = run("run", file)

    assert result.exit_code == 1
    assert result.stdout == ""
    assert result.stderr.startswith(f"Error: {file}: {problem}")
    assert result.stderr.count("\n") == 1


def test_a_step_that_fails_ends_the_experiment(dataset: Path, tmp_path: Path) -> None:
    file = tmp_path / "x.toml"
    run("add", file, "evaluate", "bm25", str(tmp_path / "none.jsonl"))
    run("add", file, "evaluate", "bm25", str(dataset))

    result = run("run", file)

    assert result.exit_code == 1
    assert result.stdout == ""
    assert [line[:6] for line in result.stderr.splitlines()] == ["step 1", "Error:"]


def test_a_command_that_is_wrong_is_not_added(tmp_path: Path) -> None:
    file = tmp_path / "x.toml"

    results = [
        run("add", file, "evaluate", "bm25"),
        run("add", file, "evaluate", "bm25", "wikiqa", "--nothing"),
        run("add", tmp_path / "nowhere" / "x.toml", "data", "list"),
    ]

    assert [result.exit_code for result in results] == [1, 1, 1]
    assert "Missing argument 'DATASET'" in results[0].stderr
    assert "--nothing" in results[1].stderr
    assert "cannot write" in results[2].stderr
    assert not file.exists()
    missing = run("run", file)
    assert missing.stderr == f"Error: {file}: No such file or directory\n"
