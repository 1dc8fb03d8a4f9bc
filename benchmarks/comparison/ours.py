"""rejoinder, as its README sets it up."""

import json
from collections.abc import Sequence

from benchmarks.comparison.setting import ANSWERS, Find, Indexing, Rank, Search, Sentence, Setting

INDEX = "rejoinder"


def open_ranker(setting: Setting, scorer: str = "default", budget_ms: float | None = None) -> Rank:
    """Return what ranks the sentences of a document."""
    import rejoinder

    opened = rejoinder.load(scorer, threads=setting.threads)

    def rank(question: str, texts: Sequence[str]) -> list[int]:
        ranking = rejoinder.rank(question, list(texts), scorer=opened, budget_ms=budget_ms)
        # Candidates that are texts have their places as ids.
        return [int(item.candidate.id) for item in ranking.items]

    return rank


def index(setting: Setting) -> Indexing:
    """Return what indexes a corpus: its files, or its documents in sentences."""
    from rejoinder.index.index import Index
    from rejoinder.types import Document

    documents = []
    if not setting.manuals:
        with (setting.folder / "documents.jsonl").open(encoding="utf-8") as file:
            for title, sentences in map(json.loads, file):
                documents.append(Document(title, title, tuple(sentences)))

    def build() -> None:
        with Index(setting.folder / INDEX, create=True) as opened:
            if setting.manuals:
                opened.add([setting.manuals])
            else:
                opened.add_documents(documents)

    return build


def open_index(setting: Setting) -> Find:
    """Return our search alone."""
    from rejoinder.index.index import Index

    opened = Index(setting.folder / INDEX)

    def find(question: str, k: int) -> list[Sentence]:
        found = [hit.candidate for hit in opened.search(question, k)]
        return [
            Sentence(place, item.document.title if item.document else "", item.text)
            for place, item in enumerate(found)
        ]

    return find


def open_search(
    setting: Setting, scorer: str = "default", budget_ms: float | None = None
) -> Search:
    """Return what answers from a corpus."""
    import rejoinder

    opened = rejoinder.load(scorer, threads=setting.threads)
    engine = rejoinder.open(setting.folder / INDEX, scorer=opened)
    engine.prepare()

    def answer(question: str) -> list[str]:
        return [item.sentence for item in engine.answer(question, budget_ms=budget_ms).answers]

    def answer_five(question: str) -> list[str]:
        # Sentences are judged one by one; a user who is shown passages sees each of them once.
        found = engine.answer(question, top=ANSWERS, budget_ms=budget_ms, context="sentence")
        return [item.sentence for item in found.answers]

    return Search(answer, answer_five)
