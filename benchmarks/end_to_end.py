"""Measure answers end to end: index the articles of a data set, and ask its questions.

Usage: python -m benchmarks.end_to_end [--dataset squad-v2] [--split dev] [--data DATA]
           [--scorer SCORER ...] [--sidecar BUNDLE] [--questions N] [--bi-encoder] > end_to_end.json
       python -m benchmarks.end_to_end --only-retrieval [--weights AROUND/TITLE ...] ...
       python -m benchmarks.end_to_end --keywords ...

Every paragraph of an article is indexed, and every question searches all articles at once.
For each scorer (`retrieval-order` ranks nothing): the share of answerable questions whose first
answer is right, beside the recall of retrieval at 100; milliseconds per question; and, over all
questions including the unanswerable ones, the precision at several answer rates when the
questions with the lowest confidence (or score, where there is none) are not answered.

`--sidecar` first stores a bundle's rows beside the index, for the scorers that read them, and
reports the time and size.

`--only-retrieval` ranks nothing: it reports the recall of retrieval at 1, 10 and 100 for weights
of a sentence's passage, headings and title (`--weights 0.5/0.5/0.2`).  Choose weights with it, on
a data set that nothing is measured on.

`--keywords` turns questions into search queries: their words in order, without stop words ("who
wrote the book of Job?" becomes "wrote book Job").

`--bi-encoder` adds the common alternative: the nearest sentence by all-MiniLM-L6-v2 embeddings.
It needs the extra `train` and the package that `rejoinder train static-vectors` names.

Prints one JSON object.
"""

import argparse
import json
import statistics
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.common import describe_machine, get_percentiles
from benchmarks.function_words import STOP_WORDS
from rejoinder.cascade.loading import load
from rejoinder.datasets.catalogue import open_dataset
from rejoinder.engine.engine import Engine
from rejoinder.index.fulltext.query import BOOSTS
from rejoinder.index.index import Index
from rejoinder.models.registry import open_sidecar
from rejoinder.text.words import split_words
from rejoinder.types import Example

RECALL_AT = (1, 10, 100)
RATES = (0.2, 0.4, 0.6, 0.8, 1.0)


@dataclass(frozen=True)
class Trial:
    """The first answer to one question."""

    is_right: bool
    is_answerable: bool
    confidence: float
    milliseconds: float


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--dataset", default="squad-v2")
    parser.add_argument("--split", default="dev")
    parser.add_argument("--data", type=Path)
    parser.add_argument("--scorer", action="append", default=[])
    parser.add_argument("--sidecar", type=Path, metavar="BUNDLE")
    parser.add_argument("--questions", type=int, help="so many, evenly spread (default: all)")
    parser.add_argument("--bi-encoder", action="store_true")
    parser.add_argument("--keywords", action="store_true")
    parser.add_argument("--only-retrieval", action="store_true")
    parser.add_argument("--weights", action="append", default=[], metavar="PASSAGE/…")
    options = parser.parse_args()
    dataset = open_dataset(options.dataset, split=options.split, folder=options.data)
    examples = [example for example in dataset if example.candidates]
    step = max(1, len(examples) // options.questions) if options.questions else 1
    questions = [keep_keywords(item) if options.keywords else item for item in examples[::step]]
    with tempfile.TemporaryDirectory() as folder, make_index(examples, Path(folder)) as index:
        result: dict[str, Any] = {
            "dataset": options.dataset,
            "split": options.split,
            "keywords": options.keywords,
            "documents": index.store.count()[0],
            "sentences": index.store.count()[1],
            "questions": len(questions),
            "answerable": sum(any(example.labels) for example in questions),
            "recall": measure_recalls(index, questions, options.weights),
            "machine": describe_machine(),
        }
        if options.sidecar:
            result["stored"] = store_sidecar(index, options.sidecar)
        if not options.only_retrieval:
            result["scorers"] = measure_scorers(
                index, questions, options.scorer, options.bi_encoder
            )
    print(json.dumps(result))


def measure_scorers(
    index: Index, questions: Sequence[Example], names: Sequence[str], with_bi_encoder: bool
) -> dict[str, Any]:
    results = {}
    for name in ["retrieval-order", *names]:
        engine = Engine(index, None if name == "retrieval-order" else load(name))
        results[name] = summarise([ask(engine, item) for item in questions])
    if with_bi_encoder:
        search = make_bi_encoder(index)
        results["bi-encoder"] = summarise([ask_bi_encoder(search, item) for item in questions])
    return results


def make_index(examples: Iterable[Example], folder: Path) -> Index:
    """Index one document per title, with each distinct list of candidates as a paragraph."""
    articles: dict[str, dict[str, None]] = {}
    for example in examples:
        document = example.candidates[0].document
        assert document is not None
        paragraph = " ".join(item.text for item in example.candidates)
        articles.setdefault(document.title, {})[paragraph] = None
    rows = (
        {"id": title, "title": title.replace("_", " "), "text": "\n\n".join(paragraphs)}
        for title, paragraphs in articles.items()
    )
    path = folder / "articles.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    index = Index(folder / "index", create=True)
    assert index.add([path]).files == {"added": 1}
    return index


def store_sidecar(index: Index, bundle: Path) -> dict[str, float]:
    """Store a bundle's sidecar rows for all sentences; return the time and size."""
    sidecar = open_sidecar(bundle)
    start = time.perf_counter()
    index.store_sidecar(sidecar)
    seconds = time.perf_counter() - start
    stored = index.open_sidecar(sidecar)
    assert stored is not None
    size = sum(path.stat().st_size for path in stored.store.folder.iterdir())
    return {"seconds": round(seconds, 1), "megabytes": round(size / 1e6, 2)}


def measure_recalls(
    index: Index, examples: Sequence[Example], weights: Sequence[str]
) -> dict[str, dict[str, float]]:
    """Return the recalls for given weights of the context, or for the shipped ones."""
    shipped = dict(BOOSTS)
    context = [field for field in shipped if field != "text"]
    recalls = {}
    for given in weights or ["/".join(str(shipped[field]) for field in context)]:
        BOOSTS.update(zip(context, map(float, given.split("/")), strict=True))
        recalls[given] = measure_recall(index, examples)
    BOOSTS.update(shipped)
    return recalls


def measure_recall(index: Index, examples: Sequence[Example]) -> dict[str, float]:
    """Return the share of answerable questions with a right sentence among the first k hits."""
    ranks = []
    for example in examples:
        if any(example.labels):
            right = list_right(example)
            hits = index.search(example.question, max(RECALL_AT))
            ranks.append(next((hit.rank for hit in hits if hit.candidate.text in right), np.inf))
    return {f"at_{k}": round(statistics.mean(rank <= k for rank in ranks), 4) for k in RECALL_AT}


def keep_keywords(example: Example) -> Example:
    words = [word.text for word in split_words(example.question)]
    stop_words = set(STOP_WORDS.split())
    kept = [word for word in words if word.lower() not in stop_words]
    return replace(example, question=" ".join(kept or words))


def list_right(example: Example) -> set[str]:
    pairs = zip(example.candidates, example.labels, strict=True)
    return {candidate.text for candidate, is_right in pairs if is_right}


def ask(engine: Engine, example: Example) -> Trial:
    start = time.perf_counter()
    result = engine.answer(example.question)
    milliseconds = 1000 * (time.perf_counter() - start)
    best = result.answers[0] if result.answers else None
    confidence = -np.inf
    if best is not None:
        confidence = best.score if result.confidence is None else result.confidence
    is_right = best is not None and best.sentence in list_right(example)
    return Trial(is_right, any(example.labels), confidence, milliseconds)


def ask_bi_encoder(search: Callable[[str], tuple[str, float]], example: Example) -> Trial:
    start = time.perf_counter()
    sentence, score = search(example.question)
    milliseconds = 1000 * (time.perf_counter() - start)
    return Trial(sentence in list_right(example), any(example.labels), score, milliseconds)


def summarise(trials: Sequence[Trial]) -> dict[str, Any]:
    by_confidence = sorted(trials, key=lambda item: -item.confidence)
    curve = {}
    for rate in RATES:
        answered = by_confidence[: max(1, round(rate * len(trials)))]
        curve[str(rate)] = round(statistics.mean(item.is_right for item in answered), 4)
    return {
        "first_is_right": round(
            statistics.mean(item.is_right for item in trials if item.is_answerable), 4
        ),
        "precision_at_answer_rate": curve,
        **get_percentiles([item.milliseconds for item in trials], 50, 99),
    }


def make_bi_encoder(index: Index) -> Callable[[str], tuple[str, float]]:
    import torch
    from transformers import AutoModel, AutoTokenizer

    from rejoinder.models.encoders.loading import find_encoder

    path = find_encoder()
    tokenizer: Any = AutoTokenizer.from_pretrained(path)
    encoder: Any = AutoModel.from_pretrained(path).eval()

    def encode(texts: list[str]) -> Any:
        batch = tokenizer(texts, padding=True, truncation=True, max_length=256, return_tensors="pt")
        with torch.no_grad():
            states = encoder(**batch).last_hidden_state
        mask = batch["attention_mask"][:, :, None]
        means = (states * mask).sum(1) / mask.sum(1)
        return torch.nn.functional.normalize(means, dim=1).numpy()

    texts = [
        row.text
        for document in index.store.get_documents()
        for row in index.store.get_sentences(document.id)
        if row.may_answer
    ]
    vectors = np.concatenate([encode(texts[at : at + 64]) for at in range(0, len(texts), 64)])

    def search(question: str) -> tuple[str, float]:
        scores = vectors @ encode([question])[0]
        best = int(scores.argmax())
        return texts[best], float(scores[best])

    return search


if __name__ == "__main__":
    main()
