from pathlib import Path

import pytest
from tests.evaluation.test_replay import make_examples

from rejoinder.cascade.cascade import Cascade
from rejoinder.cascade.file import read_cascade_file
from rejoinder.cascade.loading import load
from rejoinder.errors import InputError
from rejoinder.evaluation import TuneOptions, tune
from rejoinder.types import Candidate, Example


def test_examples_are_tuned_into_a_cascade_file(tmp_path: Path) -> None:
    path = tmp_path / "c.toml"
    seen: list[int] = []

    result = tune(
        ["jaccard", "bm25"],
        make_examples(count=20, size=6),
        TuneOptions(to=path, questions=15, budget_ms=10_000, score_cache=tmp_path / "scores"),
        on_progress=lambda done, total, _: seen.append(total - done),
    )

    assert (result.questions, result.candidates) == (15, 6)
    assert seen == list(reversed(range(15)))
    assert {item.name for item in result.contenders} == {"jaccard", "bm25"}
    assert result.chosen is result.frontier[-1]
    assert result.best_alone.keeps == ()
    assert result.measured_ms > 0
    assert (tmp_path / "scores").stat().st_size > 0
    written = load(path)
    assert isinstance(written, Cascade)
    assert [stage.scorer.name for stage in written.stages] == list(result.chosen.names)


def test_a_fused_stage_is_tried_and_written(tmp_path: Path) -> None:
    options = TuneOptions(to=tmp_path / "c.toml", document_prior=0, fusion=2.0)

    result = tune(["jaccard", "bm25"], make_examples(count=6, size=6), options)

    assert {item.fusions for item in result.outcomes} == {(0.0,), (0.0, 0.0), (0.0, 2.0)}
    written = read_cascade_file(tmp_path / "c.toml")
    assert [stage.fusion for stage in written.stages] == list(result.chosen.fusions)


def test_a_stage_that_reads_passages_is_tried_and_written(tmp_path: Path) -> None:
    # Only the passages tell right from wrong.
    candidates = [Candidate(str(at), "it opened", passage="tower" * (at == 3)) for at in range(6)]
    labels = tuple(at == 3 for at in range(6))
    examples = [Example(str(at), "tower", tuple(candidates), labels) for at in range(5)]
    options = TuneOptions(
        to=tmp_path / "c.toml", document_prior=0, passage_scorers=["word-overlap"]
    )

    result = tune(["original-order"], examples, options)

    assert result.chosen.names[-1] == "word-overlap (passages)"
    assert result.chosen.accuracy == 1
    written = read_cascade_file(tmp_path / "c.toml")
    assert (written.stages[-1].scorer, written.stages[-1].reads) == ("word-overlap", "passage")


def test_without_passages_there_is_nothing_to_read(tmp_path: Path) -> None:
    options = TuneOptions(to=tmp_path / "c.toml", passage_scorers=["word-overlap"])

    with pytest.raises(InputError, match=r"no candidate has a passage to read; .* mine --passages"):
        tune(["jaccard"], make_examples(count=5, size=4), options)


def test_a_document_prior_of_0_tries_none(tmp_path: Path) -> None:
    options = TuneOptions(to=tmp_path / "c.toml", document_prior=0)

    result = tune(["jaccard", "bm25"], make_examples(count=5, size=4), options)

    assert not any(item.document_prior for item in result.outcomes)


def test_questions_without_an_answer_cannot_be_tuned_on(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="examples: no question has an answer"):
        tune(["jaccard"], [], TuneOptions(to=tmp_path / "c.toml"))
