"""An answer is encoded once, however many lists contain it."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch")
pytest.importorskip("onnxruntime")

from tests.models.hashers import CANDIDATES, EXAMPLE, OTHER, write_tiny_has

from rejoinder.evaluation import evaluate
from rejoinder.evaluation.stored_answers import (
    POOL_ANSWERS,
    POOL_WORDS,
    measure_costs,
    store_texts,
    storing_answers,
)
from rejoinder.models.has.scorer import AnswerEncoder, HasScorer
from rejoinder.models.lexical.scorers import Bm25


@pytest.fixture
def scorer(tmp_path: Path) -> HasScorer:
    return write_tiny_has(tmp_path / "bundle")


def test_evaluate_encodes_each_answer_once(
    scorer: HasScorer, monkeypatch: pytest.MonkeyPatch
) -> None:
    encoded: list[str] = []
    encode = AnswerEncoder.encode_texts

    def note(self: AnswerEncoder, texts: Sequence[str]) -> Any:
        encoded.extend(texts)
        return encode(self, texts)

    monkeypatch.setattr(AnswerEncoder, "encode_texts", note)

    report = evaluate(scorer, iter([EXAMPLE, OTHER, EXAMPLE]))

    assert sorted(encoded) == sorted(item.text for item in CANDIDATES)
    for ranked, example in zip(report.rankings, (EXAMPLE, OTHER, EXAMPLE), strict=True):
        scores = dict(zip(ranked.candidate_ids, ranked.scores, strict=True))
        own = scorer.score(example.question, example.candidates)
        expected = {item.id: one for item, one in zip(CANDIDATES, own, strict=True)}
        assert {id_: one for id_, one in scores.items() if id_ != "d"} == pytest.approx(
            {id_: one for id_, one in expected.items() if id_ != "d"}, abs=1e-5
        )


def test_a_scorer_with_a_store_and_other_scorers_stay_as_they_are(
    scorer: HasScorer, tmp_path: Path
) -> None:
    stored = store_texts(tmp_path / "store", scorer.sidecar, [item.text for item in CANDIDATES])
    for one in (scorer.bind(stored), Bm25()):
        examples = iter([EXAMPLE])
        with storing_answers(one, examples) as (bound, ready):
            assert bound is one
            assert ready is examples


def test_memory_is_also_given_for_the_papers_pool(scorer: HasScorer) -> None:
    (cost,) = measure_costs({"bits": scorer.sidecar.folder}, stored=40, repeats=2)

    assert cost.pool_gb is not None
    # 32 bits a word, 200 words, and a few bytes of each answer's block.
    least = POOL_ANSWERS * POOL_WORDS * 4 / 2**30
    assert least <= cost.pool_gb <= 1.2 * least
