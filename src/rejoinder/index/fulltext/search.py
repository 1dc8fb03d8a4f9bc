"""Finds sentences by their words: BM25 with Tantivy, over what the store holds.

A sentence is found by its own words, by those around it (its paragraph's sentences nearby and
the heading above), and by its document's title.  The folder carries the generation of the store
that it was made from: one more entry, committed with the rest.

Trap: deleting by a number field deletes nothing and says nothing, so numbers are text here.
"""

import json
import re
import struct
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

import tantivy

from rejoinder.errors import StoreError, is_panic
from rejoinder.index.sqlite.records import StoredDocument, StoredSentence
from rejoinder.text.words import normalise, split_words

Where = Mapping[str, str | Sequence[str]]
"""What a document's metadata must say: a value, or one of several."""

FORMAT = 1
"""Of what is written below; a folder of another format is made anew."""

AROUND = 2
MAX_QUESTION_WORDS = 64
WRITER_BYTES = 100_000_000
BOOSTS = {"text": 1.0, "around": 0.5, "title": 0.5}
"""Weights of a sentence's own words, of those around it and of its title; chosen on data that
is not measured on (benchmarks/results/retrieval_weights.json)."""

_MARK = "generation"
_LETTERS = re.compile(r"[^\W_]+")
_FOOTER = 1337


class Hit(NamedTuple):
    """A sentence that shares words with the question."""

    document: int
    position: int
    score: float


class Search:
    """A folder of Tantivy's, or memory where no folder is given."""

    def __init__(self, folder: Path | None = None) -> None:
        self.name = folder.name if folder else None
        self._folder = folder
        with self._reading():
            if folder is not None:
                folder.mkdir(exist_ok=True)
            self._index = tantivy.Index(_make_schema(), str(folder) if folder else None)
        self._writer: tantivy.IndexWriter | None = None

    @property
    def generation(self) -> int:
        """The generation that was committed; -1 where none was."""
        with self._reading():
            searcher = self._index.searcher()
            mark = tantivy.Query.term_query(self._index.schema, "document", _MARK)
            hits = searcher.search(mark, 1).hits
            return int(searcher.doc(hits[0][1])["position"][0]) if hits else -1

    @property
    def sentence_count(self) -> int:
        """How many sentences can be found."""
        return self._index.searcher().num_docs - (self.generation >= 0)

    def add(self, document: StoredDocument, sentences: Sequence[StoredSentence]) -> None:
        """Add the sentences of a document; headings are found only as what stands around."""
        writer = self._get_writer()
        tags = [_to_tag(key, value) for key, value in document.metadata.items()]
        title = _to_words(document.title)
        for sentence, around in _look_around(sentences):
            entry = tantivy.Document()
            entry.add_text("document", str(document.id))
            entry.add_unsigned("position", sentence.position)
            entry.add_text("text", _to_words(sentence.text))
            entry.add_text("around", _to_words(around))
            entry.add_text("title", title)
            for tag in tags:
                entry.add_text("tag", tag)
            with self._writing():
                writer.add_document(entry)

    def remove(self, number: int) -> None:
        """Remove the sentences of a document."""
        with self._writing():
            self._get_writer().delete_documents_by_term("document", str(number))

    def commit(self, generation: int) -> None:
        """Write everything to disk, as of a generation of the store."""
        writer = self._get_writer()
        self.remove_mark()
        mark = tantivy.Document()
        mark.add_text("document", _MARK)
        mark.add_unsigned("position", generation)
        with self._writing():
            writer.add_document(mark)
            writer.commit()
        self._index.reload()

    def remove_mark(self) -> None:
        """Remove the entry that carries the generation."""
        with self._writing():
            self._get_writer().delete_documents_by_term("document", _MARK)

    def close(self) -> None:
        """Let go of the folder; what was not committed is dropped."""
        writer, self._writer = self._writer, None
        if writer is not None:
            with suppress(ValueError, OSError):  # one that a full disk has ended is let go too
                writer.wait_merging_threads()

    def reload(self) -> None:
        """See what others have committed."""
        with suppress(ValueError):  # the folder has gone for a new one, which is found next time
            self._index.reload()

    def search(self, question: str, limit: int, where: Where | None = None) -> list[Hit]:
        """Return the sentences that share most with a question, best first."""
        words = list(dict.fromkeys(normalise(word.text) for word in split_words(question)))
        if not words or limit < 1:
            return []
        query = self._parse(words[:MAX_QUESTION_WORDS])
        for key, value in (where or {}).items():
            query = self._restrict(query, key, [value] if isinstance(value, str) else value)
        hits = []
        with self._reading():
            searcher = self._index.searcher()
            for score, address in searcher.search(query, limit, count=False).hits:
                entry = searcher.doc(address)
                hits.append(Hit(int(entry["document"][0]), int(entry["position"][0]), float(score)))
        return hits

    def _parse(self, words: Sequence[str]) -> tantivy.Query:
        def parse(parts: Sequence[str]) -> tantivy.Query:
            return self._index.parse_query(" ".join(parts), list(BOOSTS), field_boosts=BOOSTS)

        try:
            return parse(words)
        except ValueError:
            # What Tantivy cuts in two would be a phrase, and places are not stored.
            return parse([part for word in words for part in _LETTERS.findall(word)])

    def find_damage(self) -> list[str]:
        """Return the files whose content does not fit the sum that Tantivy wrote at their end."""
        if self._folder is None:
            return []
        torn = [path for path in _list_files(self._folder) if not _is_whole(path)]
        return [f"{path.parent.name}/{path.name} is torn; compact the index" for path in torn]

    @contextmanager
    def _writing(self) -> Iterator[None]:
        """Tell in our words what Tantivy says about a place that cannot be written to."""
        try:
            yield
        except (ValueError, OSError) as error:
            raise StoreError(
                f"cannot write what finds sentences ({error}); no document is lost,"
                " and it is mended when the index is opened again"
            ) from error

    @contextmanager
    def _reading(self) -> Iterator[None]:
        """Tell in our words what Tantivy says about files that are not as it wrote them."""
        try:
            yield
        except (ValueError, OSError, KeyError, IndexError, OverflowError) as error:
            raise self._refuse(error) from error
        except BaseException as error:
            if not is_panic(error):
                raise
            raise self._refuse(error) from error

    def _refuse(self, error: BaseException) -> StoreError:
        reason = str(error).splitlines()[0][:200] if str(error) else type(error).__name__
        return StoreError(
            f"{self._folder}: torn ({reason}); 'rejoinder index compact' makes it anew"
        )

    def _restrict(self, query: tantivy.Query, key: str, values: Sequence[str]) -> tantivy.Query:
        tags = [_to_tag(key, value) for value in values]
        allowed = tantivy.Query.const_score_query(
            tantivy.Query.term_set_query(self._index.schema, "tag", tags), 0.0
        )
        return tantivy.Query.boolean_query(
            [(tantivy.Occur.Must, query), (tantivy.Occur.Must, allowed)]
        )

    def _get_writer(self) -> tantivy.IndexWriter:
        if self._writer is None:
            with self._writing():
                self._writer = self._index.writer(WRITER_BYTES, 1)
        return self._writer


def _list_files(folder: Path) -> list[Path]:
    """Return the files of what was committed: kills and full disks leave others, half written."""
    try:
        told = json.loads((folder / "meta.json").read_text(encoding="utf-8"))
        names = {item["segment_id"].replace("-", "") for item in told["segments"]}
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return sorted(folder.glob("[!.]*.*"))  # whose they are is not known
    return sorted(path for name in names for path in folder.glob(f"{name}.*"))


def _is_whole(path: Path) -> bool:
    """Whether a file is as Tantivy wrote it: its last bytes tell the sum of those before.

    The end is a JSON object, its length and a mark, four bytes each.  Files that Tantivy replaces
    (`meta.json`, …) have no such end; they are small, and read whole at each opening.
    """
    if path.suffix in {".json", ".lock"}:
        return True
    try:
        raw = path.read_bytes()
        size, mark = struct.unpack("<II", raw[-8:])
        start = len(raw) - 8 - size
        told = json.loads(raw[start:-8])["crc"]
        return bool(mark == _FOOTER and told == zlib.crc32(raw[:start]))
    except FileNotFoundError:  # merged into another meanwhile
        return True
    except (OSError, ValueError, KeyError, TypeError, struct.error):
        return False


def _make_schema() -> tantivy.Schema:
    builder = tantivy.SchemaBuilder()
    builder.add_text_field("document", stored=True, tokenizer_name="raw", index_option="basic")
    builder.add_unsigned_field("position", stored=True)
    builder.add_text_field("tag", tokenizer_name="raw", index_option="basic")
    for name in BOOSTS:
        builder.add_text_field(name, tokenizer_name="en_stem", index_option="freq")
    return builder.build()


def _to_tag(key: str, value: str) -> str:
    return f"{key}={value}"


def _to_words(text: str) -> str:
    """Return text whose words Tantivy cuts as we do: a Chinese character is a word, for one."""
    return text if text.isascii() else " ".join(normalise(word.text) for word in split_words(text))


def _look_around(sentences: Sequence[StoredSentence]) -> Iterator[tuple[StoredSentence, str]]:
    """Yield each sentence that may answer, with what stands around it."""
    heading = ""
    for place, sentence in enumerate(sentences):
        if sentence.is_heading:
            heading = sentence.text
            continue
        near = sentences[max(0, place - AROUND) : place + AROUND + 1]
        texts = [
            item.text
            for item in near
            if item.paragraph == sentence.paragraph and item.position != sentence.position
        ]
        yield sentence, " ".join([heading, *texts])
