"""txtai with its own keyword index (BM25) and the cross-encoder as its reranker."""

from benchmarks.comparison.cross_encoders import FOLDER
from benchmarks.comparison.setting import (
    ANSWERS,
    RERANKED,
    Indexing,
    Search,
    Setting,
    read_sentences,
)

INDEX = "txtai"


def index(setting: Setting) -> Indexing:
    """Return what indexes a corpus."""
    from txtai import Embeddings

    rows = [(item.place, item.titled, None) for item in read_sentences(setting)]

    def build() -> None:
        embeddings = Embeddings(keyword=True, content=True)
        embeddings.index(rows)
        embeddings.save(str(setting.folder / INDEX))

    return build


def open_search(setting: Setting) -> Search:
    """Return what answers from a corpus."""
    import torch
    from txtai import Embeddings
    from txtai.pipeline import Reranker, Similarity

    assert setting.weights is not None, "the contender needs weights"
    embeddings = Embeddings()
    embeddings.load(str(setting.folder / INDEX))
    model = Similarity(str(setting.weights / FOLDER), crossencode=True, gpu=False)
    torch.set_num_threads(setting.threads)
    rerank = Reranker(embeddings, model)
    texts = [item.text for item in read_sentences(setting)]  # it stores them with their titles

    def answer(question: str) -> list[str]:
        rows = rerank(question, limit=ANSWERS, factor=RERANKED // ANSWERS)
        return [texts[int(row["id"])] for row in rows]

    return Search(answer)
