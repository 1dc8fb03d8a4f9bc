"""Vectors follow an index: additions, removals, filters, damage, other encoders, backups."""

import logging
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from rejoinder.documents.reading import convert_document
from rejoinder.errors import InputError, StoreError
from rejoinder.index.index import Index
from rejoinder.index.vectors import store as store_module
from rejoinder.index.vectors import vector_index
from rejoinder.index.vectors.store import MARK, VectorStore
from rejoinder.types import Document
from tests.index.conftest import PIECES
from tests.index.vectors.encoders import HashedWords
from tests.index.vectors.test_store import cut, flip


def make_document(name: str, *texts: str, **metadata: str) -> Document:
    return Document(name, f"Title of {name}", texts, metadata=metadata)


DOCUMENTS = [
    make_document("tea", "Green tea is hot.", "Milk spoils it quickly.", kind="drink"),
    make_document("bees", "Bees dance in the hive.", "A colony has one queen.", kind="animal"),
    make_document("ice", "Glaciers calve into the sea.", "Ice floats on water.", kind="water"),
]


def open_index(folder: Path, encoder: HashedWords | None = None) -> Index:
    return Index(folder, create=True, tokenizer=PIECES, encoder=encoder or HashedWords())


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "index"
    with open_index(folder) as index:
        index.add_documents(DOCUMENTS)
    return folder


@pytest.fixture
def index(folder: Path) -> Iterator[Index]:
    with open_index(folder) as index:
        yield index


def ask(index: Index, question: str, limit: int = 3, **where: str) -> list[str]:
    """Return the texts that vectors find."""
    places = index.vectors.search(question, limit, where or None)
    with index.store.reading_sentences(places) as rows:
        texts = [row.text for row in rows]
    assert len(texts) == len(places)
    return texts


def get_folder(index: Index | Path) -> Path:
    folder = index.folder if isinstance(index, Index) else index
    (found,) = folder.glob("vectors-*")
    return found


def test_an_update_stores_the_vectors_of_another_encoder_document_by_document(folder: Path) -> None:
    steps: list[tuple[int, int]] = []
    with open_index(folder, HashedWords(128)) as index:
        index.update_vectors(on_progress=lambda done, total: steps.append((done, total)))

        assert ask(index, "green tea is hot")[0] == "Green tea is hot."
        assert index.check() == []
    assert steps == [(1, 3), (2, 3), (3, 3)]


def test_the_shipped_encoder_is_opened_once(tmp_path: Path) -> None:
    # A server opens its index for each upload; an encoder of its own took 13 MB each time.
    with Index(tmp_path / "a", create=True) as one, Index(tmp_path / "b", create=True) as other:
        assert one.vectors.find_encoder() is other.vectors.find_encoder()
        assert one.vectors.find_encoder() is not None


def test_sentences_are_found_by_vectors(index: Index) -> None:
    assert ask(index, "green tea is hot")[0] == "Green tea is hot."
    assert ask(index, "one queen has")[0] == "A colony has one queen."
    assert index.vectors.problem == ""
    assert index.check() == []


def test_another_process_finds_additions(index: Index, folder: Path) -> None:
    with open_index(folder) as other:
        assert ask(other, "moss grows slowly")[:1] != ["Moss grows slowly."]
        index.add_documents([make_document("moss", "Moss grows slowly.")])
        assert ask(other, "moss grows slowly")[0] == "Moss grows slowly."


def test_removed_documents_are_not_found(index: Index) -> None:
    index.remove_document("tea")

    assert "Green tea is hot." not in ask(index, "green tea is hot", 10)
    assert VectorStore(get_folder(index)).state.rows == 6
    assert index.check() == []


def test_a_replaced_document_is_found_once(index: Index) -> None:
    index.add_documents([make_document("tea", "Green tea is hot.", "Sugar helps.")])

    assert ask(index, "green tea is hot", 10).count("Green tea is hot.") == 1
    assert index.check() == []


def test_many_dead_rows_cause_a_rewrite(index: Index) -> None:
    before = get_folder(index)
    index.remove_document("tea")
    assert get_folder(index) == before

    index.remove_document("ice")

    after = get_folder(index)
    assert after != before
    assert VectorStore(after).state.rows == 2
    assert ask(index, "one queen has")[0] == "A colony has one queen."
    assert index.check() == []
    index.add_documents([DOCUMENTS[0]])
    assert ask(index, "green tea is hot")[0] == "Green tea is hot."


def test_filters_hold(index: Index) -> None:
    assert set(ask(index, "green tea is hot", 10, kind="animal")) <= set(DOCUMENTS[1].sentences)
    assert ask(index, "green tea is hot", 10, kind="drink")[0] == "Green tea is hot."
    assert ask(index, "green tea is hot", 10, kind="stone") == []
    assert ask(index, "green tea is hot", 10)[0] == "Green tea is hot."


def test_a_filter_sees_later_documents(index: Index) -> None:
    assert "Yaks graze." not in ask(index, "yaks graze", kind="animal")

    index.add_documents([make_document("yaks", "Yaks graze.", kind="animal")])

    assert ask(index, "yaks graze", kind="animal")[0] == "Yaks graze."


def test_a_large_document_is_encoded_in_batches(folder: Path) -> None:
    encoder = HashedWords()
    texts = tuple(f"Sentence number{at} is here." for at in range(600))
    with open_index(folder, encoder) as index:
        index.add_documents([make_document("long", *texts)])
        assert ask(index, "sentence number599 is here")[0] == texts[599]

    assert (encoder.encoded, encoder.largest) == (600, vector_index.BATCH)


def test_sentences_that_may_not_answer_have_no_vectors(index: Index, tmp_path: Path) -> None:
    path = tmp_path / "guide.md"
    path.write_text("# Heading\n\nThe guide is short.\n", encoding="utf-8")

    index.add([path])

    assert VectorStore(get_folder(index)).state.rows == 7
    assert index.check() == []


def test_a_failed_change_leaves_no_rows(index: Index) -> None:
    def add_and_fail() -> None:
        with index.writing() as writer, writer.change() as change:
            change.replace(convert_document(make_document("yaks", "Yaks graze."), {}))
            change.replace(convert_document(make_document("bad", " "), {}))

    with pytest.raises(InputError):
        add_and_fail()
    index.add_documents([make_document("moss", "Moss grows slowly.")])

    assert VectorStore(get_folder(index)).state.rows == 7
    assert "Yaks graze." not in ask(index, "yaks graze", 10)
    assert index.check() == []


def test_vectors_that_lag_behind_are_brought_up_to_date(folder: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(get_folder(folder), copy)
    with open_index(folder) as index:
        index.add_documents([make_document("moss", "Moss grows slowly.")])
        index.remove_document("tea")
        own = get_folder(index)
    shutil.rmtree(own)
    shutil.copytree(copy, own)

    encoder = HashedWords()
    with open_index(folder, encoder) as index:
        assert ask(index, "moss grows slowly")[0] == "Moss grows slowly."
        assert index.check() == []

    assert encoder.encoded == 1
    assert VectorStore(own).state.dead == 2


def test_an_interrupted_rebuild_is_continued(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vector_index, "MAX_UNCOMMITTED", 1)

    class Broken(HashedWords):
        def encode_passages(self, title: str, passages: object) -> object:  # type: ignore[override]
            if "ice" in title:
                raise KeyboardInterrupt
            return super().encode_passages(title, passages)  # type: ignore[arg-type]

    with pytest.raises(KeyboardInterrupt), open_index(folder, Broken(seed=1)) as index:
        index.compact()

    encoder = HashedWords(seed=1)
    with open_index(folder, encoder) as index:
        assert encoder.encoded == 2
        assert ask(index, "ice floats on water")[0] == "Ice floats on water."
        assert index.check() == []


DAMAGE: list[Callable[[Path], object]] = [
    lambda own: flip(own / "bits", 3),
    lambda own: flip(own / "places", 3),
    lambda own: flip(own / "state.json", 25),
    lambda own: cut(own / "bits", 3),
    lambda own: cut(own / "places", 3),
    lambda own: cut(own / "rows", 3),
    lambda own: cut(own / "state.json", 3),
    lambda own: (own / "rows").unlink(),
    shutil.rmtree,
]


@pytest.mark.parametrize("harm", DAMAGE)
def test_damage_is_named_and_the_next_writer_rebuilds(
    folder: Path, harm: Callable[[Path], object], caplog: pytest.LogCaptureFixture
) -> None:
    harm(get_folder(folder))
    with open_index(folder) as index:
        assert ask(index, "green tea is hot") == []
        assert ask(index, "green tea is hot") == []
        assert index.search("green tea", 1)[0].candidate.text == "Green tea is hot."
        assert len([item for item in caplog.messages if "vectors-1: corrupt" in item]) == 1
        assert "rebuild them" in index.vectors.problem
        assert any("rejoinder index compact" in problem for problem in index.check())

    with open_index(folder) as index:
        index.add_documents([make_document("moss", "Moss grows slowly.")])
        assert ask(index, "green tea is hot")[0] == "Green tea is hot."
        assert ask(index, "moss grows slowly")[0] == "Moss grows slowly."
        assert index.check() == []


def test_a_corrupt_row_is_left_out_named_and_rebuilt(
    folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    flip(get_folder(folder) / "rows", 3)
    with open_index(folder) as index:
        assert "Green tea is hot." not in ask(index, "green tea is hot", 10)
        assert ask(index, "one queen has")[0] == "A colony has one queen."
        assert "1 rows are corrupt" in "".join(index.check())
        ask(index, "green tea is hot")
    assert len([item for item in caplog.messages if "corrupt rows are left out" in item]) == 1
    assert (get_folder(folder) / MARK).exists()

    with open_index(folder) as index:
        index.remove_document("ice")
        assert ask(index, "green tea is hot")[0] == "Green tea is hot."
        assert index.check() == []


def test_compact_finds_and_rebuilds_damage(folder: Path) -> None:
    flip(get_folder(folder) / "rows", 3)
    with open_index(folder) as index:
        index.compact()
        assert ask(index, "green tea is hot")[0] == "Green tea is hot."
        assert index.check() == []


def test_compact_drops_dead_rows(index: Index) -> None:
    index.remove_document("tea")
    index.compact()

    assert VectorStore(get_folder(index)).state.rows == 4
    assert ask(index, "one queen has")[0] == "A colony has one queen."
    assert index.check() == []


def test_vectors_of_another_format_are_rebuilt(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    raw = (get_folder(folder) / "state.json").read_text(encoding="utf-8")
    (get_folder(folder) / "state.json").write_text(raw.replace('"format": 1', '"format": 0'))
    with open_index(folder) as index:
        assert ask(index, "green tea is hot") == []
        index.add_documents([DOCUMENTS[0]])
        assert ask(index, "green tea is hot")[0] == "Green tea is hot."
        assert index.check() == []


def test_a_given_encoder_replaces_the_vectors_of_another(
    folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    other = HashedWords(128, seed=1)
    with open_index(folder, other) as index:
        assert ask(index, "green tea is hot") == []
        assert "made by another encoder" in "".join(caplog.messages)
        index.add_documents([make_document("moss", "Moss grows slowly.")])
        assert ask(index, "green tea is hot")[0] == "Green tea is hot."
        assert index.check() == []

    assert other.encoded == 7
    assert VectorStore(get_folder(folder)).state.width == 128


def test_a_bundle_that_is_gone_is_named_and_words_answer(
    folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING)
    with Index(folder, tokenizer=PIECES) as index:  # the bundle of the encoder does not exist
        index.add_documents([make_document("moss", "Moss grows slowly.")])
        assert ask(index, "green tea is hot") == []
        assert index.search("green tea", 1)
        assert index.check() == []
    assert len([item for item in caplog.messages if "neither used nor stored" in item]) == 1

    encoder = HashedWords()
    with open_index(folder, encoder) as index:
        assert ask(index, "moss grows slowly")[0] == "Moss grows slowly."
    assert encoder.encoded == 1


def test_a_restored_backup_is_followed(folder: Path, tmp_path: Path) -> None:
    backup = tmp_path / "backup.sqlite"
    shutil.copy(folder / "index.sqlite", backup)
    with open_index(folder) as index:
        index.add_documents([make_document("moss", "Moss grows slowly.")])
        index.add_documents([make_document("yaks", "Yaks graze.")])
    for path in folder.glob("index.sqlite*"):
        path.unlink()
    shutil.copy(backup, folder / "index.sqlite")

    with open_index(folder) as index:
        assert ask(index, "yaks graze") == []
        index.add_documents([make_document("elms", "Elms stand tall.")])  # of the number of moss
        assert ask(index, "elms stand tall")[0] == "Elms stand tall."
        assert ask(index, "green tea is hot")[0] == "Green tea is hot."
        assert VectorStore(get_folder(index)).state.rows == 7
        assert index.check() == []


def test_a_backup_is_followed_after_additions_without_the_encoder(
    folder: Path, tmp_path: Path
) -> None:
    backup = tmp_path / "backup.sqlite"
    shutil.copy(folder / "index.sqlite", backup)
    with open_index(folder) as index:
        index.add_documents([make_document("moss", "Moss grows slowly.")])
    for path in folder.glob("index.sqlite*"):
        path.unlink()
    shutil.copy(backup, folder / "index.sqlite")
    with Index(folder, tokenizer=PIECES) as index:
        index.add_documents([make_document("elms", "Elms stand tall.")])  # of the number of moss
        index.add_documents([make_document("yaks", "Yaks graze.")])

    with open_index(folder) as index:
        assert ask(index, "moss grows slowly", 10)[:1] != ["Elms stand tall."]
        index.remove_document("yaks")
        assert ask(index, "elms stand tall")[0] == "Elms stand tall."
        assert index.check() == []


def test_an_index_may_have_no_vectors(folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    with open_index(folder) as index:
        index.drop_vectors()
        assert not list(folder.glob("vectors-*"))
    with Index(folder, tokenizer=PIECES) as index:
        index.add_documents([make_document("moss", "Moss grows slowly.")])
        assert caplog.messages == []
        assert ask(index, "moss grows slowly") == []
        assert ask(index, "moss grows slowly") == []
        assert index.vectors.problem.endswith("has no vectors; questions are answered by words")
        assert index.search("moss", 1)
        assert index.check() == []
    assert len([item for item in caplog.messages if "has no vectors" in item]) == 1
    assert not list(folder.glob("vectors-*"))

    with open_index(folder) as index:
        index.add_documents([make_document("yaks", "Yaks graze.")])
        assert ask(index, "moss grows slowly")[0] == "Moss grows slowly."
        assert index.check() == []


def test_two_writers_take_turns(index: Index, folder: Path) -> None:
    with open_index(folder) as other:
        with index.writing(), pytest.raises(StoreError, match="another process is writing"):
            other.add_documents([DOCUMENTS[0]])
        for number in range(5):
            for own, name in ((index, "red"), (other, "blue")):
                text = f"This is {name}{number}."
                own.add_documents([make_document(f"{name}{number}", text)])
        for number in range(5):
            for name in ("red", "blue"):
                assert ask(index, f"this is {name}{number}")[0] == f"This is {name}{number}."
        assert other.check() == []


def test_damage_after_the_first_search_is_found_by_check(index: Index) -> None:
    assert ask(index, "green tea is hot")
    flip(get_folder(index) / "bits", 1)

    assert "bits does not match" in "".join(index.check())


def test_a_missing_row_is_reported(index: Index, monkeypatch: pytest.MonkeyPatch) -> None:
    with index.store.changing():
        index.store.query("UPDATE sentences SET may_answer = 0 WHERE position = 1")
    generation = index.store.generation
    writer = store_module.VectorWriter(VectorStore(get_folder(index)))
    writer.commit(generation)
    writer.close()

    assert any("6 of 3 vectors" in problem for problem in index.check())


def test_threads_search_while_documents_are_added(index: Index, folder: Path) -> None:
    from concurrent.futures import ThreadPoolExecutor

    with open_index(folder) as reader, ThreadPoolExecutor(4) as pool:
        asked = [pool.submit(ask, reader, "green tea is hot", 2) for _ in range(200)]
        for number in range(5):
            index.add_documents([make_document(f"{number}", f"Word{number} is new.")])
        answers = [job.result()[0] for job in asked]

    assert np.unique(answers).tolist() == ["Green tea is hot."]


def test_check_finds_damage_without_the_encoder(folder: Path) -> None:
    flip(get_folder(folder) / "bits", 1)

    with Index(folder, tokenizer=PIECES) as index:
        assert "bits does not match" in "".join(index.check())


def test_check_names_vectors_of_another_encoder(folder: Path) -> None:
    with open_index(folder, HashedWords(seed=1)) as index:
        (problem,) = index.check()

    assert "vectors-1: made by another encoder than" in problem


def test_a_rewrite_copies_nothing_that_is_corrupt(folder: Path) -> None:
    with open_index(folder) as index:
        index.remove_document("tea")
    flip(get_folder(folder) / "bits", 30)
    with open_index(folder) as index:
        index.remove_document("ice")
        assert "bits does not match" in "".join(index.check())

    with open_index(folder) as index:
        index.add_documents([DOCUMENTS[0]])
        assert ask(index, "green tea is hot")[0] == "Green tea is hot."
        assert index.check() == []
