import os
import sqlite3
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rejoinder.errors import StoreError
from rejoinder.index.candidates import StoredSentences, get_number
from rejoinder.index.fulltext import full_text_index
from rejoinder.index.fulltext.full_text_index import TantivyIndex, _is_intact
from rejoinder.index.index import Index
from rejoinder.index.sqlite.database import FORMAT
from rejoinder.models.static_vectors.vectors import load_vectors
from rejoinder.storage.files import lock_folder
from rejoinder.text.wordpiece import WordPiece
from rejoinder.types import Candidate, Document
from tests.index.conftest import CODE, GUIDE, PIECES


def find(index: Index, question: str, k: int = 10) -> list[str]:
    """Return the texts that the words of a question find, best first."""
    found = {
        item.candidate.text: item.candidate.retrieval.words
        for item in index.search(question, k)
        if item.candidate.retrieval and item.candidate.retrieval.words is not None
    }
    return sorted(found, key=lambda text: -(found[text] or 0))


def test_a_sentence_is_found_by_its_words_best_first(index: Index) -> None:
    assert find(index, "Is the tea HOT?")[0] == "Tea is always hot."
    assert find(index, "a queen's colony")[0] == "A colony has one queen."
    assert find(index, "bee dancing") == [
        "Bees can dance well.",
        "A colony has one queen.",
    ]  # stems
    assert find(index, "xylophone") == []
    assert find(index, "?!") == []


def test_a_sentence_is_found_by_its_heading_and_neighbours(index: Index) -> None:
    assert "Milk will spoil it." in find(index, "green")
    assert set(find(index, "hot briefly", 2)) == {"Tea is always hot.", "Let it steep briefly."}


def test_a_heading_is_never_found(index: Index) -> None:
    assert "Green tea" not in find(index, "green tea")


def test_at_most_k_sentences_are_returned(index: Index) -> None:
    assert len(find(index, "green tea", k=2)) == 2
    assert find(index, "green tea", k=0) == []


def test_query_syntax_is_read_as_words(index: Index) -> None:
    for question in ('tea AND "', "+hot -tea", "text:tea OR (", "tea^3~ [a TO b]", "IN NOT tea"):
        assert find(index, question)


def test_a_candidate_knows_its_document_place_and_tokens(index: Index, docs: Path) -> None:
    candidate = index.search("hot", 1)[0].candidate

    assert candidate.document
    assert candidate.document.id == str(docs / "tea.md")
    assert candidate.document.title == "Green tea"
    assert candidate.position == 1
    assert list(candidate.document.sentences) == [
        "Green tea",
        "Tea is always hot.",
        "Let it steep briefly.",
        "Milk will spoil it.",
    ]
    assert candidate.document.sentences[3] == "Milk will spoil it."
    assert candidate.document.sentences[-1] == "Milk will spoil it."
    assert candidate.tokens is not None
    assert np.frombuffer(candidate.tokens, dtype="<i4").tolist() == [1, 2, 0, 3, 0]
    assert index.tokenizer_hash == PIECES.hash


def test_a_candidate_is_located_in_its_document(index: Index) -> None:
    candidate = index.search("milk spoils", 1)[0].candidate

    source = index.locate(candidate)

    assert source
    assert candidate.document
    assert (source.line, source.page) == (5, None)
    text = index.get_text(candidate.document)
    assert text[source.start : source.end] == "Milk will spoil it."
    assert index.locate(Candidate("elsewhere", "It rains.")) is None


def test_a_candidate_of_a_plain_text_is_located_in_its_file(index: Index, docs: Path) -> None:
    path = docs / "ice.txt"
    path.write_text("Snow is very white.\r\nThe ice\r\nis thin here.", encoding="utf-8", newline="")
    index.add([docs])

    candidate = index.search("ice", 1)[0].candidate
    source = index.locate(candidate)

    assert source
    assert (source.line, source.page) == (2, None)
    text = path.read_bytes().decode()
    assert text[source.start : source.end] == "The ice\r\nis thin here."
    assert candidate.text == "The ice is thin here."


@pytest.mark.parametrize(
    ("question", "line", "headings", "anchor"),
    [
        ("short", 3, (), "guide"),
        ("at once", 16, ("Set up", "On Linux"), "on-linux"),
        ("another person", 20, ("Set up",), "set-up-1"),
    ],
)
def test_a_source_has_its_headings_and_an_anchor(
    index: Index, docs: Path, question: str, line: int, headings: tuple[str, ...], anchor: str
) -> None:
    (docs / "guide.md").write_text(GUIDE, encoding="utf-8")
    index.add([docs])

    source = index.locate(index.search(question, 1)[0].candidate)

    assert source
    assert (source.title, source.line) == ("Guide", line)
    assert (source.headings, source.anchor) == (headings, anchor)


@pytest.mark.parametrize(
    ("question", "headings"),
    [
        ("short", ()),
        ("at once", ("Set up", "On Linux")),
        ("make install", ("Set up", "On Linux")),
        ("another person", ("Set up",)),
        ("dance", ()),
    ],
)
def test_a_found_sentence_has_the_headings_above_it_without_the_title(
    index: Index, docs: Path, question: str, headings: tuple[str, ...]
) -> None:
    (docs / "guide.md").write_text(GUIDE, encoding="utf-8")
    index.add([docs])

    found = index.search(question, 1)[0].candidate

    assert found.headings == headings
    assert found.position is not None
    assert index.get_candidate(get_number(found.document), found.position) == found


def test_a_heading_above_a_sentence_is_kept_where_it_is_not_the_title(
    index: Index, docs: Path
) -> None:
    page = "<title>Tea</title><h1>Ice</h1><h2>Tea</h2><p>The ice is thin here.</p>"
    (docs / "page.html").write_text(page, encoding="utf-8")
    index.add([docs])

    found = index.search("ice thin", 1)[0].candidate

    assert found.document
    assert (found.document.title, found.headings) == ("Tea", ("Ice", "Tea"))


def test_sentences_are_found_once_in_their_order_whatever_their_blocks(
    index: Index, docs: Path
) -> None:
    (docs / "guide.md").write_text(GUIDE, encoding="utf-8")
    index.add([docs])
    index.add_documents([Document("memory", "Guide", ("Tea is in the guide.", "It is short."))])
    numbers = {item.name: item.id for item in index.store.get_documents()}
    places = [
        (number, position)
        for number in sorted(numbers.values(), reverse=True)
        for position in range(2)
    ]

    with index.store.reading_sentences(places) as rows:
        found = [(row.number, row.position, row.path) for row in rows]

    assert [(number, position) for number, position, _ in found] == places
    assert {path for number, _, path in found if number == numbers["memory"]} <= {None, ""}
    assert index.search("tea guide", 1)[0].candidate.headings == ()


def test_a_sentence_without_a_block_is_found_without_headings(index: Index, docs: Path) -> None:
    (docs / "guide.md").write_text(GUIDE, encoding="utf-8")
    index.add([docs])
    index.store._connection.get().execute("DELETE FROM blocks")

    found = index.search("at once", 1)[0].candidate

    assert (found.text, found.headings) == ("It then runs at once.", ())


def test_the_anchor_of_a_page_is_an_id_of_its_own(index: Index, docs: Path) -> None:
    page = "<title>Tea</title><h1>Ice</h1><h2 id=thin>Thin</h2><p>The ice is thin here.</p>"
    (docs / "page.html").write_text(page, encoding="utf-8")
    index.add([docs])

    source = index.locate(index.search("ice thin", 1)[0].candidate)

    assert source
    assert (source.title, source.headings, source.anchor) == ("Tea", ("Ice", "Thin"), "thin")


def test_a_sentence_is_found_by_any_heading_above_it(index: Index, docs: Path) -> None:
    (docs / "guide.md").write_text(GUIDE, encoding="utf-8")
    index.add([docs])

    assert find(index, "linux") == [CODE, "It then runs at once."]


def test_code_after_its_lead_in_keeps_its_lines(index: Index, docs: Path) -> None:
    (docs / "guide.md").write_text(GUIDE, encoding="utf-8")
    index.add([docs])

    candidate = index.search("make install", 1)[0].candidate
    source = index.locate(candidate)

    assert candidate.text == CODE
    assert source
    assert candidate.document
    assert index.get_text(candidate.document)[source.start : source.end] == CODE.replace(
        ":\n", ":\n\n"
    )
    assert index.check() == []


def test_check_finds_code_that_does_not_match_the_text(index: Index, docs: Path) -> None:
    (docs / "guide.md").write_text(GUIDE, encoding="utf-8")
    index.add([docs])
    index.store._connection.get().execute(
        "UPDATE sentences SET text = replace(text, 'quiet', 'force')"
    )

    (problem,) = index.check()

    assert "guide.md: the offsets of a sentence do not match the text" in problem


def test_a_repeated_sentence_counts_once(index: Index, docs: Path) -> None:
    for name in ("a", "b", "c"):
        (docs / f"{name}.txt").write_text("Copyright notices are boring.", encoding="utf-8")
    index.add([docs])

    assert find(index, "copyright") == ["Copyright notices are boring."]


def test_metadata_filters(index: Index, docs: Path) -> None:
    rows = '{"text": "Tea is always cold.", "lang": "en"}\n{"text": "Tea is ice.", "lang": "de"}\n'
    (docs / "rows.jsonl").write_text(rows, encoding="utf-8")
    index.add([docs])

    def find_where(**where: str | list[str]) -> set[str]:
        return {item.candidate.text for item in index.search("tea", 10, where=where)}

    assert find_where(lang="en") == {"Tea is always cold."}
    assert find_where(lang=["en", "de"]) == {"Tea is always cold.", "Tea is ice."}
    assert find_where(lang="de", suffix=".md") == set()
    assert "Tea is always hot." in find_where(suffix=".md")


def test_chinese_is_found_by_its_characters(index: Index, docs: Path) -> None:
    (docs / "cave.txt").write_text("冰川洞穴由融水形成。", encoding="utf-8")
    index.add([docs])

    assert find(index, "洞穴")[0] == "冰川洞穴由融水形成。"


def test_another_reader_sees_changes(index: Index, docs: Path) -> None:
    with Index(index.folder) as reader:
        (docs / "new.txt").write_text("Xylophones can ring loudly.", encoding="utf-8")
        index.add([docs])
        assert find(reader, "xylophone") == ["Xylophones can ring loudly."]

        index.compact()
        index.remove([docs / "new.txt"])
        assert find(reader, "xylophone") == []


def test_a_document_removed_while_it_is_read_has_empty_sentences(index: Index, docs: Path) -> None:
    candidate = index.search("queen", 1)[0].candidate
    index.remove([docs])

    assert candidate.document
    assert list(candidate.document.sentences) == ["", ""]
    assert candidate.document.sentences[0] == ""
    assert index.locate(candidate) is None


def test_stored_sentences_are_equal_by_their_document(index: Index) -> None:
    one, same = StoredSentences(index.store, 1, 2), StoredSentences(index.store, 1, 2)

    assert one == same
    assert hash(one) == hash(same)
    assert one != StoredSentences(index.store, 2, 2)


def test_compaction_deletes_removed_text_from_the_disk(index: Index, docs: Path) -> None:
    (docs / "secret.txt").write_text("Hydrochlorothiazide is a medicine.", encoding="utf-8")
    index.add([docs])
    index.remove([docs / "secret.txt"])
    assert find(index, "hydrochlorothiazide") == []

    index.compact()

    kept = b"".join(path.read_bytes() for path in index.folder.rglob("*") if path.is_file())
    assert b"ydrochlorothiazid" not in kept
    assert index.check() == []
    assert find(index, "queen")


def test_compaction_fails_while_a_reader_keeps_old_text(index: Index) -> None:
    reading = sqlite3.connect(index.store.path, isolation_level=None)
    reading.execute("BEGIN")
    reading.execute("SELECT * FROM sentences").fetchone()
    index.store._connection.get().execute("PRAGMA busy_timeout = 10")
    index.store.set("any", 1)

    with pytest.raises(StoreError, match="others are reading"):
        index.compact()

    reading.close()


@pytest.mark.parametrize("harm", ["gone", "corrupt", "stale", "ahead", "old format"])
def test_the_full_text_index_is_brought_up_to_date_on_open(
    index: Index, docs: Path, harm: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = index.folder
    (found,) = folder.glob("fulltext-*")
    match harm:
        case "gone":
            for path in found.iterdir():
                path.unlink()
        case "corrupt":
            (found / "meta.json").write_text("{", encoding="utf-8")
        case "stale":
            with index.store.changing() as generation:
                index.store.remove_file(os.fsencode(docs / "bees.txt"), generation)
        case "ahead":
            index._full_text.current.commit(99)
            index._full_text.close()
        case "old format":
            monkeypatch.setattr(full_text_index, "FORMAT", full_text_index.FORMAT + 1)

    with Index(folder) as reopened:
        assert reopened.check() == []
        assert find(reopened, "hot")[0] == "Tea is always hot."
        assert bool(find(reopened, "queen")) == (harm != "stale")
        assert len(list(folder.glob("fulltext-*"))) == 1


def stand_in_the_way(index: Index, docs: Path) -> None:
    """Leave files as a kill does, where the next removal is written to, and remove a document."""
    (folder,) = index.folder.glob("fulltext-*")
    segments = {path.stem for path in folder.glob("*.term")}
    assert segments
    for segment in segments:
        for stamp in range(200):  # whatever number the next deletion gets
            (folder / f"{segment}.{stamp}.del").touch()
    with index.store.changing() as generation:
        index.store.remove_file(os.fsencode(docs / "bees.txt"), generation)


def test_files_left_by_a_kill_cause_a_rebuild_on_open(index: Index, docs: Path) -> None:
    stand_in_the_way(index, docs)

    with Index(index.folder) as reopened:
        assert reopened.check() == []
        assert not find(reopened, "queen")
        assert find(reopened, "hot")


def test_files_left_by_a_kill_cause_a_rebuild_on_write(index: Index, docs: Path) -> None:
    stand_in_the_way(index, docs)
    (docs / "ice.txt").write_text("The ice is thin.", encoding="utf-8")

    index.add([docs / "ice.txt"])

    assert index.check() == []
    assert find(index, "ice")
    assert not find(index, "queen")


def test_a_failed_rebuild_leaves_no_files(index: Index, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise StoreError("the disk is full")

    with monkeypatch.context() as patch:
        patch.setattr(TantivyIndex, "commit", refuse)
        with pytest.raises(StoreError, match="full"):
            index.compact()

    assert len(list(index.folder.glob("fulltext-*"))) == 1
    assert find(index, "hot")


def test_a_stale_full_text_index_is_read_while_another_writes(index: Index) -> None:
    with index.store.changing():
        pass
    with lock_folder(index.folder), Index(index.folder) as reader:
        assert find(reader, "hot")
        assert any("stale" in problem for problem in reader.check())


def test_without_full_text_index_and_lock_one_is_built_in_memory(index: Index) -> None:
    index.store.set("fulltext", None)

    with lock_folder(index.folder), Index(index.folder) as reader:
        assert find(reader, "hot")[0] == "Tea is always hot."


def test_one_process_writes_at_a_time(index: Index, docs: Path) -> None:
    with lock_folder(index.folder), pytest.raises(StoreError, match="another process is writing"):
        index.add([docs])


def test_check_finds_an_incomplete_document(index: Index) -> None:
    run = index.store._connection.get().execute
    run("DELETE FROM sentences WHERE position = 1 AND document = 1")
    run("UPDATE sentences SET text = 'It rains.' WHERE document = 2 AND position = 0")

    problems = index.check()

    assert any("1 of 2 sentences are there" in problem for problem in problems)
    assert any("the offsets of a sentence do not match the text" in problem for problem in problems)
    assert any("the full-text index holds 5 of 4 sentences" in problem for problem in problems)


def test_a_newer_format_is_refused(index: Index) -> None:
    index.store.set("format", FORMAT + 1)

    problem = rf"has format {FORMAT + 1}, but this rejoinder reads format {FORMAT}; upgrade"
    with pytest.raises(StoreError, match=problem):
        Index(index.folder)


def test_a_folder_without_an_index_is_refused(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="no index there; make one with 'rejoinder index add'"):
        Index(tmp_path / "nowhere")
    (tmp_path / "index.sqlite").write_bytes(b"It rains." * 1000)
    with pytest.raises(StoreError, match="file is not a database"):
        Index(tmp_path)
    (tmp_path / "index.sqlite").write_bytes(b"")
    with pytest.raises(StoreError, match="the index is incomplete; wait until"):
        Index(tmp_path)


def test_a_folder_that_cannot_be_created_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()

    with pytest.raises(StoreError, match="cannot be created"):
        Index(tmp_path / "file" / "index", create=True)


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE documents SET title = 'Black tea' WHERE title = 'Green tea'",
        "UPDATE sentences SET tokens = X'00000000' WHERE document = 1 AND position = 0",
        "UPDATE sentences SET line = 7 WHERE document = 1 AND position = 0",
        "UPDATE blocks SET anchor = 'milk' WHERE document = 1 AND number = 0",
    ],
)
def test_check_finds_a_checksum_mismatch(index: Index, change: str) -> None:
    assert index.check() == []
    index.store._connection.get().execute(change)

    (problem,) = index.check()

    assert problem.endswith("checksum mismatch; remove its file and add it again")


@pytest.mark.parametrize("old", [1, FORMAT - 1])
def test_an_older_format_is_refused_with_a_remedy(index: Index, old: int) -> None:
    index.store.set("format", old)

    with pytest.raises(StoreError) as error:
        Index(index.folder, create=True)

    assert str(error.value) == (
        f"{index.folder}/index.sqlite: has the old format {old}, not {FORMAT}; add the files to a"
        " new folder with 'rejoinder index add … --index DIR'"
    )


def test_an_invalid_format_is_refused(index: Index) -> None:
    for value in (0, "x", None):
        index.store.set("format", value)
        with pytest.raises(StoreError, match="not an index"):
            Index(index.folder)


def test_a_document_without_a_checksum_is_a_problem(index: Index) -> None:
    index.store._connection.get().execute("DELETE FROM checksums WHERE document = 1")

    (problem,) = index.check()

    assert "checksum mismatch" in problem


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE texts SET text = X'00'",
        "UPDATE documents SET metadata = '{'",
    ],
)
def test_a_corrupt_document_is_a_store_error(index: Index, change: str) -> None:
    index.store._connection.get().execute(change)

    with pytest.raises(StoreError, match=r"corrupt \(.*delete the folder and add the files again"):
        index.check()


def test_check_finds_an_invalid_generation(index: Index) -> None:
    index.store._connection.get().execute("UPDATE meta SET value = 'x' WHERE key = 'generation'")

    (problem,) = index.check()

    assert "corrupt (invalid literal" in problem


def flip_bit(path: Path) -> None:
    # In place: Tantivy has the file mapped, and a file that is cut for a moment ends the process.
    with path.open("r+b") as file:
        file.seek(3)
        (byte,) = file.read(1)
        file.seek(3)
        file.write(bytes([byte ^ 1]))


@pytest.mark.parametrize("suffix", [".fieldnorm", ".idx"])
def test_check_finds_a_flipped_bit_in_the_full_text_index(index: Index, suffix: str) -> None:
    index.compact()
    (path,) = index.folder.glob(f"fulltext-*/*{suffix}")
    flip_bit(path)

    with Index(index.folder) as opened:
        (problem,) = opened.check()
        assert "corrupt" in problem
        assert "compact" in problem

        opened.compact()
        assert opened.check() == []


@pytest.mark.parametrize("suffix", [".term", ".idx", ".store", ".fieldnorm", ".fast", ".pos"])
def test_truncated_files_are_rebuilt_or_reported(index: Index, suffix: str) -> None:
    index.compact()
    folder = index.folder
    index.close()
    for path in folder.glob(f"fulltext-*/*{suffix}"):
        os.truncate(path, path.stat().st_size // 2)

    try:
        with Index(folder) as opened:
            assert find(opened, "hot")[0] == "Tea is always hot." or opened.check()
    except StoreError as error:
        assert "index compact" in str(error)  # noqa: PT017


def test_an_open_index_reports_a_corrupt_full_text_index(index: Index) -> None:
    index.compact()
    (path,) = index.folder.glob("fulltext-*/*.store")
    flip_bit(path)

    (problem,) = index.check()
    assert "corrupt" in problem
    with pytest.raises(StoreError, match=r"corrupt .*; rebuild it with 'rejoinder index compact'"):
        index.search("hot", 1)


def test_files_left_by_a_full_disk_are_no_damage(index: Index) -> None:
    (folder,) = index.folder.glob("fulltext-*")
    (folder / f"{0:032x}.term").write_bytes(b"half of ")

    assert index.check() == []


def test_a_file_without_its_footer_is_corrupt(tmp_path: Path) -> None:
    assert TantivyIndex().find_damage() == []
    for content in (
        b"",
        b"12345678",
        b"{}" + (2).to_bytes(4, "little") + (1337).to_bytes(4, "little"),
    ):
        (tmp_path / "a.store").write_bytes(content)
        assert not _is_intact(tmp_path / "a.store")
    assert _is_intact(tmp_path / "gone.store")


def test_a_full_disk_loses_nothing(index: Index, docs: Path) -> None:
    index.store._connection.get().execute("PRAGMA max_page_count = 1")
    (docs / "large.txt").write_text("It is raining a lot. " * 20_000, encoding="utf-8")

    with pytest.raises(StoreError, match="disk is full"):
        index.add([docs])

    index.store._connection.get().execute("PRAGMA max_page_count = 1000000")
    assert index.check() == []
    assert find(index, "hot")[0] == "Tea is always hot."


def test_an_index_on_a_read_only_disk_answers(
    index: Index, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = index.folder
    index.close()
    monkeypatch.setattr(os, "access", lambda path, mode: False)

    with Index(folder) as reader:
        assert find(reader, "hot")[0] == "Tea is always hot."
        with pytest.raises(StoreError, match="readonly"):
            reader.store.set("any", 1)


def test_a_reader_of_a_read_only_disk_sees_changes_of_another_machine(
    index: Index, docs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(os, "access", lambda path, mode: False)
        reader = Index(index.folder)

    (docs / "new.txt").write_text("Coffee is very strong.", encoding="utf-8")
    index.add([docs])

    with reader:
        assert find(reader, "strong")[0] == "Coffee is very strong."


def test_another_tokenizer_replaces_all_tokens(index: Index, docs: Path) -> None:
    other = WordPiece(["[UNK]", "hot", "tea", "is"])

    with Index(index.folder, tokenizer=other) as writer:
        writer.add([docs])

    candidate = index.search("hot", 1)[0].candidate
    assert candidate.tokens is not None
    assert np.frombuffer(candidate.tokens, dtype="<i4").tolist() == [2, 3, 0, 1, 0]
    assert index.tokenizer_hash == other.hash
    assert index.check() == []


def test_the_default_tokenizer_is_the_one_of_the_shipped_vectors(tmp_path: Path) -> None:
    tokenizer = load_vectors().pieces
    with Index(tmp_path / "index", create=True) as index:
        assert index.tokenizer_hash is None
        index.add_documents([Document("a", text="Tea is always hot.")])

        (hit,) = index.search("tea", 1)

    assert tokenizer is not None
    assert hit.candidate.tokens == tokenizer.encode("Tea is always hot.")


def test_kills_lose_no_acknowledged_document(tmp_path: Path) -> None:
    kills = os.environ.get("REJOINDER_KILLS", "3")

    result = subprocess.run(
        [sys.executable, "-m", "tests.index.kill", str(tmp_path), kills],
        cwd=Path(__file__).parents[2],
        check=False,
        capture_output=True,
        text=True,
    )

    assert result.returncode == 0, result.stderr
    assert f"{kills} kills" in result.stdout


@pytest.mark.parametrize("question", ["tea with ¼ milk", "क्या tea है", "tea d'été"])
def test_words_that_tantivy_splits_are_found(index: Index, question: str) -> None:
    (hit,) = index.search(question, 1)

    assert "ea" in hit.candidate.text or "ilk" in hit.candidate.text


@given(st.text(max_size=20))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_text_is_a_question(index: Index, question: str) -> None:
    assert len(index.search(question, 3)) <= 3


def test_a_sentence_without_text_is_reported(index: Index) -> None:
    index.store.query("UPDATE sentences SET text = NULL WHERE position = 1")

    assert any("checksum mismatch" in problem for problem in index.check())
