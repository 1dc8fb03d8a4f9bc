import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from rejoinder.cli import main


def run(*arguments: str | Path, given: str | bytes | None = None) -> Result:
    return CliRunner().invoke(main, ["rank", *map(str, arguments)], input=given)


def texts(result: Result) -> list[str]:
    return [item["text"] for item in json.loads(result.stdout)["candidates"]]


def test_ranks_the_lines_of_a_file(tmp_path: Path) -> None:
    path = tmp_path / "lines.txt"
    path.write_text("a dog\n\na red cat\n", encoding="utf-8")

    result = run("red cat", path, "--scorer", "bm25")

    lines = [line.split(maxsplit=2) for line in result.stdout.splitlines()]
    assert lines[0] == ["rank", "score", "candidate"]
    assert [(line[0], line[2]) for line in lines[1:]] == [("1", "a red cat"), ("2", "a dog")]


def test_an_empty_question_is_one_line() -> None:
    result = run(" ", "--scorer", "bm25", given="a dog\n")

    assert result.exit_code == 1
    assert result.stderr == "Error: the question is empty\n"


def test_an_unknown_word_splitter_is_named() -> None:
    result = run("cat", "--words", "foo", given="a dog\n")

    assert result.exit_code == 1
    assert result.stderr.startswith("Error: unknown word splitter 'foo'; known: ")


def test_an_unknown_provider_is_named() -> None:
    result = run("cat", "--provider", "gpu", given="a dog\n")

    assert result.exit_code == 1
    assert result.stderr.startswith("Error: unknown execution provider 'gpu'")


def test_reads_stdin_without_a_file() -> None:
    found = json.loads(
        run("red cat", "--scorer", "bm25", "--json", given="a dog\na red cat\n").stdout
    )

    assert found["question"] == "red cat"
    assert found["scorer"] == "bm25"
    assert [item["id"] for item in found["candidates"]] == ["1", "0"]
    assert found["candidates"][1] == {"rank": 2, "score": 0.0, "id": "0", "text": "a dog"}


def test_by_default_the_shipped_cascade_ranks() -> None:
    given = "Ada was asked who wrote it.\nIt was written by Ada.\nIt rained.\n"
    found = json.loads(run("who wrote it?", "--json", "--explain", given=given).stdout)

    assert found["scorer"] == "default"
    assert found["candidates"][0]["text"] == "It was written by Ada."
    assert [stage["scorer"] for stage in found["trace"]][-1:] == ["selector"]


def test_reads_json_lines_with_ids_and_order() -> None:
    lines = [
        {"id": "x", "text": "one", "document": "d", "title": "D", "position": 1},
        {"id": 7, "text": "two", "document": "d", "position": 0},
        {"text": "three"},
    ]
    given = "".join(json.dumps(line) + "\n" for line in lines)

    found = json.loads(run("q", "--scorer", "original-order", "--json", given=given).stdout)

    assert [(item["id"], item["score"]) for item in found["candidates"]] == [
        ("7", 1.0),
        ("2", 1.0),
        ("x", 0.5),
    ]


def test_order_counts_only_with_the_option() -> None:
    arguments = ("q", "--scorer", "original-order", "--json")
    given = "one\ntwo\n"

    def scores(*more: str) -> list[float]:
        found = json.loads(run(*arguments, *more, given=given).stdout)
        return [item["score"] for item in found["candidates"]]

    assert scores() == [1.0, 1.0]
    assert scores("--in-order") == [1.0, 0.5]


def test_a_corpus_changes_the_word_frequencies_of_bm25(tmp_path: Path) -> None:
    corpus = tmp_path / "corpus.txt"
    corpus.write_text("a cat\na cat here\ncat\nno dog\n", encoding="utf-8")
    given = "the cat\nthe dog\n"

    assert texts(run("cat dog", "--scorer", "bm25", "--json", given=given)) == [
        "the cat",
        "the dog",
    ]
    assert texts(run("cat dog", "--json", "--corpus", corpus, given=given)) == [
        "the dog",
        "the cat",
    ]


def test_top_limits() -> None:
    assert texts(run("a", "--top", "1", "--json", given="b\na\n")) == ["a"]


@pytest.mark.parametrize(
    ("arguments", "given", "message"),
    [
        (["--scorer", "jacard"], "x\n", "unknown scorer 'jacard'; did you mean 'jaccard'?"),
        (["--corpus", "x", "--scorer", "jaccard"], "x\n", "remove --corpus"),
        ([], "", "<stdin>: the file is empty"),
        ([], b"ok\n\xff\n", "<stdin>:2: not UTF-8: byte 0xff at column 1"),
        ([], '{"text": "a"}\n{"text": 3}\n', "<stdin>:2: field 'text' must be a string, found 3"),
        ([], '{"text": "a"}\n{"tex', "<stdin>:2: not JSON"),
        ([], '{"text": "a"}\nplain\n', "<stdin>:2: not JSON"),
        (["nowhere.txt"], None, "nowhere.txt: No such file or directory"),
        (["."], None, ".: Is a directory"),
    ],
)
def test_a_mistake_is_one_line(arguments: list[str], given: str | bytes, message: str) -> None:
    result = run("q", *arguments, given=given)

    assert result.exit_code == 1
    assert message in result.stderr
    assert result.stderr.count("\n") == 1


CASCADE = """\
[[stage]]
scorer = "jaccard"
keep = 2

[[stage]]
scorer = "word-overlap"

[calibration]
intercept = -1.0
best = 1.0
margin = 0.0
count = 0.0
threshold = 0.6
"""


@pytest.fixture
def cascade(tmp_path: Path) -> Path:
    path = tmp_path / "two.toml"
    path.write_text(CASCADE, encoding="utf-8")
    return path


def test_a_cascade_explains_itself(cascade: Path) -> None:
    given = "a dog\na red cat\na cat\n"

    result = run("red cat", "--scorer", cascade, "--explain", given=given)

    ranked, trace = (part.splitlines() for part in result.stdout.split("\n\n"))
    assert [line.split(maxsplit=3)[2:] for line in ranked[1:]] == [
        ["word-overlap", "a red cat"],
        ["word-overlap", "a cat"],
        ["jaccard", "a dog"],
    ]
    assert [line.split()[:5] + line.split()[6:] for line in trace[1:]] == [
        ["jaccard", "3", "3", "0", "2", "no"],
        ["word-overlap", "2", "2", "0", "2", "no"],
    ]
    # 1 / (1 + exp(-(2 - 1)))
    assert result.stderr == "the first candidate answers (confidence 0.73)\n"


def test_a_cascade_can_abstain(cascade: Path) -> None:
    result = run("red cat", "--scorer", cascade, given="a cat\na dog\n")

    assert result.stderr == "no candidate answers (confidence 0.50)\n"


def test_the_threshold_can_be_lowered(cascade: Path) -> None:
    options = ("--scorer", cascade, "--min-confidence", "0.4")

    result = run("red cat", *options, given="a cat\na dog\n")

    assert result.stderr == "the first candidate answers (confidence 0.50)\n"


def test_json_holds_confidence_and_trace(cascade: Path) -> None:
    options = ("--scorer", cascade, "--json", "--explain", "--budget-ms", "1000")

    found = json.loads(run("red cat", *options, given="a cat\na dog\n").stdout)

    assert found["confidence"] == 0.5
    assert found["abstains"] is True
    assert found["candidates"][0]["stage"] == 1
    assert found["trace"][0]["scorer"] == "jaccard"
    assert found["trace"][0]["timed_out"] is False


@pytest.mark.parametrize("budget", ["0", "1"])
def test_a_tiny_budget_ranks_all_the_same(budget: str, cascade: Path) -> None:
    given = "".join(f"candidate {number}\n" for number in range(2000))

    options = ("--scorer", cascade, "--budget-ms", budget, "--explain")
    result = run("q", *options, given=given)
    found = json.loads(run("q", *options, "--json", given=given).stdout)

    assert result.exit_code == 0
    assert "–" in result.stdout
    assert len(found["candidates"]) == 2000
    assert found["candidates"][-1]["score"] is None
    assert found["trace"][0]["timed_out"] is True
