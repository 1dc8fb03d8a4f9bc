"""Whatever a file holds, a reader gives examples or names what is wrong with the file."""

import json
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rejoinder.datasets.catalogue import DATASETS
from rejoinder.datasets.readers.asnq import read_asnq, read_asnq_half, read_asnq_over_pages
from rejoinder.datasets.readers.evidence import read_boolq, read_fever, read_fm2, read_wice
from rejoinder.datasets.readers.insuranceqa import read_insuranceqa_package
from rejoinder.datasets.readers.jsonl import read_examples
from rejoinder.datasets.readers.natural_questions import read_natural_questions
from rejoinder.datasets.readers.pairs import read_pairs, read_yahooqa
from rejoinder.datasets.readers.sentence_lists import read_pool, read_qed, read_selqa
from rejoinder.datasets.readers.squad import read_squad
from rejoinder.datasets.readers.squad_part import read_squad_part
from rejoinder.datasets.readers.trecqa import read_trecqa, read_trecqa_xml
from rejoinder.datasets.readers.wikiqa import read_wikiqa, read_wikiqa_text
from rejoinder.errors import DataError
from rejoinder.types import Example

Read = Callable[[Path], Iterator[Example]]

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 9) | st.floats() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=2), inner),
    max_leaves=5,
)
NUMBERS = st.integers(-2, 9)
TEXTS = st.text(max_size=9)


@st.composite
def rows(draw: st.DrawFn, /, **fields: st.SearchStrategy[Any]) -> dict[str, Any]:
    """Return an object with these fields, one of them often absent or anything else."""
    row = {name: draw(values) for name, values in fields.items()}
    match draw(st.sampled_from(["right", "absent", "else"])):
        case "absent":
            del row[draw(st.sampled_from(sorted(fields)))]
        case "else":
            row[draw(st.sampled_from(sorted(fields)))] = draw(VALUES)
    return row


def lists(items: st.SearchStrategy[Any]) -> st.SearchStrategy[list[Any]]:
    return st.lists(items, max_size=3)


SPANS = rows(start_token=NUMBERS, end_token=NUMBERS, top_level=st.booleans())
ANSWERS = lists(rows(text=TEXTS, answer_start=NUMBERS))
QUESTIONS = rows(id=TEXTS, question=TEXTS, is_impossible=st.booleans(), answers=ANSWERS)
PARAGRAPHS = rows(context=TEXTS, qas=lists(QUESTIONS))

STANCES = st.sampled_from(["SUPPORTS", "REFUTES", ""])

OF_JSON: dict[str, tuple[Read, st.SearchStrategy[Any]]] = {
    "jsonl": (
        read_examples,
        rows(
            id=TEXTS,
            question=TEXTS,
            candidates=lists(rows(id=TEXTS, text=TEXTS, label=NUMBERS, position=NUMBERS)),
            documents=lists(rows(id=TEXTS, title=TEXTS, sentences=lists(TEXTS))),
        ),
    ),
    "boolq": (read_boolq, rows(question=TEXTS, title=TEXTS, passage=TEXTS)),
    "fever": (read_fever, rows(claim=TEXTS, label=STANCES, evidence=lists(TEXTS))),
    "fm2": (
        read_fm2,
        rows(
            id=TEXTS,
            text=TEXTS,
            label=STANCES,
            wikipedia_page=TEXTS,
            gold_evidence=lists(rows(text=TEXTS)),
            retrieved_evidence=lists(rows(text=TEXTS, section_header=TEXTS)),
        ),
    ),
    "wice": (
        read_wice,
        rows(
            claim=TEXTS,
            evidence=lists(TEXTS),
            supporting_sentences=lists(lists(NUMBERS | TEXTS)),
            meta=rows(id=TEXTS),
        ),
    ),
    "natural_questions": (
        read_natural_questions,
        rows(
            example_id=NUMBERS,
            question_text=TEXTS,
            document_text=st.just("<P> a </P> b"),
            long_answer_candidates=lists(SPANS),
            annotations=lists(rows(long_answer=SPANS)),
        ),
    ),
    "natural_questions, full": (
        read_natural_questions,
        rows(
            example_id=NUMBERS,
            question_text=TEXTS,
            document_tokens=lists(rows(token=st.just("<P>") | TEXTS, html_token=st.booleans())),
            long_answer_candidates=lists(SPANS),
            annotations=lists(rows(long_answer=SPANS)),
        ),
    ),
    "pool": (
        read_pool,
        rows(
            id=TEXTS,
            question=TEXTS,
            sentences=lists(TEXTS),
            labels=lists(NUMBERS),
            document=TEXTS,
            in_document_order=st.booleans(),
        ),
    ),
    "qed": (
        read_qed,
        rows(
            example_id=NUMBERS,
            question_text=TEXTS,
            title_text=TEXTS,
            paragraph_text=TEXTS,
            sentence_starts=lists(NUMBERS),
            answer_spans=lists(st.lists(NUMBERS, min_size=2, max_size=2)),
        ),
    ),
    "selqa": (
        read_selqa,
        lists(rows(question=TEXTS, article=TEXTS, candidates=lists(TEXTS), answers=lists(NUMBERS))),
    ),
    "squad": (
        read_squad,
        rows(data=lists(rows(title=TEXTS, paragraphs=lists(PARAGRAPHS)))),
    ),
    "squad_part": (
        read_squad_part,
        rows(data=lists(rows(title=TEXTS, paragraphs=lists(PARAGRAPHS)))),
    ),
    "trecqa": (
        read_trecqa,
        rows(question=TEXTS, candidates=lists(rows(label=NUMBERS, sentence=TEXTS))),
    ),
}
READERS: dict[str, Read] = {
    "asnq": read_asnq,
    "asnq_half": lambda path: read_asnq_half(path, path),
    "asnq_over_pages": lambda path: read_asnq_over_pages(path, path),
    "pairs": read_pairs,
    "trecqa_xml": read_trecqa_xml,
    "wikiqa": read_wikiqa,
    "wikiqa_text": lambda path: read_wikiqa_text(path, path),
    "yahooqa": read_yahooqa,
    **{name: read for name, (read, _) in OF_JSON.items()},
}


def get_reader(name: str) -> Callable[..., Iterator[Example]]:
    dataset = DATASETS[name]
    return dataset.splits[dataset.default_split][0].read


OF_FOLDERS: dict[str, Read] = {
    "insuranceqa_package": lambda folder: read_insuranceqa_package("test", folder),
    "insuranceqa_v1": lambda folder: get_reader("insuranceqa-v1")(*(folder / p for p in "qav")),
    "insuranceqa_v2": lambda folder: get_reader("insuranceqa-v2")(*(folder / p for p in "qav")),
}


def assert_reads_or_names(path: Path, read: Read) -> None:
    message = str(path)
    try:
        list(read(path))
    except DataError as error:
        message = str(error)
    assert message.startswith(str(path))


@pytest.mark.parametrize(("read", "values"), OF_JSON.values(), ids=OF_JSON)
@settings(max_examples=50)
@given(data=st.data())
def test_any_json_is_read_or_refused(
    read: Read, values: st.SearchStrategy[Any], data: st.DataObject
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "a.json"
        path.write_text(json.dumps(data.draw(values | VALUES)))

        assert_reads_or_names(path, read)


@pytest.mark.parametrize("read", READERS.values(), ids=READERS)
@settings(max_examples=50)
@given(raw=st.binary(max_size=40) | st.text("\t\n01 4<>/QApairs'=id", max_size=40).map(str.encode))
def test_any_bytes_are_read_or_refused(read: Read, raw: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "a.tsv"
        path.write_bytes(raw)

        assert_reads_or_names(path, read)


@pytest.mark.parametrize("read", READERS.values(), ids=READERS)
def test_every_reader_names_an_unusable_file(read: Read, tmp_path: Path) -> None:
    (tmp_path / "empty").touch()
    (tmp_path / "latin").write_bytes(b"caf\xe9\n")
    (tmp_path / "corrupt.gz").write_bytes(b"\x1f\x8b\x08\x00")

    for name, message in {
        "": "Is a directory",
        "nowhere": "No such file or directory",
        "empty": "the file is empty",
        "latin": "not UTF-8: byte 0xe9",
        "corrupt.gz": "the compressed data is corrupt",
    }.items():
        with pytest.raises(DataError, match=message) as raised:
            list(read(tmp_path / name))
        assert str(raised.value).startswith(str(tmp_path / name))


MARKS = st.sampled_from(["idx_1", "idx_2", "1", "2", "", "x", "\t", "\t\t", "\n", "\u2028", " "])
FILES = st.lists(MARKS, max_size=12).map("".join).map(str.encode) | st.binary(max_size=30)


@pytest.mark.parametrize("name", ["insuranceqa_v1", "insuranceqa_v2"])
@settings(max_examples=100)
@given(files=st.dictionaries(st.sampled_from("qav"), FILES, max_size=3))
def test_any_files_of_insuranceqa_are_read_or_refused(name: str, files: dict[str, bytes]) -> None:
    own = {"q": b"idx_1\tidx_1\t1\t1 2\n", "a": b"1\tidx_1\n2\tidx_2\n"}
    own["v"] = b"idx_1\ta\nidx_2\tb\n"
    if name == "insuranceqa_v1":
        own["q"] = b"1\tidx_1\t1 2\n"
    with tempfile.TemporaryDirectory() as folder:
        for file, content in {**own, **files}.items():
            (Path(folder) / file).write_bytes(content)

        assert_reads_or_names(Path(folder), OF_FOLDERS[name])


@pytest.mark.parametrize("read", OF_FOLDERS.values(), ids=OF_FOLDERS)
def test_a_folder_without_the_files_names_the_first_of_them(read: Read, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r": No such file or directory$"):
        list(read(tmp_path))
