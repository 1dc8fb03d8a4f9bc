"""The pooled corpus: documents of several data sets in one index, and questions about them.

`python -m benchmarks.corpora.pooled --data DATA` draws the questions again.  They are drawn by
document, first from the documents that training holds out (`datasets.entries.is_held_out`); the
drawn ids are in `pooled_dev.json`.  Documents of the same title are one document.  Of BioASQ and
MedQuAD, every fifth document is a distractor.  The 35 articles of SQuAD v2.0 dev are left out,
because the answers of the shipped models are measured on them.
"""

import argparse
import json
from collections.abc import Iterable, Iterator
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote

from benchmarks.corpora.questions import Question
from benchmarks.manuals.pages import normalize
from rejoinder.datasets.catalogue import open_dataset
from rejoinder.datasets.entries import is_held_out
from rejoinder.documents.blocks import fold, sanitize
from rejoinder.types import Document, Example

DEV = Path(__file__).with_name("pooled_dev.json")
SETS = {
    "squad-train-part": "train",
    "nq-oracle": "train",
    "fairytaleqa": "train",
    "qed": "train",
    "selqa": "dev",
    "squad-v1": "dev-not-in-v2",
}
"""Data sets whose questions are asked, and the split of each."""
DISTRACTORS = {"bioasq": "train", "medquad": "train"}
DISTRACTOR_STEP = 5
SEED = 25
PER_SET = 120
MOST = {"squad-train-part": 40, "squad-v1": 40}
MOST_BY_DEFAULT = 10
"""Questions of one document; articles of SQuAD are few and long."""
MIN_PREFIX = 38
"""Where the pool knew no title, it has 40 characters of the paragraph in its place, or a few less.
Long titles of SQuAD have underscores."""
MIN_OVERLAP = 30
"""Sentences with fewer letters can be the same by chance."""


class Pool(NamedTuple):
    """The corpus."""

    documents: list[Document]
    questions: list[Question]


class _Article:
    """A document that grows by paragraphs; a sentence that it holds already is not repeated."""

    def __init__(self, title: str) -> None:
        self.title = title
        self.sentences: dict[str, None] = {}

    def add(self, example: Example) -> None:
        texts = (fold(sanitize(candidate.text)) for candidate in example.candidates)
        self.sentences.update(dict.fromkeys(filter(None, texts)))


def read_pool(data: Path | None) -> Pool:
    """Return the documents of all sets, and the drawn questions."""
    drawn: dict[str, list[str]] = json.loads(DEV.read_text(encoding="utf-8"))
    articles: dict[str, _Article] = {}
    questions: list[Question] = []
    excluded = _Excluded(data)
    for name, examples in _read_sets(data):
        wanted = set(drawn.get(name, ()))
        for example in examples:
            title = find_title(name, example)
            if not excluded.has_title(title):
                articles.setdefault(normalize(title) or title, _Article(title)).add(example)
                if example.id in wanted:
                    questions.append(_to_question(name, example))
    documents = [
        Document(article.title, article.title, tuple(article.sentences))
        for article in articles.values()
        if article.sentences
    ]
    excluded.check(documents)
    assert len(questions) == sum(map(len, drawn.values())), "the data sets differ from the list"
    return Pool(documents, questions)


def draw(data: Path | None) -> dict[str, list[str]]:
    """Return ids of answerable questions of each set, in an order that depends on the seed."""
    excluded = _Excluded(data)
    drawn = {}
    for name, split in SETS.items():
        documents: dict[tuple[bool, bool, str, str], list[str]] = {}
        for example in open_dataset(name, split=split, folder=data):
            title = find_title(name, example)
            if any(example.labels) and not all(example.labels) and not excluded.has_title(title):
                key = (not is_held_out(example), "/" in title, _shuffle(title), title)
                documents.setdefault(key, []).append(example.id)
        most = MOST.get(name, MOST_BY_DEFAULT)
        ids = [
            id_ for _, own in sorted(documents.items()) for id_ in sorted(own, key=_shuffle)[:most]
        ]
        drawn[name] = ids[:PER_SET]
    return drawn


def find_title(name: str, example: Example) -> str:
    """Return the title of an example's document; where it has none, a name with a slash."""
    document = example.candidates[0].document if example.candidates else None
    title = document.title if document else ""
    if not title or name in DISTRACTORS:
        return f"{name}/{example.id}" if name == "bioasq" or not title else title
    if name == "squad-train-part" and len(title) >= MIN_PREFIX and "_" not in title:
        return f"untitled/{_shuffle(title)[:12]}"
    if name == "fairytaleqa":
        title = title.replace("-", " ")
    return unquote(title).replace("_", " ").replace("/", " ")


def _read_sets(data: Path | None) -> Iterator[tuple[str, Iterable[Example]]]:
    for name, split in SETS.items():
        yield name, open_dataset(name, split=split, folder=data)
    for name, split in DISTRACTORS.items():
        examples = list(open_dataset(name, split=split, folder=data))
        titles = dict.fromkeys(find_title(name, example) for example in examples)
        kept = set(list(titles)[::DISTRACTOR_STEP])
        yield name, [example for example in examples if find_title(name, example) in kept]


def _to_question(name: str, example: Example) -> Question:
    pairs = zip(example.candidates, example.labels, strict=True)
    golds = frozenset(normalize(candidate.text) for candidate, is_right in pairs if is_right)
    return Question(f"{name}:{example.id}", example.question, name, golds)


def _shuffle(text: str) -> str:
    return sha256(f"{SEED} {text}".encode("utf-8", "surrogatepass")).hexdigest()


class _Excluded:
    """The articles of SQuAD v2.0 dev."""

    def __init__(self, data: Path | None) -> None:
        self._sentences: dict[str, frozenset[str]] = {}
        for example in open_dataset("squad-v2", split="dev", folder=data):
            document = example.candidates[0].document
            assert document is not None
            if normalize(document.title) not in self._sentences:
                texts = frozenset(map(normalize, document.sentences))
                self._sentences[normalize(document.title)] = texts
        assert len(self._sentences) == 35

    def has_title(self, title: str) -> bool:
        return normalize(title) in self._sentences

    def check(self, documents: Iterable[Document]) -> None:
        """Assert that no document is one of the articles, and that none holds their text."""
        texts = frozenset[str]().union(*self._sentences.values())
        for document in documents:
            assert not self.has_title(document.title), document.title
            for sentence in map(normalize, document.sentences):
                assert len(sentence) < MIN_OVERLAP or sentence not in texts, sentence


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--data", type=Path)
    DEV.write_text(json.dumps(draw(parser.parse_args().data), indent=0) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
