"""Measures answers out of documents: the articles of a data set as files, its questions asked.

Usage: python -m benchmarks.end_to_end [--dataset squad-v2] [--split dev] [--data DATA]
           [--scorer SCORER ...] [--sidecar BUNDLE] [--questions N] [--bi-encoder] > end_to_end.json
       python -m benchmarks.end_to_end --only-retrieval [--weights AROUND/TITLE ...] ...
       python -m benchmarks.end_to_end --keywords ...

Every paragraph of an article is indexed, and every question is asked of all articles at once.
For each scorer (`as-found` is the order of retrieval): the share of answerable questions whose
first answer is the right sentence, with the recall of retrieval at 100 beside it, milliseconds
per question, and over all questions, the unanswerable too, the precision for each answer rate
when the least sure are not answered (by confidence, else by score).

`--sidecar` first stores the rows of a bundle, and says how long that took; scorers then read them.

`--only-retrieval` ranks nothing: it gives the recall of retrieval at 1, 10 and 100, for each pair
of weights for the words around a sentence and in its title.  To choose weights, on a set that
is not measured on.

`--keywords` asks as people type into a search box: the question's words in their order, without
those that carry no topic ("who wrote the book of Job?" becomes "wrote book Job").

`--bi-encoder` adds the way people do it today: all sentences and the question as vectors of
all-MiniLM-L6-v2, and the closest sentence.  It needs the extra `train` and the package that
`rejoinder train static-vectors` names.  Prints one JSON object.
"""

import argparse
import json
import os
import platform
import statistics
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from rejoinder.cascade.loading import load
from rejoinder.datasets.catalogue import open_dataset
from rejoinder.engine.engine import Engine
from rejoinder.index.fulltext.full_text_index import BOOSTS
from rejoinder.index.index import Index
from rejoinder.models.registry import open_sidecar
from rejoinder.text.words import split_words
from rejoinder.types import Example

RECALL_AT = (1, 10, 100)
NO_TOPIC = """
a an and are as at be been by can could did do does for from had has have how i if in into is it its
many me much my of on or s should that the their there these they this to was we were what when
where which who whom whose why will with would you your
"""
RATES = (0.2, 0.4, 0.6, 0.8, 1.0)


@dataclass(frozen=True)
class Asked:
    """What came back for one question."""

    is_right: bool
    is_answerable: bool
    sureness: float
    milliseconds: float


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--dataset", default="squad-v2")
    parser.add_argument("--split", default="dev")
    parser.add_argument("--data", type=Path)
    parser.add_argument("--scorer", action="append", default=[])
    parser.add_argument("--sidecar", type=Path, metavar="BUNDLE")
    parser.add_argument("--questions", type=int, help="ask so many, evenly spread")
    parser.add_argument("--bi-encoder", action="store_true")
    parser.add_argument("--keywords", action="store_true")
    parser.add_argument("--only-retrieval", action="store_true")
    parser.add_argument("--weights", action="append", default=[], metavar="AROUND/TITLE")
    given = parser.parse_args()
    opened = open_dataset(given.dataset, split=given.split, folder=given.data)
    examples = [example for example in opened if example.candidates]
    step = max(1, len(examples) // given.questions) if given.questions else 1
    asked = [keep_keywords(item) if given.keywords else item for item in examples[::step]]
    with tempfile.TemporaryDirectory() as folder, make_index(examples, Path(folder)) as index:
        result: dict[str, Any] = {
            "dataset": given.dataset,
            "split": given.split,
            "keywords": given.keywords,
            "documents": index.store.count()[0],
            "sentences": index.store.count()[1],
            "questions": len(asked),
            "answerable": sum(any(example.labels) for example in asked),
            "recall": measure_recalls(index, asked, given.weights),
            "machine": {"python": platform.python_version(), "cores": os.cpu_count()},
        }
        if given.sidecar:
            result["stored"] = store_answers(index, given.sidecar)
        if not given.only_retrieval:
            result["scorers"] = measure_scorers(index, asked, given.scorer, given.bi_encoder)
    print(json.dumps(result))


def measure_scorers(
    index: Index, asked: Sequence[Example], names: Sequence[str], with_bi_encoder: bool
) -> dict[str, Any]:
    results = {}
    for name in ["as-found", *names]:
        engine = Engine(index, None if name == "as-found" else load(name))
        results[name] = summarise([ask(engine, item) for item in asked])
    if with_bi_encoder:
        search = make_bi_encoder(index)
        results["bi-encoder"] = summarise([ask_with(search, item) for item in asked])
    return results


def make_index(examples: Iterable[Example], folder: Path) -> Index:
    """Index one document per title, each distinct list of candidates a paragraph of it."""
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


def store_answers(index: Index, bundle: Path) -> dict[str, float]:
    """Store what a HAS bundle makes of all sentences; return what it took."""
    maker = open_sidecar(bundle)
    start = time.perf_counter()
    index.store_sidecar(maker)
    seconds = time.perf_counter() - start
    stored = index.open_sidecar(maker)
    assert stored is not None
    size = sum(path.stat().st_size for path in stored.store.folder.iterdir())
    return {"seconds": round(seconds, 1), "megabytes": round(size / 1e6, 2)}


def measure_recalls(
    index: Index, examples: Sequence[Example], weights: Sequence[str]
) -> dict[str, dict[str, float]]:
    """Return the recalls for each pair of weights; of what is shipped where none is given."""
    shipped = dict(BOOSTS)
    recalls = {}
    for pair in weights or [f"{shipped['around']}/{shipped['title']}"]:
        around, title = map(float, pair.split("/"))
        BOOSTS.update(around=around, title=title)
        recalls[pair] = measure_recall(index, examples)
    BOOSTS.update(shipped)
    return recalls


def measure_recall(index: Index, examples: Sequence[Example]) -> dict[str, float]:
    """Return the share of answerable questions with a right sentence among the first k found."""
    ranks = []
    for example in examples:
        if any(example.labels):
            right = list_right(example)
            found = index.search(example.question, max(RECALL_AT))
            ranks.append(next((hit.rank for hit in found if hit.candidate.text in right), np.inf))
    return {f"at_{k}": round(statistics.mean(rank <= k for rank in ranks), 4) for k in RECALL_AT}


def keep_keywords(example: Example) -> Example:
    words = [word.text for word in split_words(example.question)]
    no_topic = set(NO_TOPIC.split())
    kept = [word for word in words if word.lower() not in no_topic]
    return replace(example, question=" ".join(kept or words))


def list_right(example: Example) -> set[str]:
    pairs = zip(example.candidates, example.labels, strict=True)
    return {candidate.text for candidate, is_right in pairs if is_right}


def ask(engine: Engine, example: Example) -> Asked:
    start = time.perf_counter()
    found = engine.answer(example.question)
    milliseconds = 1000 * (time.perf_counter() - start)
    best = found.answers[0] if found.answers else found.closest
    sureness = -np.inf
    if best is not None:
        sureness = best.score if found.confidence is None else found.confidence
    is_right = best is not None and best.sentence in list_right(example)
    return Asked(is_right, any(example.labels), sureness, milliseconds)


def ask_with(search: Callable[[str], tuple[str, float]], example: Example) -> Asked:
    start = time.perf_counter()
    sentence, score = search(example.question)
    milliseconds = 1000 * (time.perf_counter() - start)
    return Asked(sentence in list_right(example), any(example.labels), score, milliseconds)


def summarise(asked: Sequence[Asked]) -> dict[str, Any]:
    times = sorted(item.milliseconds for item in asked)
    by_sureness = sorted(asked, key=lambda item: -item.sureness)
    curve = {}
    for rate in RATES:
        answered = by_sureness[: max(1, round(rate * len(asked)))]
        curve[str(rate)] = round(statistics.mean(item.is_right for item in answered), 4)
    return {
        "first_is_right": round(
            statistics.mean(item.is_right for item in asked if item.is_answerable), 4
        ),
        "precision_at_answer_rate": curve,
        "p50_ms": round(times[len(times) // 2], 2),
        "p99_ms": round(times[int(0.99 * (len(times) - 1))], 2),
    }


def make_bi_encoder(index: Index) -> Callable[[str], tuple[str, float]]:
    import torch
    from transformers import AutoModel, AutoTokenizer

    from rejoinder.models.encoders.loading import find_encoder

    place = find_encoder()
    tokenizer: Any = AutoTokenizer.from_pretrained(place)
    encoder: Any = AutoModel.from_pretrained(place).eval()

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
        if not row.is_heading
    ]
    vectors = np.concatenate([encode(texts[at : at + 64]) for at in range(0, len(texts), 64)])

    def search(question: str) -> tuple[str, float]:
        scores = vectors @ encode([question])[0]
        best = int(scores.argmax())
        return texts[best], float(scores[best])

    return search


if __name__ == "__main__":
    main()
