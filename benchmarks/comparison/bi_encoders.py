"""Bi-encoders: all-MiniLM-L6-v2 and bge-small-en-v1.5.

Inside a document, sentence-transformers encodes its sentences with the question, in fp32.  A corpus
would take hours that way on two cores, so its sentences and questions are encoded by int8 exports
(`benchmarks.corpora.embeddings`: one text per call, a cosine of 0.998 with fp32), and all vectors
are compared, in numpy.
"""

import os
import sys
from collections.abc import Sequence
from functools import partial
from itertools import islice
from time import perf_counter

from benchmarks.comparison.setting import (
    ANSWERS,
    MAX_TOKENS,
    Indexing,
    Rank,
    Search,
    Setting,
    read_sentences,
    sort_by,
    take_five,
)

BATCHES, BATCH = 20, 20
"""Sentences, spread over a corpus, that say how long all of them take."""
MINUTES = "COMPARISON_EMBED_MINUTES"
"""The variable with the most that one encoder may take for one corpus."""


def open_ranker(setting: Setting, encoder: str) -> Rank:
    """Return what ranks the sentences of a document."""
    import torch
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.modules import Normalize, Pooling, Transformer

    from benchmarks.corpora.embeddings import ENCODERS

    torch.set_num_threads(setting.threads)
    own = ENCODERS[encoder]
    states = Transformer(own.find(setting.weights))
    states.max_seq_length = MAX_TOKENS
    pooling = Pooling(states.get_embedding_dimension(), "mean" if own.pools_mean else "cls")
    model = SentenceTransformer(modules=[states, pooling, Normalize()], device="cpu")

    def rank(question: str, texts: Sequence[str]) -> list[int]:
        asked = model.encode(question, prompt=own.prefix or None, show_progress_bar=False)
        vectors = model.encode(list(texts), show_progress_bar=False)
        return sort_by((vectors @ asked).tolist())

    return rank


def index(setting: Setting, encoder: str) -> Indexing:
    """Return what encodes a corpus; vectors of an earlier run are used again.

    The seconds are therefore those of 400 sentences, on as many threads, times their number.
    """
    import numpy as np

    from benchmarks.corpora.embeddings import WIDTH, load_network
    from rejoinder.models.parallel import spread
    from rejoinder.training.teacher import VectorCache

    encode = load_network(encoder, setting.weights, setting.cache)
    texts = [f"{item.title}. {item.text}" for item in read_sentences(setting)]

    def build() -> float:
        sample = list(islice(texts[:: max(1, len(texts) // (BATCHES * BATCH))], BATCHES * BATCH))
        start = perf_counter()
        for at in range(0, len(sample), BATCH):
            spread(encode, sample[at : at + BATCH], threads=setting.threads)
        seconds = (perf_counter() - start) * len(texts) / len(sample)
        cached = VectorCache(setting.cache / encoder, WIDTH)
        is_cached = cached.path.stat().st_size >= 2 * WIDTH * len(set(texts))
        most = float(os.environ.get(MINUTES, "inf"))
        if not is_cached and seconds > 60 * most:
            sys.exit(f"encoding {len(texts):,} sentences takes {seconds / 60:.0f} minutes")
        vectors = cached.embed(texts, encode, partial(print, file=sys.stderr))
        folder = setting.folder / encoder
        folder.mkdir(exist_ok=True)
        np.save(folder / "vectors.npy", vectors)
        return seconds

    return build


def open_search(setting: Setting, encoder: str) -> Search:
    """Return what answers from a corpus by exact search."""
    import numpy as np

    from benchmarks.corpora.embeddings import ENCODERS, load_network

    encode = load_network(encoder, setting.weights, setting.cache)
    vectors = np.load(setting.folder / encoder / "vectors.npy")
    sentences = read_sentences(setting)
    prefix = ENCODERS[encoder].prefix

    def answer(question: str) -> list[str]:
        scores = vectors @ encode(prefix + question)
        count = min(2 * ANSWERS, len(scores))
        best = np.argpartition(-scores, count - 1)[:count]
        order = best[np.argsort(-scores[best], kind="stable")]
        return take_five([sentences[place] for place in order])

    return Search(answer)
