"""PyTerrier: a transformer that reranks, without Java."""

from pathlib import Path

from rejoinder.adapters.reranking import Reranked, need_extra, rerank, to_text
from rejoinder.cascade.loading import DEFAULT, to_scorer
from rejoinder.models.ranking import check_min_confidence
from rejoinder.models.scorer import Scorer

with need_extra("pyterrier"):
    import pandas as pd
    import pyterrier as pt

COLUMNS = [
    "score",
    "rejoinder_sentence",
    "rejoinder_start",
    "rejoinder_end",
    "rejoinder_confidence",
    "rejoinder_abstains",
]


class RejoinderReranker(pt.Transformer):
    """Scores each document by its best sentence: qid, query, docno, text → score, rank.

    Adds the `rejoinder_…` metadata of `adapters.reranking` as columns, but for the score, which
    is in `score`.  Every document is returned: filter by `rejoinder_abstains` to drop questions
    without an answer, and use `% k` to truncate.
    """

    def __init__(
        self,
        scorer: Scorer | str | Path = DEFAULT,
        *,
        text_field: str = "text",
        budget_ms: float | None = None,
        min_confidence: float | None = None,
    ) -> None:
        """Load the scorer.

        Args:
            scorer: a name of `rejoinder models list`, the folder of a bundle, a cascade file,
                or a scorer.
            text_field: the column of the text; a column `title` is optional.
            budget_ms: the latency budget of each question.
            min_confidence: abstain below this confidence, instead of where the scorer finds
                no answer likely.
        """
        self._scorer = to_scorer(scorer)
        check_min_confidence(min_confidence, self._scorer)
        self._text_field = text_field
        self._budget_ms = budget_ms
        self._min_confidence = min_confidence

    def transform(self, inp: pd.DataFrame) -> pd.DataFrame:
        """Return the rows with new scores and ranks."""
        pt.validate.result_frame(inp, extra_columns=["query", self._text_field])
        kept = inp.drop(columns=[*COLUMNS, "rank"], errors="ignore").reset_index(drop=True)
        by_row: dict[int, Reranked] = {}
        for _, rows in kept.groupby("qid", sort=False, dropna=False):
            places = rows.index.to_list()
            for item in self._rerank(rows):
                by_row[places[item.place]] = item
        scored = [by_row[place] for place in range(len(kept))]
        added = {name: [item.metadata.get(name, item.score) for item in scored] for name in COLUMNS}
        return pt.model.add_ranks(kept.assign(**added))

    def _rerank(self, rows: pd.DataFrame) -> list[Reranked]:
        titles = rows["title"] if "title" in rows else [""] * len(rows)
        return rerank(
            rows["query"].iloc[0],
            [to_text(text) for text in rows[self._text_field]],
            scorer=self._scorer,
            titles=[to_text(title) for title in titles],
            budget_ms=self._budget_ms,
            min_confidence=self._min_confidence,
        )
