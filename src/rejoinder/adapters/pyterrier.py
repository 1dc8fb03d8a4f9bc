"""rejoinder in PyTerrier: a transformer that reranks, Java not needed."""

from pathlib import Path

from rejoinder.adapters.extras import needing
from rejoinder.adapters.reranking import Reranked, rerank, to_scorer, to_text
from rejoinder.cascade.loading import DEFAULT
from rejoinder.models.scorer import Scorer

with needing("pyterrier"):
    import pandas as pd
    import pyterrier as pt

COLUMNS = ["score", "rejoinder_sentence", "rejoinder_start", "rejoinder_end"]


class RejoinderReranker(pt.Transformer):
    """Scores each document by its best sentence: qid, query, docno, text → score, rank.

    The score is the scorer's own.  `rejoinder_sentence`, `_start` and `_end` say which
    sentence it was.  Every document keeps its row: `% k` cuts, and nothing abstains.
    """

    def __init__(
        self,
        scorer: Scorer | str | Path = DEFAULT,
        *,
        text_field: str = "text",
        budget_ms: float | None = None,
    ) -> None:
        """Load the scorer.

        Args:
            scorer: a name of `rejoinder models list`, a bundle's folder, a cascade's file,
                or a scorer.
            text_field: the column of the text; a column `title` is read where there is one.
            budget_ms: how long one question may take.
        """
        self._scorer = to_scorer(scorer)
        self._text_field = text_field
        self._budget_ms = budget_ms

    def transform(self, inp: pd.DataFrame) -> pd.DataFrame:
        """Return the rows with new scores and ranks."""
        pt.validate.result_frame(inp, extra_columns=["query", self._text_field])
        kept = inp.drop(columns=[*COLUMNS, "rank"], errors="ignore").reset_index(drop=True)
        found: dict[int, Reranked] = {}
        for _, rows in kept.groupby("qid", sort=False, dropna=False):
            places = rows.index.to_list()
            for item in self._rerank(rows):
                found[places[item.place]] = item
        scored = [found[place] for place in range(len(kept))]
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
        )
