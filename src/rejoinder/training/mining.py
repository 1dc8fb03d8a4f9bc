"""Mines training lists from a corpus: the candidates of a question are what a search finds.

A selector that only saw the sentences of one document never learns to tell documents apart.  Here
all documents of the training data are one index, and the negatives of a question are sentences
that our own search finds for it, in other documents and in the right one.  Sentences that may be
right without a label are left out: near-duplicates of an answer and sentences that contain an
answer string here, and those that a teacher prefers to the answer when a selector is trained
(`distillation.drop_suspects`).

Headings of documents are weak questions: the first sentence below a heading answers it.  They
are removed from the headings that a candidate shows, or the task would be to find the same words.
"""

import random
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple
from urllib.parse import unquote

from rejoinder.datasets.files import read_lines
from rejoinder.datasets.readers.jsonl import write_examples
from rejoinder.documents.blocks import fold, sanitize
from rejoinder.engine.answers import group_by_document, is_near_duplicate
from rejoinder.errors import InputError
from rejoinder.index.file_reader import SUFFIX
from rejoinder.index.index import Index
from rejoinder.index.sqlite.documents import StoredDocument
from rejoinder.text.language import is_foreign
from rejoinder.training.batches import choose_candidates
from rejoinder.training.mixing import read_parts
from rejoinder.training.options import MiningOptions
from rejoinder.types import Candidate, Document, Example, Where

FOUND = 40
"""Sentences that a search finds for a question; negatives are drawn from them."""
SPARE = 20
"""Sentences that take the place of answers that are taken out of all that was found: a shorter
list would tell a calibration that it has no answer."""
FOLDER_SPARE = 600
"""The same where all sentences of a folder are taken out."""
NEAR = 15
"""Most negatives are among the first of these."""
MAX_ANSWERS = 2
SAME_DOCUMENT = 0.35
"""The share of the negatives that come from the answer's own document, where it has so many."""
MIN_CUT = 30
"""Characters of a title that may be a first sentence, cut off."""
MIN_STRING = 4
"""Characters of an answer string: a shorter one, like 5, is in many sentences by chance."""
MIN_HEADING_WORDS = 3
MAX_HEADING = 100
"""Characters of a heading that is taken for a question."""
NUMBERING = re.compile(
    r"(?:(?:[Cc]hapter|[Ss]ection|[Aa]ppendix)\s+(?:[IVX]+|[A-Z]|\d+)(?:\.\d+)*[.):]?"
    r"|\d+[.):]|\d+(?:\.\d+)+[.):]?|[A-Z](?:\.\d+)+[.):]?)\s+|\d+\s+(?=[A-Z])"
)
"""The number of a heading: 4, 4.2, A.1, Chapter 7."""
WORD = re.compile(r"[a-z]{2,}")
LETTERS = re.compile(r"[^\W_]+")
PUNCTUATION = ".,:?!()'\""


HEADING = "heading/"
"""The ids of questions that are headings begin with it."""
TITLED, UNTITLED = "title/", "untitled/"
"""The ids of documents of data sets begin with one of them."""
SOURCE, DATA_SET = "source", "data set"
"""The metadata of the documents of data sets."""


Labelled = tuple[Candidate, bool]
"""A candidate with its label: whether it answers."""


class Query(NamedTuple):
    """A question, and the judged sentences of its own document."""

    id: str
    text: str
    judged: tuple[Labelled, ...]
    is_heading: bool = False
    answer_strings: tuple[str, ...] = ()
    """The words that answer it, where the data set has them."""

    @property
    def answers(self) -> list[Candidate]:
        """The sentences that answer it."""
        return [item for item, label in self.judged if label]

    def may_be_answered_by(self, text: str) -> bool:
        """Whether a sentence contains an answer string, word for word."""
        words = _spell(text)
        strings = (_spell(string) for string in self.answer_strings)
        return any(string in words for string in strings if len(string.strip()) >= MIN_STRING)


@dataclass(frozen=True, slots=True)
class MinedLists:
    """How much was mined."""

    path: Path
    lists: int
    unanswerable: int
    """Lists without their answers."""
    candidates: int
    headings: int
    """Lists whose question is a heading."""


def mine_lists(
    options: MiningOptions,
    data: Sequence[str] = (),
    *,
    on_mined: Callable[[int, int], None] = lambda _, __: None,
    say: Callable[[str], None] = lambda _: None,
) -> MinedLists:
    """Write lists for the questions of data sets, and for the headings of documents.

    Args:
        data: names of data sets as `NAME[:SPLIT][@WEIGHT]`; a weight below 1 draws a share of the
            questions, 0 none, but all documents are searched.
        on_mined: receives the number of questions that were searched for, and of all.

    Raises:
        RejoinderError: there is nothing to read, or a file cannot be read or written.
    """
    if not data and not options.documents:
        raise InputError("nothing to mine: name a DATASET, or --documents")
    excluded = read_questions(Path(options.exclude)) if options.exclude else frozenset()
    folder = Path(options.data_folder) if options.data_folder else None
    articles, asked = Articles(excluded), list[tuple[str, Iterable[Example]]]()
    for choice in data:
        name, _, weight = choice.partition("@")
        is_searched = weight in ("0", "0.0")  # its documents are searched, its questions not asked
        (part,) = read_parts([name if is_searched else choice], folder, say)
        examples = list(part.examples)
        articles.add(name, examples)
        if not is_searched:
            drawn = replace(part, examples=examples).take_share(options.seed).examples
            asked.append((name, drawn))
    queries = [query for name, drawn in asked for query in articles.list_queries(name, drawn)]
    lists = (
        [item for query in queries for item in list_own_document(query, options)]
        if options.in_document
        else _search_all(queries, articles, options, on_mined, say)
    )
    if not lists:
        missing = (
            "no question's document has two sentences"
            if options.in_document
            else "the search finds no sentences for any question"
        )
        raise InputError(f"nothing was mined: {missing}")
    random.Random(options.seed).shuffle(lists)
    write_examples(Path(options.to), lists)
    return MinedLists(
        Path(options.to),
        len(lists),
        sum(not any(item.labels) for item in lists),
        sum(len(item.candidates) for item in lists),
        sum(item.id.startswith(HEADING) for item in lists),
    )


def _search_all(
    queries: list["Query"],
    articles: "Articles",
    options: MiningOptions,
    on_mined: Callable[[int, int], None],
    say: Callable[[str], None],
) -> list[Example]:
    """Return the lists of questions, and of headings, that a search of all documents finds."""
    with TemporaryDirectory() as place, Index(Path(place, "index"), create=True) as index:
        if articles:
            say(f"indexing {len(articles)} documents")
            index.add_documents(articles.list_documents())
        if options.documents:
            say(f"reading {', '.join(map(str, options.documents))}")
            index.add(options.documents)
            remove_foreign(index)
            queries = queries + draw_headings(index, options)
        miner = Miner(index, options)
        lists = []
        for number, query in enumerate(queries):
            on_mined(number, len(queries))
            lists += miner.mine(query) + miner.mine_elsewhere(query)
        on_mined(len(queries), len(queries))
    return lists


def list_own_document(query: Query, options: MiningOptions) -> list[Example]:
    """Return the list of a question's own document; none if it has one sentence only.

    A selector that is trained on found lists alone forgets to tell the sentences of one document
    apart.
    """
    candidates, labels = zip(*query.judged, strict=True)
    rng = random.Random(f"{options.seed}/{query.id}")
    chosen = choose_candidates(
        Example(query.id, query.text, candidates, labels), limit=options.candidates, rng=rng
    )
    is_answered = rng.random() >= options.unanswerable
    has_titles = rng.random() >= options.untitled
    kept = {id(item) for item, _ in chosen}
    judged = [  # in document order
        (item, label)
        for item, label in query.judged
        if id(item) in kept and (is_answered or not label)
    ]
    return [_to_example(query, judged, has_titles=has_titles)] if len(judged) > 1 else []


def read_questions(path: Path) -> frozenset[str]:
    """Return the questions of a text file, one per line, in the form in which they compare."""
    return frozenset(normalize(line) for _, line in read_lines(path) if line.strip())


def normalize(text: str) -> str:
    """Return the letters and digits of a text, in lower case."""
    return "".join(filter(str.isalnum, text.casefold()))


def _spell(text: str) -> str:
    """Return the words of a text, in lower case, between spaces."""
    words = " ".join(LETTERS.findall(text.casefold()))
    return f" {words} "


class Articles:
    """The documents of data sets, merged by title, without those of excluded questions."""

    def __init__(self, excluded: frozenset[str] = frozenset()) -> None:
        self._excluded = excluded
        self._sentences: dict[str, dict[str, None]] = {}
        self._titles: dict[str, str] = {}
        self._left_out: set[str] = set()

    def __len__(self) -> int:
        return len(self._sentences.keys() - self._left_out)

    def add(self, name: str, examples: Iterable[Example]) -> None:
        """Add the documents of a data set."""
        for example in examples:
            key, title = find_title(name, example)
            self._titles.setdefault(key, title)
            texts = (fold(sanitize(item.text)) for item in example.candidates)
            self._sentences.setdefault(key, {}).update(dict.fromkeys(filter(None, texts)))
            if normalize(example.question) in self._excluded:
                self._left_out.add(key)

    def list_documents(self) -> Iterator[Document]:
        """Yield the documents."""
        for key, sentences in self._sentences.items():
            if sentences and key not in self._left_out:
                metadata = {SOURCE: DATA_SET}
                yield Document(key, self._titles[key], tuple(sentences), metadata=metadata)

    def list_queries(self, name: str, examples: Iterable[Example]) -> Iterator[Query]:
        """Yield the questions that have an answer; call it once all documents are added."""
        for example in examples:
            key, _ = find_title(name, example)
            document = Document(key, self._titles[key])
            judged = [
                (Candidate(f"{key}/{item.id}", text, document, item.position), label)
                for item, label in zip(example.candidates, example.labels, strict=True)
                if (text := fold(sanitize(item.text)))
            ]
            if any(label for _, label in judged) and key not in self._left_out:
                # The id decides what is drawn, so it must not depend on the place of the files.
                id_ = f"{Path(name).name}/{example.id}"
                strings = example.answer_strings
                yield Query(id_, example.question, tuple(judged), answer_strings=strings)


def find_title(name: str, example: Example) -> tuple[str, str]:
    """Return the key of an example's document, and its title; without a title it is empty.

    A long beginning of the first sentence is no title: some data sets have it in its place.
    """
    document = example.candidates[0].document if example.candidates else None
    title = sanitize(unquote(document.title)).replace("_", " ").strip() if document else ""
    first = fold(document.sentences[0]) if document and document.sentences else ""
    if not title or (len(title) >= MIN_CUT and first.startswith(title)):
        return f"{UNTITLED}{name}/{_digest(first or example.id)}", ""
    return f"{TITLED}{normalize(title) or title}", title


def remove_foreign(index: Index) -> None:
    """Remove documents from files that are not in English: some manuals come with translations.

    The text of a document tells its language, where many a sentence has too few words to tell.
    """
    for document in _list_files(index):
        blocks = index.store.iterate_blocks(document.id)
        if is_foreign("\n".join(item.text for _, block in blocks for item in block)):
            index.remove_document(document.id)


def _list_files(index: Index) -> list[StoredDocument]:
    """Return the documents that came from files."""
    return [
        document
        for document in index.store.get_documents()
        if not document.name.startswith((TITLED, UNTITLED))
    ]


def draw_headings(index: Index, options: MiningOptions) -> list[Query]:
    """Return headings of the documents that came from files, each with the sentence below it."""
    found: list[Query] = []
    for document in _list_files(index):
        last: tuple[str, ...] = ()
        for path, sentences in index.store.iterate_blocks(document.id):
            if path == last or not path:
                continue
            below = next((item for item in sentences if item.may_answer), None)
            heading = clean_heading(path[-1])
            if below is None:
                continue
            last = path
            if is_question(heading):
                owner = Document(document.name, document.title)
                id_ = f"{document.name}#{below.position}"
                above = path[1:-1] if path[0] == document.title else path[:-1]
                answer = Candidate(id_, below.text, owner, below.position, above)
                text = "\n".join([document.title, *path, below.text])
                id_ = HEADING + _digest(text)
                found.append(Query(id_, heading, ((answer, True),), is_heading=True))
    counts = Counter(normalize(query.text) for query in found)
    alone = [query for query in found if counts[normalize(query.text)] == 1]
    rng = random.Random(options.seed)
    return rng.sample(sorted(alone, key=lambda query: query.id), min(options.headings, len(alone)))


def _digest(text: str) -> str:
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:12]


def clean_heading(heading: str) -> str:
    """Return a heading without its number.

    >>> clean_heading("4.2. How mail is routed")
    'How mail is routed'
    """
    text = fold(heading)
    number = NUMBERING.match(text)
    return text[number.end() if number else 0 :].strip(" ¶#")


def is_question(heading: str) -> bool:
    """Return whether a heading says enough to be asked.

    >>> is_question("How mail is routed"), is_question("Options"), is_question("smtp_bind_address")
    (True, False, False)
    """
    words = heading.split()
    plain = [word for word in words if WORD.fullmatch(word.strip(PUNCTUATION).lower())]
    return len(heading) <= MAX_HEADING and len(plain) >= max(MIN_HEADING_WORDS, len(words) - 2)


class Miner:
    """Makes a list for each question."""

    def __init__(self, index: Index, options: MiningOptions) -> None:
        self._index = index
        self._options = options

    def mine(self, query: Query) -> list[Example]:
        """Return the list of a question; none if the search finds too little for one."""
        rng = random.Random(f"{self._options.seed}/{query.id}")
        count = self._options.found
        is_answered = rng.random() >= self._options.unanswerable
        hits = self._search(query, is_answered=is_answered)
        has_titles = rng.random() >= self._options.untitled
        chosen = (
            self._draw(query, hits, rng, is_answered=is_answered)
            if count is None
            else _judge(query, hits, is_answered=is_answered)[:count]
        )
        return self._list(query, chosen, has_titles=has_titles)

    def _list(self, query: Query, chosen: Sequence[Labelled], *, has_titles: bool) -> list[Example]:
        if len(chosen) < 2:
            return []
        if has_sentences := self._options.sentences:
            chosen = [(self._complete(item), label) for item, label in chosen]
        return [_to_example(query, chosen, has_titles=has_titles, has_sentences=has_sentences)]

    @cached_property
    def _documents(self) -> dict[str, Document]:
        return {document.id: document for document in self._index.documents()}

    def _complete(self, item: Candidate) -> Candidate:
        """Return a candidate with the sentences of its document, and its place among them.

        An answer that the search did not find has neither yet.
        """
        document, position = self._documents[_name(item)], item.position
        if position is None and item.text in document.sentences:
            position = document.sentences.index(item.text)
        return replace(item, document=document, position=position)

    def mine_elsewhere(self, query: Query) -> list[Example]:
        """Return a list without an answer: what a search of the other documents finds.

        Questions of data sets are asked of the files, and headings of the data sets.
        """
        rng = random.Random(f"{self._options.seed}/elsewhere/{query.id}")
        if rng.random() >= self._options.elsewhere:
            return []
        where: Where = {SOURCE: DATA_SET} if query.is_heading else {SUFFIX: self._suffixes}
        found = self._find(query, self._options.found or self._options.candidates, where)
        moved = query._replace(id=f"{query.id}/elsewhere")
        return self._list(moved, [(item, False) for item in found], has_titles=True)

    def _search(self, query: Query, *, is_answered: bool) -> list[Candidate]:
        """Return what is found.

        The text below a heading answers it, and other pages of a manual often do, too, so an
        unanswerable heading loses the whole folder of its file.
        """
        count = self._options.found
        if count is None:
            return self._find(query, FOUND)
        if is_answered or not query.is_heading:
            return self._find(query, count + SPARE)
        own = {Path(_name(item)).parent for item in query.answers}
        found = self._find(query, count + FOLDER_SPARE)
        return [item for item in found if Path(_name(item)).parent not in own]

    def _find(self, query: Query, count: int, where: Where | None = None) -> list[Candidate]:
        found = [hit.candidate for hit in self._index.search(query.text, count, where=where)]
        return self._index.read_passages(found) if self._options.passages else found

    @cached_property
    def _suffixes(self) -> list[str]:
        """The suffixes of the files, which tell them from the documents of data sets."""
        documents = self._index.store.get_documents()
        return sorted({item.metadata[SUFFIX] for item in documents if SUFFIX in item.metadata})

    def _draw(
        self, query: Query, hits: Sequence[Candidate], rng: random.Random, *, is_answered: bool
    ) -> list[Labelled]:
        """Return answers and negatives."""
        texts = [item.text for item in query.answers]
        exact = {normalize(text) for text in texts}
        right = [item for item in hits if normalize(item.text) in exact]
        known = {normalize(item.text) for item in right}
        others = (item for item in query.answers if normalize(item.text) not in known)
        # Documents are merged by title, so a position in the data set is not that in the index.
        right += [item if query.is_heading else replace(item, position=None) for item in others]
        wrong = [
            item
            for item in hits
            if normalize(item.text) not in exact
            and not is_near_duplicate(item.text, texts)
            and not query.may_be_answered_by(item.text)
        ]
        answers = rng.sample(right, min(MAX_ANSWERS, len(right)))
        count = self._options.candidates - len(answers)
        negatives = _draw_negatives(wrong, {_name(item) for item in right}, count, rng)
        return [*((item, True) for item in answers if is_answered), *negatives]


def _draw_negatives(
    wrong: Sequence[Candidate], own: set[str], count: int, rng: random.Random
) -> list[Labelled]:
    """Return negatives: from the answer's document and from others, mostly the first found."""
    same = [item for item in wrong if _name(item) in own]
    others = [item for item in wrong if _name(item) not in own]
    near, far = others[:NEAR], others[NEAR:]
    drawn = rng.sample(same, min(len(same), round(count * SAME_DOCUMENT)))
    drawn += rng.sample(far, min(len(far), 2))
    drawn += rng.sample(near, min(len(near), max(0, count - len(drawn))))
    return [(item, False) for item in drawn]


def _judge(query: Query, hits: Sequence[Candidate], *, is_answered: bool) -> list[Labelled]:
    """Return all that was found; near-duplicates of an answer are right, too."""
    texts = [item.text for item in query.answers]
    judged = [(item, is_near_duplicate(item.text, texts)) for item in hits]
    if is_answered:
        return judged
    answers = [item.text for item, label in judged if label]
    return [
        (_cut_passage(item, [*texts, *answers]), False)
        for item, label in judged
        if not label and not query.may_be_answered_by(item.text)
    ]


def _cut_passage(item: Candidate, answers: Sequence[str]) -> Candidate:
    """Return a candidate whose passage does not hold an answer."""
    if item.passage is None:
        return item
    passage = item.passage
    for text in answers:
        passage = passage.replace(text, "")
    return replace(item, passage=passage)


def _name(item: Candidate) -> str:
    return item.document.id if item.document else ""


def _to_example(
    query: Query,
    chosen: Sequence[Labelled],
    *,
    has_titles: bool,
    has_sentences: bool = False,
) -> Example:
    labels = {id(item): label for item, label in chosen}
    hidden = normalize(query.text) if query.is_heading else ""
    candidates, ordered = [], group_by_document(item for item, _ in chosen)
    for item in ordered:
        title = item.document.title if item.document else ""
        if _name(item).startswith(UNTITLED) or _is_heading(title, hidden):
            title = ""  # an index has the id in its place
        headings = tuple(text for text in item.headings if not _is_heading(text, hidden))
        sentences = item.document.sentences if item.document and has_sentences else ()
        # The heading that is asked for must not be a neighbour of its answer either.
        kept = ("" if _is_heading(text, hidden) else text for text in sentences)
        document = Document(_name(item), title, tuple(kept)) if has_titles else None
        position = item.position if has_titles else None
        own = headings if has_titles else ()
        candidates.append(
            Candidate(
                item.id,
                item.text,
                document,
                position,
                own,
                retrieval_score=item.retrieval_score,
                passage=item.passage,
            )
        )
    return Example(query.id, query.text, tuple(candidates), tuple(labels[id(c)] for c in ordered))


def _is_heading(text: str, hidden: str) -> bool:
    """Return whether a text is the heading that is asked for."""
    return bool(hidden) and normalize(clean_heading(text)) == hidden
