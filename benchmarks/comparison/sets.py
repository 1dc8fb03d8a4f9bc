"""The questions: inside documents and over corpora.

Each set is written into a folder, so that a contender reads nothing else, and its replies are
judged here.
"""

import json
import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.comparison.setting import Setting
from benchmarks.corpora.pooled import read_pool
from benchmarks.corpora.questions import Question, read_manual_questions, sample
from benchmarks.manuals.packages import fetch_manuals
from rejoinder.datasets.catalogue import open_dataset
from rejoinder.evaluation.measures import Protocol, measure
from rejoinder.index.index import Index
from rejoinder.types import Document, Example

SEED = 35
QUESTIONS = 300
WHOLE = ("wikiqa", "trecqa", "manuals")
"""Sets of about 300 questions or fewer are asked as a whole."""
DOCUMENTS = {
    "wikiqa": ("WikiQA, test", "wikiqa", "test", Protocol()),
    "trecqa": ("TREC-QA, clean test", "trecqa", "test", Protocol("mixed")),
    "squad": ("SQuAD, v2.0's dev articles", "squad-v2", "dev", Protocol()),
    "selqa": ("SelQA, dev (ours was trained on it)", "selqa", "dev", Protocol()),
}
"""Title, data set, split and protocol."""
SHUFFLED = "trecqa"
"""Its right sentences come first, so that a scorer with ties would win."""
CORPORA = {"pooled": "Pooled", "manuals": "Manuals"}
RANKED = ("P@1", "MAP")
ANSWERED = ("first", "five")


@dataclass(frozen=True)
class ExampleSet:
    """Questions, each with the sentences of its document."""

    name: str
    title: str
    examples: Sequence[Example]
    kind = "rank"
    measures = RANKED

    def __len__(self) -> int:
        """Return the number of questions."""
        return len(self.examples)

    def describe(self) -> dict[str, Any]:
        """Return what a result says about it."""
        count = sum(len(example.candidates) for example in self.examples)
        return {"title": self.title, "kind": self.kind, "questions": len(self), "sentences": count}

    def write(self, folder: Path) -> None:
        """Write the questions for a contender."""
        _write_lines(
            folder / "questions.jsonl",
            (
                {"question": item.question, "sentences": [own.text for own in item.candidates]}
                for item in self.examples
            ),
        )

    def judge(self, replies: Sequence[dict[str, Any]]) -> dict[str, list[float]]:
        """Return the value of each measure for each question."""
        rankings = [
            [example.labels[place] for place in reply["places"]]
            for example, reply in zip(self.examples, replies, strict=True)
        ]
        return measure(rankings, self.measures)


@dataclass(frozen=True)
class CorpusSet:
    """Questions over a corpus."""

    name: str
    title: str
    questions: Sequence[Question]
    documents: Sequence[Document] = ()
    manuals: Path | None = None
    """The files of the corpus, if they are not the documents."""
    kind = "search"
    measures = ANSWERED

    def __len__(self) -> int:
        """Return the number of questions."""
        return len(self.questions)

    def describe(self) -> dict[str, Any]:
        """Return what a result says about it."""
        return {"title": self.title, "kind": self.kind, "questions": len(self)}

    def write(self, folder: Path) -> None:
        """Write the questions, and the documents that we index."""
        _write_lines(
            folder / "questions.jsonl", ({"question": item.text} for item in self.questions)
        )
        _write_lines(
            folder / "documents.jsonl",
            ([item.title, list(item.sentences)] for item in self.documents),
        )

    def judge(self, replies: Sequence[dict[str, Any]]) -> dict[str, list[float]]:
        """Return the value of each measure for each question."""
        pairs = list(zip(self.questions, replies, strict=True))
        return {
            "first": [float(any(map(item.accepts, reply["answers"]))) for item, reply in pairs],
            "five": [float(any(map(item.accepts, reply["five"]))) for item, reply in pairs],
        }


QuestionSet = ExampleSet | CorpusSet


def read_sets(
    names: Iterable[str], data: Path | None, manuals: Path, questions: int = QUESTIONS
) -> list[QuestionSet]:
    """Return sets with so many questions each."""
    return [read_set(name, data, manuals, questions) for name in names]


def read_set(name: str, data: Path | None, manuals: Path, questions: int) -> QuestionSet:
    """Return a set with so many questions, the same ones at each call."""
    count = None if name in WHOLE and questions >= QUESTIONS else questions
    if name == "pooled":
        documents, asked = read_pool(data)
        groups = len({question.group for question in asked})
        chosen = sample(asked, -(-questions // groups))
        return CorpusSet(name, CORPORA[name], chosen, documents)
    if name == "manuals":
        fetch_manuals(manuals)
        answerable = [item for item in read_manual_questions() if item.is_answerable]
        return CorpusSet(name, CORPORA[name], sample(answerable, count), manuals=manuals.resolve())
    title, dataset, split, protocol = DOCUMENTS[name]
    examples = [item for item in open_dataset(dataset, split=split, folder=data)]
    counted = [item for item in examples if protocol.counts(item)]
    drawn = draw(counted, count)
    return ExampleSet(name, title, [shuffle(item) for item in drawn] if name == SHUFFLED else drawn)


def draw(examples: Sequence[Example], count: int | None) -> list[Example]:
    """Return so many examples, drawn with a fixed seed, in their order; all without a count."""
    if count is None or count >= len(examples):
        return list(examples)
    places = sorted(random.Random(SEED).sample(range(len(examples)), count))
    return [examples[place] for place in places]


def shuffle(example: Example) -> Example:
    """Return an example with its sentences in an order that depends on its id."""
    places = list(range(len(example.candidates)))
    random.Random(f"{SEED} {example.id}").shuffle(places)
    return Example(
        id=example.id,
        question=example.question,
        candidates=tuple(example.candidates[place] for place in places),
        labels=tuple(example.labels[place] for place in places),
    )


def write_sentences(setting: Setting) -> int:
    """Write the sentences that our index of a corpus holds, for the others; return their number."""
    with Index(setting.folder / "rejoinder") as index:
        rows = [
            [document.title, row.text]
            for document in index.store.get_documents()
            for row in index.store.get_sentences(document.id)
            if row.may_answer
        ]
    _write_lines(setting.folder / "sentences.jsonl", rows)
    return len(rows)


def _write_lines(path: Path, rows: Iterable[Any]) -> None:
    partial = path.with_suffix(".partial")
    with partial.open("w", encoding="utf-8") as file:
        file.writelines(json.dumps(row) + "\n" for row in rows)
    partial.rename(path)
