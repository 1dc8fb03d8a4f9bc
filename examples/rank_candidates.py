"""Rank the hits of a search engine: the sentence that answers comes first.

Usage: python examples/rank_candidates.py
"""

import rejoinder

HITS = [
    "Black tea can take water at a full boil.",
    "Green tea should be brewed at about 75 °C, because boiling water makes it bitter.",
    "Tea kept dry, dark and away from coffee stays good for two years.",
]


def main() -> None:
    ranking = rejoinder.rank(
        "When does green tea turn bitter?", HITS, scorer=rejoinder.load("bm25")
    )
    for item in ranking.items:
        print(f"{item.rank}  {item.score:.2f}  {item.candidate.text}")


if __name__ == "__main__":
    main()
