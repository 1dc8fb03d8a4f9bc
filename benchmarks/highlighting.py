"""Measure `highlight` and `prune`: sentence F1, what pruning keeps, and time.

Usage: python -m benchmarks.highlighting --data DATA [--part quality] [--part pruning]
           [--part time] [--set NAME] [--scores FOLDER] [--weights FOLDER]
           [--to benchmarks/results/highlighting.json] [--page docs/highlighting.md]

quality: precision, recall and F1 over the sentences of all questions of a set, on the texts of
MultiSpanQA (validation), which nothing was fitted to, and on the dev parts that the scale of
`[sentences]` was fitted to.  Texts have no titles.  `highlight` uses the threshold that it ships
with.  The contender is a cross-encoder of the usual size, ms-marco-MiniLM-L-12, which reads every
sentence; it is given the threshold that is best on each very set.

pruning: the share of the characters of long pages that is kept, and the share of the questions
with an answer in what is kept.  A page is an article of SQuAD that no shipped weights were trained
on, or all paragraphs of a title that QED or NQ-oracle ask.

time: ten documents of 1,200 characters in one request, and one of them, on one thread and on two.
The contender runs in this package's kernel, and as its users run it: in onnxruntime, one pair per
call, from the folder `ms-marco-minilm-l12` of --weights (with `model.int8.onnx` and
`tokenizer.json`).  All are measured in turns.  The load of the machine before is part of the
result: below 0.5 it was idle.

A part, or set, that is not measured keeps its place in the result.  Scores are kept in the folder,
and an interrupted run resumes.
"""

import argparse
import json
import os
import random
import subprocess
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from benchmarks.citing import write_page
from benchmarks.common import describe_machine, get_percentiles
from benchmarks.corpora.cross_encoder import CROSS_ENCODER, CrossEncoder
from benchmarks.multi_span import SpannedText, normalise_question, read_multi_span
from rejoinder.cascade.cascade import Cascade
from rejoinder.cascade.loading import load
from rejoinder.cascade.sentences import make_candidates, rate_sentences
from rejoinder.datasets.catalogue import open_dataset
from rejoinder.engine.highlight import get_sentence_calibration, highlight_texts, to_candidates
from rejoinder.engine.layout import place_sentences
from rejoinder.evaluation.calibration.sentences import Labels, measure
from rejoinder.evaluation.score_cache import CachedScorer
from rejoinder.models.scorer import Scorer, Scores
from rejoinder.types import Candidate, Example

CONTENDER = "passage-selector"
"""The weights of ms-marco-MiniLM-L-12-v2, read here without passages."""
FITTED = (
    "squad-train-part:dev",
    "qed:dev",
    "nq-oracle:dev",
    "fairytaleqa:dev",
    "bioasq:dev",
)
WAYS = {
    "highlight": "**`highlight`**",
    "sentence": "ms-marco-MiniLM-L-12, every sentence, best threshold",
    "titled": "the same, with the first sentence as title",
}
PUBLISHED = {"precision": 66.4, "recall": 79.2, "f1": 72.2}
"""OpenSearch's semantic highlighter on MultiSpanQA, trained on its train part."""
SQUAD = Path("squad") / "dev-v1.1.json"
PER_ARTICLE = 5
SEED = 31
DOCUMENTS, CHARACTERS = 10, 1200
ROUNDS = 20
IDLE = 0.5
BEGIN, END = "<!-- benchmarks.highlighting -->\n", "<!-- end of benchmarks.highlighting -->"


# Quality -----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Asked:
    """A question, the sentences of a text, and which of them answer."""

    question: str
    candidates: Sequence[Candidate]
    labels: Labels


def read_sets(data: Path) -> dict[str, list[Asked]]:
    """Return the texts of each set, those without an answer too."""
    spanned = read_multi_span(data)
    asked = {normalise_question(text.question) for text in spanned}
    qed = {normalise_question(item.question) for item in open_dataset("qed:train", folder=data)}
    new = [text for text in spanned if normalise_question(text.question) not in qed]
    sets = {
        "multispanqa": list(map(_from_text, spanned)),
        "multispanqa-not-in-qed": list(map(_from_text, new)),
    }
    for name in FITTED:
        examples = open_dataset(name, folder=data)
        sets[name] = [
            _from_example(item)
            for item in examples
            if item.candidates and normalise_question(item.question) not in asked
        ]
    return sets


def _from_text(text: SpannedText) -> Asked:
    assert not text.missed, f"{text.id}: a sentence that answers is a heading"
    candidates = to_candidates(text.text, place_sentences(text.text), id=text.id)
    return Asked(text.question, candidates, np.array(text.labels))


def _from_example(example: Example) -> Asked:
    candidates = make_candidates([item.text for item in example.candidates], id=example.id)
    return Asked(example.question, candidates, np.array(example.labels))


def measure_quality(
    sets: Mapping[str, Sequence[Asked]], scorer: Cascade, contender: Scorer, folder: Path | None
) -> dict[str, Any]:
    """Return precision, recall and F1 of each way, in percent, by set."""
    calibration = get_sentence_calibration(scorer)
    stages = [(_cache(stage, folder), own) for stage, own in scorer.sentence_stages]
    other = _cache(contender, folder)
    result: dict[str, Any] = {}
    for name, texts in sets.items():
        labels = [text.labels for text in texts]
        rated = [
            rate_sentences(
                *(text.question, [text.candidates], stages),
                floor=calibration.floor,
                keep=calibration.keep,
            )
            .texts[0]
            .probabilities
            for text in texts
        ]
        titled = [other.score(text.question, text.candidates) for text in texts]
        alone = [
            other.score(text.question, [item.text for item in text.candidates]) for text in texts
        ]
        result[name] = {
            "questions": len(texts),
            "sentences": sum(map(len, labels)),
            "answers": int(sum(own.sum() for own in labels)),
            "highlight": _rate(rated, labels, calibration.threshold),
            "highlight_best": _rate(rated, labels, find_best(rated, labels)),
            "sentence": _rate(alone, labels, find_best(alone, labels)),
            "titled": _rate(titled, labels, find_best(titled, labels)),
        }
    return result


def _cache(scorer: Scorer, folder: Path | None) -> CachedScorer:
    return CachedScorer(scorer, path=folder / f"{scorer.name}.jsonl" if folder else None)


def find_best(scores: Sequence[Scores], labels: Sequence[Labels]) -> float:
    """Return the threshold with the best F1.

    >>> find_best([np.array([3.0, 1.0]), np.array([2.0])], [np.array([True, False]),
    ...                                                     np.array([True])])
    2.0
    """
    values, right = np.concatenate(scores), np.concatenate(labels)
    order = np.argsort(-values, kind="stable")
    hits = np.cumsum(right[order])
    f1 = 2 * hits / (np.arange(1, len(hits) + 1) + right.sum())
    return float(values[order[int(np.argmax(f1))]])


def _rate(scores: Sequence[Scores], labels: Sequence[Labels], threshold: float) -> dict[str, float]:
    precision, recall, f1, _ = measure(scores, labels, threshold)
    figures = {"precision": precision, "recall": recall, "f1": f1}
    shown = {name: round(100 * value, 1) for name, value in figures.items()}
    return {**shown, "threshold": round(threshold, 4)}


# Pruning -----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Page:
    """A question, and a long text with answers at these places."""

    question: str
    title: str
    text: str
    answers: tuple[tuple[int, int], ...]


def read_pages(data: Path) -> dict[str, list[Page]]:
    """Return the pages of each set."""
    squad = json.loads((data / SQUAD).read_text(encoding="utf-8"))
    rng = random.Random(SEED)
    trained = _read_titles("squad-v1:dev-not-in-v2", data)
    pages = (page for article in squad["data"] for page in make_article(article, rng))
    articles = [page for page in pages if page.title not in trained]
    sets = {"squad": articles}
    for name in ("qed", "nq-oracle"):
        asked = {item.id for item in open_dataset(f"{name}:dev", folder=data)}
        examples = open_dataset(f"{name}:train", folder=data)
        sets[name] = list(join_paragraphs(examples, asked))
    return sets


def _read_titles(name: str, data: Path) -> set[str]:
    documents = (item.candidates[0].document for item in open_dataset(name, folder=data))
    return {document.title for document in documents if document}


def make_article(article: Mapping[str, Any], rng: random.Random) -> list[Page]:
    """Return an article of SQuAD with some of its questions."""
    text, asked = "", []
    for paragraph in article["paragraphs"]:
        text += "\n\n" if text else ""
        for row in paragraph["qas"]:
            answers = tuple(
                (
                    len(text) + one["answer_start"],
                    len(text) + one["answer_start"] + len(one["text"]),
                )
                for one in row["answers"]
            )
            asked.append((row["question"], answers))
        text += paragraph["context"]
    title = article["title"].replace("_", " ")
    drawn = rng.sample(asked, min(PER_ARTICLE, len(asked)))
    return [Page(question, title, text, answers) for question, answers in drawn]


def survives(page: Page, spans: Iterable[tuple[int, int]]) -> bool:
    """Return whether the parts that are kept have an answer as a whole.

    >>> page = Page("who?", "", "Ada did it. It rained.", ((0, 3), (12, 14)))
    >>> survives(page, [(0, 11)]), survives(page, [(13, 22)])
    (True, False)
    """
    kept = list(spans)
    return any(
        any(start <= first and last <= end for start, end in kept) for first, last in page.answers
    )


def join_paragraphs(examples: Iterable[Example], asked: AbstractSet[str]) -> Iterator[Page]:
    """Yield a page for each of the asked questions: all paragraphs of its title, in their order.

    Args:
        asked: the ids of the questions.
    """
    by_title: dict[str, dict[tuple[str, ...], list[Example]]] = defaultdict(dict)
    for example in examples:
        document = example.candidates[0].document if example.candidates else None
        if document is not None and document.title:
            sentences = tuple(item.text for item in example.candidates)
            by_title[document.title].setdefault(sentences, []).append(example)
    for title, paragraphs in by_title.items():
        text = "\n\n".join(" ".join(sentences) for sentences in paragraphs)
        start = 0
        for sentences, own in paragraphs.items():
            places = []
            for sentence in sentences:
                places.append((start, start + len(sentence)))
                start += len(sentence) + 1
            start += 1  # the second line break
            for example in own:
                pairs = zip(places, example.labels, strict=True)
                answers = tuple(place for place, label in pairs if label)
                if answers and example.id in asked:
                    yield Page(example.question, title, text, answers)


def measure_pruning(pages: Mapping[str, Sequence[Page]], scorer: Cascade) -> dict[str, Any]:
    """Return the shares of characters dropped and of answers kept, in percent, by set."""
    result = {}
    for name, own in pages.items():
        given = kept = found = 0
        for page in own:
            (highlights,) = highlight_texts(
                page.question, [page.text], titles=[page.title], scorer=scorer
            )
            pruned = highlights.prune()
            given += len(page.text)
            kept += len(pruned.text)
            found += survives(page, pruned.spans)
        result[name] = {
            "questions": len(own),
            "characters": round(given / len(own)),
            "dropped": round(100 * (1 - kept / given), 1),
            "answers_kept": round(100 * found / len(own), 1),
        }
    return result


# Time --------------------------------------------------------------------------------------------


def measure_time(
    data: Path, rounds: int, documents: int = DOCUMENTS, weights: Path | None = None
) -> dict[str, Any]:
    """Return milliseconds of a request of documents and of one, ours and the contender's."""
    load_before = os.getloadavg()[0]
    requests = list(cut_documents(data, rounds, documents))
    ways: dict[str, Callable[[str, Sequence[str]], object]] = {}
    for threads in (1, 2):
        scorer = load(threads=threads)
        assert isinstance(scorer, Cascade)
        ways[f"highlight, {threads}"] = partial(highlight_texts, scorer=scorer)
        ways[f"sentence, {threads}"] = partial(_read_all, load(CONTENDER, threads=threads).score)
        if weights:
            users = CrossEncoder(weights / CROSS_ENCODER, threads=threads)
            ways[f"onnxruntime, {threads}"] = partial(_read_all, users.score)
    times: dict[str, list[float]] = defaultdict(list)
    for number, (question, texts) in enumerate(requests):
        for name, way in ways.items():
            for given in (texts, texts[:1]):
                start = perf_counter()
                way(question, given)
                if number:  # the first round opens the weights
                    times[f"{name}, {len(given)}"].append(1000 * (perf_counter() - start))
    return {
        "requests": len(requests) - 1,
        "characters": CHARACTERS,
        "load_before": round(load_before, 2),
        **{name: get_percentiles(own, 50, 95) for name, own in times.items()},
    }


def _read_all(
    score: Callable[[str, Sequence[str]], object], question: str, texts: Sequence[str]
) -> None:
    """Score every sentence of texts, as the contender does."""
    score(question, [place.span.extract(text) for text in texts for place in place_sentences(text)])


def cut_documents(data: Path, rounds: int, documents: int) -> Iterator[tuple[str, list[str]]]:
    """Yield questions, each with parts of its article of SQuAD; one more than the rounds."""
    squad = json.loads((data / SQUAD).read_text(encoding="utf-8"))
    for number in range(rounds + 1):
        paragraphs = squad["data"][number % len(squad["data"])]["paragraphs"]
        text = " ".join(paragraph["context"] for paragraph in paragraphs)
        parts = [text[place * CHARACTERS :][:CHARACTERS] for place in range(documents)]
        yield paragraphs[0]["qas"][0]["question"], parts


# The page ----------------------------------------------------------------------------------------

_TITLES = {
    "multispanqa": "MultiSpanQA, validation",
    "multispanqa-not-in-qed": "the same, without the questions of QED",
    "squad-train-part:dev": "SQuAD",
    "qed:dev": "QED",
    "nq-oracle:dev": "NQ-oracle",
    "fairytaleqa:dev": "FairytaleQA",
    "bioasq:dev": "BioASQ",
}
_RUNTIMES = {
    "highlight": WAYS["highlight"],
    "sentence": "ms-marco-MiniLM-L-12, every sentence, in our kernel",
    "onnxruntime": "the same in onnxruntime, as its users run it",
}
_PAGES = {"squad": "articles of SQuAD", "qed": "QED", "nq-oracle": "NQ-oracle"}


def render(result: Mapping[str, Any]) -> str:
    """Return the tables of a page, without those of parts that were not measured."""
    parts = {"quality": _render_quality, "pruning": _render_pruning, "time": _render_time}
    return "\n".join(part(result[name]) for name, part in parts.items() if name in result)


def _render_quality(result: Mapping[str, Any]) -> str:
    lines = ["| texts | scorer | precision | recall | F1 |", "|---|---|---|---|---|"]
    for name, own in result.items():
        title = f"{_TITLES[name]}: {own['questions']:,}"
        rows = {shown: own[way] for way, shown in WAYS.items()}
        if name == "multispanqa":
            rows["OpenSearch's highlighter, as published"] = PUBLISHED
        lines += [
            f"| {title} | {shown} | {row['precision']} | {row['recall']} | {row['f1']} |"
            for shown, row in rows.items()
        ]
    return "\n".join([*lines, ""])


def _render_pruning(result: Mapping[str, Any]) -> str:
    lines = [
        "| pages | questions | characters of a page | text dropped | answers kept |",
        "|---|---|---|---|---|",
    ]
    lines += [
        f"| {_PAGES[name]} | {own['questions']:,} | {own['characters']:,} | {own['dropped']} |"
        f" {own['answers_kept']} |"
        for name, own in result.items()
    ]
    return "\n".join([*lines, ""])


def _render_time(result: Mapping[str, Any]) -> str:
    lines = [
        "| milliseconds (p50) | threads | ten documents | one document |",
        "|---|---|---|---|",
    ]
    for way, title in _RUNTIMES.items():
        for threads in (1, 2) if f"{way}, 1, 1" in result else ():
            cells = [result[f"{way}, {threads}, {count}"]["p50_ms"] for count in (DOCUMENTS, 1)]
            lines.append(f"| {title} | {threads} | {cells[0]:.0f} | {cells[1]:.0f} |")
    machine = result["machine"]
    is_idle = result["load_before"] < IDLE
    state = "which was idle" if is_idle else "**which was not idle**: the times say little"
    lines += [
        "",
        f"Measured on a machine with {machine['cores']} cores ({machine['kind']}), {state}.",
    ]
    return "\n".join([*lines, ""])


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--part", action="append", choices=("quality", "pruning", "time"))
    parser.add_argument("--set", action="append", choices=_TITLES, dest="sets")
    parser.add_argument("--scores", type=Path)
    parser.add_argument("--weights", type=Path)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--to", type=Path)
    parser.add_argument("--page", type=Path)
    arguments = parser.parse_args()
    result: dict[str, Any] = {}
    if arguments.to and arguments.to.exists():
        result = json.loads(arguments.to.read_text(encoding="utf-8"))
    if arguments.scores:
        arguments.scores.mkdir(parents=True, exist_ok=True)
    scorer = load()
    assert isinstance(scorer, Cascade)
    for part in arguments.part or ("time", "quality", "pruning"):
        if part == "quality":
            chosen = arguments.sets or _TITLES
            sets = {name: own for name, own in read_sets(arguments.data).items() if name in chosen}
            measured = measure_quality(sets, scorer, load(CONTENDER), arguments.scores)
            result[part] = result.get(part, {}) | measured
        elif part == "pruning":
            result[part] = measure_pruning(read_pages(arguments.data), scorer)
        else:
            times = measure_time(arguments.data, arguments.rounds, weights=arguments.weights)
            result[part] = {**times, "machine": describe_machine(), "commit": find_commit()}
    if arguments.to:
        arguments.to.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    if arguments.page:
        write_page(arguments.page, render(result), BEGIN, END)
    print(render(result))


def find_commit() -> str:
    """Return the commit that is measured."""
    command = ["git", "rev-parse", "--short", "HEAD"]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


if __name__ == "__main__":
    main()
