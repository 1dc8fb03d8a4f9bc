import gzip
import tempfile
from pathlib import Path
from typing import Any

import ir_measures
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rejoinder.errors import DataError, InputError
from rejoinder.evaluation import Protocol, compare, evaluate
from rejoinder.evaluation.trec import (
    RankedQuestion,
    is_qrels_file,
    read_qrels,
    read_run,
    write_qrels,
    write_run,
)
from rejoinder.models.scorer import Candidates, Scores
from rejoinder.types import Candidate, Example

MEASURES = ["P@1", "MAP", "MRR", "nDCG@3", "recall@2"]
THEIRS = [ir_measures.parse_measure(name) for name in ("P@1", "AP", "RR", "nDCG@3", "R@2")]


def read_theirs(path: Path) -> list[Any]:
    """Return what the readers of ir_measures make of a file."""
    read: Any = (
        ir_measures.read_trec_qrels if path.suffix == ".qrels" else ir_measures.read_trec_run
    )
    return list(read(str(path)))


class Fixed:
    """Gives the scores that each candidate's text is."""

    name = "fixed scores"

    def score(self, question: str, candidates: Candidates) -> Scores:
        texts = (item.text if isinstance(item, Candidate) else item for item in candidates)
        return np.array([float(text) for text in texts])


def make(id_: str, *judged: tuple[float, bool]) -> Example:
    candidates = tuple(
        Candidate(f"d {place}", str(score)) for place, (score, _) in enumerate(judged)
    )
    return Example(id_, f"what is {id_}?", candidates, tuple(label for _, label in judged))


def any_right(lists: list[list[tuple[float, bool]]]) -> bool:
    return any(label for judged in lists for _, label in judged)


SCORES = st.sampled_from([0.0, 1.0, 1.0 + 1e-12, -2.5, 0.1, 1e30, 1e-30])
LISTS = st.lists(st.tuples(SCORES, st.booleans()), min_size=1, max_size=6)


@given(st.lists(LISTS, min_size=1, max_size=4).filter(any_right))
def test_trec_eval_measures_a_written_run_as_we_do(lists: list[list[tuple[float, bool]]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        check_written(lists, Path(folder))


def check_written(lists: list[list[tuple[float, bool]]], folder: Path) -> None:
    examples = [make(f"q {number}", *judged) for number, judged in enumerate(lists)]
    report = evaluate(Fixed(), examples, measures=MEASURES)
    run, qrels = folder / "x.run", folder / "x.qrels"
    write_run(run, report.rankings, report.scorer)
    write_qrels(qrels, report.rankings)

    theirs = ir_measures.calc_aggregate(
        THEIRS,
        read_theirs(qrels),
        read_theirs(run),
    )
    again = evaluate(run, examples, measures=MEASURES)
    alone = evaluate(run, qrels, measures=MEASURES)

    ours = dict(zip(THEIRS, report.means.values(), strict=True))
    assert theirs == pytest.approx(ours)
    assert again.means == pytest.approx(report.means)
    assert again.scorer == "fixed%20scores"
    assert alone.means == pytest.approx(report.means)


def test_ids_and_ranks_are_those_of_the_format(tmp_path: Path) -> None:
    ranked = RankedQuestion("q 1", "?", ("a", "b\tc"), (True, False), (2.0, 2.0))
    write_run(tmp_path / "x.run", [ranked], "my scorer")
    write_qrels(tmp_path / "x.qrels", [ranked])

    assert (tmp_path / "x.run").read_text().splitlines() == [
        "q%201 Q0 a 1 2 my%20scorer",
        "q%201 Q0 b%09c 2 1.99999988 my%20scorer",  # trec_eval breaks ties by id
    ]
    assert (tmp_path / "x.qrels").read_text().splitlines() == ["q%201 0 a 1", "q%201 0 b%09c 0"]


@pytest.fixture
def examples() -> list[Example]:
    return [make("q1", (0, False), (0, True), (0, True)), make("q2", (0, True), (0, False))]


FOREIGN = """
q1 Q0 d%201 1 9 theirs
q1 Q0 stranger 2 8 theirs
q1 Q0 d%200 3 7 theirs

q9 Q0 d%200 1 1 theirs
"""


@pytest.mark.parametrize("name", ["theirs.run", "theirs.txt.gz"])
def test_a_foreign_run_is_measured_as_trec_eval_does(
    name: str, tmp_path: Path, examples: list[Example]
) -> None:
    run, qrels = tmp_path / name, tmp_path / "x.qrels"
    content = FOREIGN.encode()
    run.write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
    write_qrels(qrels, evaluate(Fixed(), examples).rankings)

    report = evaluate(run, examples, measures=MEASURES)

    plain = tmp_path / "plain.run"
    plain.write_text(FOREIGN.strip().replace("\n\n", "\n") + "\n", encoding="utf-8")
    per_question = {
        (item.query_id, item.measure): item.value
        for item in ir_measures.iter_calc(
            THEIRS,
            read_theirs(qrels),
            read_theirs(plain),
        )
    }
    for ours, theirs in zip(MEASURES, THEIRS, strict=True):
        # q2 is not in the run: it found nothing.
        assert report.values[ours] == pytest.approx([per_question["q1", theirs], 0.0])
    assert report.values["MAP"][0] == 0.5  # one of two answers is found, and first
    assert report.rankings[0].candidate_ids == ("d 1", "stranger", "d 0")
    assert report.scorer == "theirs"


def test_ties_of_a_run_follow_the_protocol(tmp_path: Path, examples: list[Example]) -> None:
    run = tmp_path / "x.run"
    run.write_text("q2 Q0 d%200 1 1 t\nq2 Q0 d%201 2 1 t\n", encoding="utf-8")

    def measure(ties: str) -> float:
        return evaluate(run, examples[1:], protocol=Protocol(ties=ties)).means["P@1"]

    assert (measure("stable"), measure("pessimistic")) == (1.0, 0.0)


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("q1 Q0 d1 1 9", "2: expected the six columns of a TREC run"),
        ("q1 Q0 d1 1 9 a tag", "2: expected the six columns of a TREC run"),
        ("q1 Q0 d1 1 high theirs", "2: the score 'high' is not a number"),
        ("q1 Q0 d1 1 nan theirs", "2: the score 'nan' is not a number"),
        ("q1 Q0 d0 2 1 theirs", "2: question q1 has candidate d0 twice"),
    ],
)
def test_a_broken_line_is_named(line: str, problem: str, tmp_path: Path) -> None:
    run = tmp_path / "x.run"
    run.write_text(f"q1 Q0 d0 1 9 theirs\n{line}\n", encoding="utf-8")

    with pytest.raises(DataError) as caught:
        read_run(run)

    assert str(caught.value).startswith(f"{run}:{problem}")


def test_a_run_of_other_questions_is_refused(tmp_path: Path, examples: list[Example]) -> None:
    run = tmp_path / "x.run"
    run.write_text("q7 Q0 d0 1 9 theirs\n", encoding="utf-8")

    with pytest.raises(InputError, match="ranks none of the questions"):
        evaluate(run, examples)


@pytest.mark.parametrize(
    ("question", "candidates", "problem"),
    [
        ("", ("a", "b"), "has an empty id"),
        ("q", ("a", ""), "has an empty id"),
        ("q", ("a", "a"), "comes twice"),
        ("q", ("a b", "a%20b"), "comes twice"),
    ],
)
def test_ids_that_a_run_cannot_hold_are_refused(
    question: str, candidates: tuple[str, str], problem: str, tmp_path: Path
) -> None:
    ranked = RankedQuestion(question, "?", candidates, (True, False), (2.0, 1.0))

    with pytest.raises(InputError, match=problem):
        write_run(tmp_path / "x.run", [ranked], "t")
    assert not list(tmp_path.iterdir())


def test_a_file_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot write"):
        write_qrels(tmp_path / "nowhere" / "x.qrels", [])


def test_a_group_of_seeds_is_compared_on_its_averages(tmp_path: Path) -> None:
    examples = [make(f"q{number}", (0, True), (0, False)) for number in range(4)]
    right, wrong = "{q} Q0 d%200 1 1 t\n", "{q} Q0 d%201 1 1 t\n"

    def write(name: str, *is_right: bool) -> Path:
        path = tmp_path / name
        lines = (
            (right if one else wrong).format(q=f"q{place}") for place, one in enumerate(is_right)
        )
        path.write_text("".join(lines), encoding="utf-8")
        return path

    base = [write("base-0.run", True, False, False, False), write("base-1.run", *[False] * 4)]
    mine = [write("mine-0.run", *[True] * 4), write("mine-1.run", True, True, False, False)]

    first, second = compare([base, mine], examples, measures=["P@1"])
    alone, _ = compare([base[0], mine[0]], examples, measures=["P@1"])

    assert (first.report.scorer, second.report.scorer) == ("base x2", "mine x2")
    assert first.report.means == {"P@1": pytest.approx(1 / 8)}
    assert second.report.means == {"P@1": pytest.approx(6 / 8)}
    # Seeds of 25 % and 0 %, and of 100 % and 50 %.
    assert first.report.deviations["P@1"] == pytest.approx(0.25 / 2**0.5)
    assert second.report.values["P@1"] == [1.0, 1.0, 0.5, 0.5]
    assert second.differences["P@1"].mean == pytest.approx(5 / 8)
    # Averages per question: 0.5, 0, 0, 0 against 1, 1, 0.5, 0.5.
    assert second.differences["P@1"].interval.low == 0.5
    assert alone.report.deviations == {}
    with pytest.raises(InputError, match="a group of scorers is empty"):
        compare([base, []], examples)


def test_a_group_without_a_common_name_lists_its_members() -> None:
    examples = [make("q", (1, True), (0, False))]

    first, _ = compare([["bm25", "jaccard"], "bm25"], examples)

    assert first.report.scorer == "bm25,jaccard x2"


def test_runs_are_compared_on_qrels_alone(tmp_path: Path) -> None:
    run, qrels = tmp_path / "theirs.run", tmp_path / "judged.txt.gz"
    run.write_text(FOREIGN.strip() + "\n", encoding="utf-8")
    # trec_eval's graded labels: only those above 0 are answers.
    lines = ["q1 0 d%200 0", "q1 0 d%201 2", "", "q1 0 d%202 1", "q2 0 d%200 1", "q3 0 d -1"]
    qrels.write_bytes(gzip.compress("\n".join(lines).encode()))

    report = evaluate(run, qrels, measures=MEASURES)
    comparisons = compare([run, run], str(qrels), measures=["P@1"])

    assert report.values["MAP"] == [0.5, 0.0]  # q3 has no answer, and does not count
    assert (report.dataset, report.split) == (str(qrels), None)
    assert [item.report.means for item in comparisons] == [{"P@1": 0.5}] * 2


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("q1 0 d1", "2: expected the four columns of TREC qrels"),
        ("q1 0 d1 yes", "2: the label 'yes' is not a whole number"),
        ("q1 0 d0 1", "2: question q1 has candidate d0 twice"),
    ],
)
def test_a_broken_line_of_qrels_is_named(line: str, problem: str, tmp_path: Path) -> None:
    qrels, run = tmp_path / "x.qrels", tmp_path / "x.run"
    qrels.write_text(f"q1 0 d0 1\n{line}\n", encoding="utf-8")
    run.write_text("q1 Q0 d0 1 9 t\n", encoding="utf-8")

    with pytest.raises(DataError) as caught:
        evaluate(run, qrels)

    assert str(caught.value).startswith(f"{qrels}:{problem}")


def test_qrels_are_for_runs(tmp_path: Path) -> None:
    qrels = tmp_path / "x.qrels"
    qrels.write_text("q1 0 d0 1\n", encoding="utf-8")
    run = tmp_path / "x.run"
    run.write_text("q1 Q0 d0 1 9 t\n", encoding="utf-8")

    with pytest.raises(InputError, match="has no texts for bm25 to read; give run files"):
        evaluate("bm25", qrels)
    with pytest.raises(InputError, match="has no texts for fixed scores to read"):
        compare([run, Fixed()], qrels)
    with pytest.raises(InputError, match="has no split 'test'"):
        evaluate(run, qrels, split="test")


def test_json_lines_are_no_qrels(tmp_path: Path) -> None:
    (tmp_path / "x.jsonl").write_text('{"id": "1", "question": "a"}\n', encoding="utf-8")
    (tmp_path / "empty").touch()

    names = ("x.jsonl", "empty", "nowhere")
    assert not any(is_qrels_file(tmp_path / name) for name in names)


@pytest.mark.parametrize("read", [read_run, read_qrels])
@given(
    raw=st.binary(max_size=60)
    | st.lists(
        st.sampled_from(["q", "Q0", "0", "d", "1", "-1.5", "nan", "\n", "\x0b"]), max_size=20
    )
    .map(" ".join)
    .map(str.encode)
)
def test_any_bytes_are_read_or_refused(read: Any, raw: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "a.txt"
        path.write_bytes(raw)

        is_qrels_file(path)
        message = str(path)
        try:
            read(path)
        except DataError as error:
            message = str(error)

        assert message.startswith(str(path))
