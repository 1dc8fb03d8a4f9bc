from pathlib import Path

import pytest

import rejoinder
from rejoinder.cascade import loading
from rejoinder.cascade.budget import Cost
from rejoinder.cascade.calibration import (
    Calibration,
    Logistic,
    SentenceCalibration,
    StageCalibration,
)
from rejoinder.cascade.cascade import Cascade
from rejoinder.cascade.file import (
    CascadeFile,
    Point,
    StageLine,
    name_scorer,
    read_cascade_file,
    write_cascade_file,
)
from rejoinder.cascade.stopping import StoppingRule
from rejoinder.errors import DataError, InputError, UnknownNameError
from tests.models.conftest import make_cosinet

STOP = "intercept = 0, best = 0, gap = 0, unread = 0"
STOPPING = '[[stage]]\nscorer = "jaccard"\nkeep = 5\n[[stage]]\nscorer = "word-overlap"\n'
TWO_STAGES = """\
name = "two"

[[stage]]
scorer = "jaccard"
keep = 2

[[stage]]
scorer = "models/small"
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    make_cosinet(tmp_path / "models" / "small", "none")
    (tmp_path / "two.toml").write_text(TWO_STAGES, encoding="utf-8")
    return tmp_path


def test_a_written_file_is_read_back_equal(tmp_path: Path) -> None:
    whole = CascadeFile(
        'a "name"\x7f with 🐈',
        (
            StageLine("jaccard", 100, Cost(0.25, 0.5, 0.125), document_prior=0.75, fusion=0.5),
            StageLine("models/ü b", 10, missing="leave"),
            StageLine("bm25", 10, reads="passage", keep_for_one=5),
            StageLine(
                "jaccard",
                interpolation=0.5,
                stop=StoppingRule(0.125, -1.5, -0.5, -0.25, 1.75, first=3, batch=1),
            ),
        ),
        Calibration(
            Logistic(-1.5, 2.25, 0.5, -0.125, rank=-0.25),
            Logistic(0.5, 1.5, prior=-1.5, headings=0.75),
            threshold=0.75,
            knots=((-1.0, 0.1), (2.0, 0.9)),
            facts={"dataset": "my.jsonl", "questions": 3},
        ),
        tuned={"dataset": "d", "P@1": 61.5},
        frontier=(Point("bm25", 50.0, 0.25), Point("bm25 10 > ü", 61.5, 7.5)),
        sentences=SentenceCalibration(
            {"a b": StageCalibration(-1.0, 0.5, 0.25), "jaccard": StageCalibration(0.0, 1.0, 0.0)},
            *(0.01, 64, 0.25, 0.03),
            facts={"dataset": "my.jsonl"},
        ),
    )

    write_cascade_file(tmp_path / "new" / "c.toml", whole)

    assert read_cascade_file(tmp_path / "new" / "c.toml") == whole


def test_a_small_file_is_enough(folder: Path) -> None:
    assert read_cascade_file(folder / "two.toml") == CascadeFile(
        "two", (StageLine("jaccard", 2), StageLine("models/small"))
    )


def test_a_confidence_of_three_features_still_loads(folder: Path) -> None:
    path = folder / "two.toml"
    weights = "intercept = 1\nbest = 2\nmargin = 3\ncount = 4\nthreshold = 0.25\n"
    path.write_text(f"{TWO_STAGES}\n[calibration]\n{weights}", encoding="utf-8")

    assert read_cascade_file(path).calibration == Calibration(Logistic(1, 2, 3, 4), threshold=0.25)


def test_bundles_are_found_from_where_the_file_is(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir("/")

    cascade = rejoinder.load(folder / "two.toml")

    assert isinstance(cascade, Cascade)
    assert [stage.scorer.name for stage in cascade.stages] == ["jaccard", "small"]
    assert len(rejoinder.rank("red cat", ["a", "red", "cat"], scorer=cascade).trace) == 2


def test_a_scorer_is_named_as_it_will_be_found(folder: Path) -> None:
    assert name_scorer("bm25", folder) == "bm25"
    assert name_scorer(folder / "models" / "small", folder / "elsewhere") == "../models/small"


def test_the_default_is_the_shipped_one(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loading, "WEIGHTS", folder)
    (folder / "default.toml").write_text((folder / "two.toml").read_text())
    assert rejoinder.load("default").name == "two"

    (folder / "default.toml").unlink()
    with pytest.raises(UnknownNameError, match="unknown scorer 'default'"):
        rejoinder.load("default")


def test_shipped_cascades_have_names() -> None:
    listed = {item.name for item in loading.describe_cascades()}

    assert listed == set(loading.CASCADES)
    assert all(rejoinder.load(name).name == name for name in listed)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("name = ", "not TOML: Invalid value"),
        ("name = " + "[" * 5000, "not TOML: maximum recursion"),
        ("", "a cascade needs at least one stage"),
        ("stage = 3", "stage: expected 'array', found 3"),
        ("stage = [3]", "stage 1: expected 'object', found 3"),
        (
            "stages = []",
            "unknown field 'stages'; known: name, stage, calibration, sentences, tuned",
        ),
        ("[[stage]]\nkeep = 3", "stage 1: field 'scorer' is missing"),
        (
            '[[stage]]\nscorer = "bm25"\nkeep = true',
            r"stage 1: keep: expected 'int \| null', found true",
        ),
        (
            '[[stage]]\nscorer = "bm25"\nkep = 1',
            "stage 1: unknown field 'kep'; known: scorer, keep",
        ),
        (
            '[[stage]]\nscorer = "bm25"\ndocument_prior = -1',
            "document_prior: expected .float. >= 0.0, found -1",
        ),
        (
            '[[stage]]\nscorer = "bm25"\ndocument_prior = inf',
            "document_prior: expected 'float' < 1000000000.0, found Inf",
        ),
        (
            '[[stage]]\nscorer = "bm25"\ndocument_prior = "much"',
            'document_prior: expected .float., found "much"',
        ),
        ('[[stage]]\nscorer = "bm25"\nfusion = -1', "fusion: expected .float. >= 0.0, found -1"),
        (
            '[[stage]]\nscorer = "bm25"\ninterpolation = -1',
            "interpolation: expected .float. >= 0.0, found -1",
        ),
        (f"{STOPPING}keep_for_one = 5", "stage 2: keep_for_one cannot be 5: it is 1 to keep"),
        (TWO_STAGES.replace("keep = 2", "keep = 2\nkeep_for_one = 0"), "keep_for_one cannot be 0"),
        (TWO_STAGES.replace("keep = 2", "keep = 2\nkeep_for_one = 3"), "keep_for_one cannot be 3"),
        (
            '[[stage]]\nscorer = "bm25"\nfusion = 1\ninterpolation = 1',
            "stage 1: fusion and interpolation exclude each other; remove one",
        ),
        (
            '[[stage]]\nscorer = "bm25"\nreads = "page"',
            "reads: must be 'sentence' or 'passage', found",
        ),
        (
            f"{STOPPING}stop = {{ risk = 1, {STOP} }}",
            "the risk of a stop must be from 0 to below 1",
        ),
        (f"{STOPPING}stop = {{ risk = 0, first = 0, {STOP} }}", "reads at least 1 candidate at a"),
        (f"{STOPPING}stop = {{ {STOP} }}", "stage 2: stop: field 'risk' is missing"),
        (f'[[stage]]\nscorer = "bm25"\nstop = {{ risk = 0, {STOP} }}', "stage 1 cannot stop"),
        (
            '[[stage]]\nscorer = "bm25"\ncost = { word_ms = -1 }',
            "cost: word_ms: expected .float. >= 0.0, found -1",
        ),
        ('[[stage]]\nscorer = "bm25"\n[calibration]\nbest = 1', "field 'intercept' is missing"),
        (
            '[[stage]]\nscorer = "bm25"\n[calibration]\nintercept = 0\nbest = 1\nmargin = 0\n'
            "count = 0\nthreshold = 0.5\nknots = [1]",
            "calibration: knots 1: expected 'array', found 1",
        ),
        (
            '[[stage]]\nscorer = "bm25"\n[calibration]\nintercept = 0\nbest = 1\nmargin = 0\n'
            "count = 0\nthreshold = 0.5\nanswerability = { intercept = 1, best = 1, margin = 0,"
            " count = 0, bset = 1 }",
            "calibration: answerability: unknown field 'bset'",
        ),
        (
            '[[stage]]\nscorer = "bm25"\n[[frontier]]\ncascade = "b"',
            "frontier 1: field 'P@1' is missing",
        ),
        (
            TWO_STAGES.replace("models/small", 'bm25"\nkeep = 3\n[[stage]]\nscorer = "bm25'),
            "stage 2 keeps 3, but gets only 2; keep must not grow",
        ),
        (TWO_STAGES.replace("jaccard", "jacard"), "stage 1: no scorer is called 'jacard'"),
        (TWO_STAGES.replace("models/small", "models/gone"), "there is no bundle .*models/gone"),
        (TWO_STAGES.replace("models/small", "models"), "stage 2: .*models: not a bundle"),
        (TWO_STAGES.replace("models/small", "two.toml"), "stage 2: .*two.toml: not a bundle"),
    ],
)
def test_a_file_that_cannot_be_is_one_clear_line(folder: Path, text: str, problem: str) -> None:
    path = folder / "two.toml"
    path.write_text(text, encoding="utf-8")

    with pytest.raises(DataError, match=rf"two\.toml: .*{problem}") as raised:
        rejoinder.load(path)

    assert "\n" not in str(raised.value)


def test_files_that_cannot_be_read_or_written(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"gone\.toml: No such file"):
        rejoinder.load(tmp_path / "gone.toml")
    (tmp_path / "latin.toml").write_bytes(b'name = "\xff"')
    with pytest.raises(DataError, match=r"latin\.toml: not UTF-8"):
        rejoinder.load(tmp_path / "latin.toml")
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="cannot write"):
        write_cascade_file(tmp_path / "file" / "c.toml", CascadeFile("c", (StageLine("bm25"),)))


def test_only_a_stage_that_reads_one_by_one_can_stop(folder: Path) -> None:
    text = STOPPING.replace("word-overlap", "bm25") + f"stop = {{ risk = 0, {STOP} }}"
    (folder / "two.toml").write_text(text, encoding="utf-8")

    with pytest.raises(
        DataError, match="stage 2: bm25 scores its list as a whole; remove the stop"
    ):
        rejoinder.load(folder / "two.toml")


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ('missing = "drop"', "missing: must be 'encode' or 'leave', found"),
        ('missing = "leave"', "reads no stored rows"),
    ],
)
def test_only_a_scorer_with_a_sidecar_can_leave_candidates(
    folder: Path, line: str, problem: str
) -> None:
    (folder / "two.toml").write_text(f"{TWO_STAGES}{line}\n", encoding="utf-8")

    with pytest.raises(DataError, match=problem):
        rejoinder.load(folder / "two.toml")


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("keep = 0", "sentences: keep: expected 'int' >= 1, found 0"),
        ("keep = 5\nkeeep = 5", "sentences: unknown field 'keeep'"),
        ("keep = 5\n[sentences.stages.jaccard]\nscore = 1", "field 'intercept' is missing"),
        (
            "keep = 5\n[sentences.stages.jaccard]\nintercept = 0\nscore = 1\nlead = -1",
            "stages: jaccard: lead: expected .float. >= 0.0, found -1",
        ),
        ("keep = 5\nstages = 3", "stages: expected 'object', found 3"),
        ("keep = 5\nstages = { jaccard = 3 }", "stages: jaccard: expected 'object', found 3"),
    ],
)
def test_a_wrong_calibration_of_sentences_is_named(tmp_path: Path, line: str, problem: str) -> None:
    stages = "" if "stages" in line else "\n[sentences.stages]\n"
    given = f"floor = 0.01\nthreshold = 0.3\npruning = 0.1\n{line}\n{stages}"
    path = tmp_path / "c.toml"
    path.write_text(f'[[stage]]\nscorer = "jaccard"\n[sentences]\n{given}', encoding="utf-8")

    with pytest.raises(DataError, match=problem):
        read_cascade_file(path)
