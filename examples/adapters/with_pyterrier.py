"""Compare a PyTerrier pipeline before and after reranking.

Usage: python examples/adapters/with_pyterrier.py      (needs rejoinder[pyterrier])
"""

from pathlib import Path

import pandas as pd
import pyterrier as pt

from rejoinder.adapters.pyterrier import RejoinderReranker

DOCS = Path(__file__).parents[1] / "docs"
QUESTIONS = pd.DataFrame(
    [
        ["1", "How many eggs does a queen lay?"],
        ["2", "At what temperature is green tea brewed?"],
        ["3", "How are glacier caves formed?"],
    ],
    columns=["qid", "query"],
)
JUDGED = pd.DataFrame(
    [["1", "honeybees", 1], ["2", "tea", 1], ["3", "glacier-caves", 1]],
    columns=["qid", "docno", "label"],
)


def main() -> None:
    texts = [(path.stem, path.read_text(encoding="utf-8")) for path in sorted(DOCS.iterdir())]
    documents = pd.DataFrame(texts, columns=["docno", "text"])
    # Replaces a first stage: every document, in the order of their names.
    retrieved = QUESTIONS.merge(documents, how="cross").assign(score=0.0)
    first = pt.Transformer.from_df(pt.model.add_ranks(retrieved))
    pipelines = [first, first >> RejoinderReranker()]
    names = ["by name", "rejoinder"]
    table = pt.Experiment(pipelines, QUESTIONS, JUDGED, ["recip_rank", "P_1"], names=names)
    print(table.to_string(index=False))


if __name__ == "__main__":
    main()
