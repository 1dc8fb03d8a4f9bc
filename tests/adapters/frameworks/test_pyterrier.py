import pandas as pd
import pyterrier as pt
import pytest

from rejoinder.adapters.pyterrier import RejoinderReranker
from rejoinder.cascade.cascade import Cascade
from rejoinder.errors import InputError
from tests.adapters.texts import ANSWER, BEES, EVERYTHING, QUESTION, RAIN, TEA

RESULTS = pd.DataFrame(
    [
        ["1", QUESTION, "bees", BEES, 9.0, 0],
        ["2", "does it rain?", "bees", BEES, 9.0, 0],
        ["1", QUESTION, "tea", TEA, 8.0, 1],
        ["2", "does it rain?", "rain", RAIN, 8.0, 1],
    ],
    columns=["qid", "query", "docno", "text", "score", "rank"],
)


def test_each_question_is_ranked_by_its_documents_best_sentences() -> None:
    found = RejoinderReranker("word-overlap")(RESULTS)

    assert found["docno"].tolist() == ["bees", "bees", "tea", "rain"]
    assert found["score"].tolist() == [0.0, 0.0, 4.0, 1.0]  # "it" is in "It rains."
    assert found["rank"].tolist() == [1, 1, 0, 0]
    tea = found.iloc[2]
    assert {name: tea[name] for name in EVERYTHING if name in found} == {
        name: value for name, value in EVERYTHING.items() if name in found
    }
    assert tea["rejoinder_sentence"] == ANSWER
    assert RESULTS["score"].tolist() == [9.0, 9.0, 8.0, 8.0]


def test_it_composes_and_is_evaluated() -> None:
    found = pt.Transformer.from_df(RESULTS) >> RejoinderReranker(budget_ms=60_000) % 1
    questions = RESULTS[["qid", "query"]].drop_duplicates()
    judged = pd.DataFrame([["1", "tea", 1], ["2", "rain", 1]], columns=["qid", "docno", "label"])

    table = pt.Experiment([found], questions, judged, ["recip_rank"])

    assert table["recip_rank"].tolist() == [1.0]


def test_other_columns_are_read_and_kept() -> None:
    frame = RESULTS.rename(columns={"text": "body"}).assign(title="Tea", team="red")

    found = RejoinderReranker("word-overlap", text_field="body")(frame)

    assert found["team"].tolist() == ["red"] * 4
    assert found["score"].tolist() == [0.0, 0.0, 4.0, 1.0]


def test_a_row_without_text_is_last() -> None:
    frame = RESULTS.assign(text=[None, BEES, TEA, RAIN])

    found = RejoinderReranker("word-overlap")(frame)

    assert found["rank"].tolist() == [1, 1, 0, 0]
    assert found["rejoinder_sentence"].tolist()[0] == ""


def test_min_confidence_decides_and_the_rows_of_a_question_say_that_the_scorer_abstains(
    calibrated: Cascade,
) -> None:
    frame = RESULTS.replace("does it rain?", "xylophones?")

    usual = RejoinderReranker(calibrated)(frame)
    strict = RejoinderReranker(calibrated, min_confidence=0.9)(frame)
    again = RejoinderReranker(calibrated)(strict)

    assert usual["rejoinder_abstains"].tolist() == [False, True, False, True]
    assert strict["rejoinder_abstains"].tolist() == [True] * 4
    assert again["rejoinder_abstains"].tolist() == [False, True, False, True]
    assert usual.loc[usual["rank"] > 0, "rejoinder_confidence"].isna().all()
    assert usual["docno"].tolist() == frame["docno"].tolist()
    with pytest.raises(InputError, match="needs a confidence, and bm25 has none"):
        RejoinderReranker("bm25", min_confidence=0.5)


def test_no_rows_give_no_rows_with_all_columns() -> None:
    found = RejoinderReranker("word-overlap")(RESULTS.iloc[:0])

    assert len(found) == 0
    assert {"score", "rank", "rejoinder_sentence", "rejoinder_abstains"} <= set(found.columns)


def test_a_missing_column_is_named() -> None:
    with pytest.raises(pt.validate.InputValidationError, match="text"):
        RejoinderReranker("word-overlap")(RESULTS.drop(columns="text"))
