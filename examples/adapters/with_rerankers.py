"""Rank documents through the interface of `rerankers`.

Usage: python examples/adapters/with_rerankers.py      (needs rejoinder[rerankers])
"""

from pathlib import Path

from rejoinder.adapters.rerankers import RejoinderRanker

DOCS = Path(__file__).parents[1] / "docs"


def main() -> None:
    paths = sorted(DOCS.iterdir())
    ranked = RejoinderRanker().rank(
        "How many eggs does a queen lay?",
        [path.read_text(encoding="utf-8") for path in paths],
        doc_ids=[path.name for path in paths],
    )
    for result in ranked.top_k(2):
        print(f"{result.rank}  {result.score:.2f}  {result.doc_id}: {result.rejoinder_sentence}")


if __name__ == "__main__":
    main()
