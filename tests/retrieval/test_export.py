"""Exports to real search engines: complete, repeatable, and as the index is now."""

import re
from pathlib import Path

import pytest
from click.testing import CliRunner
from tests.retrieval.killing import check_holds, kill_exports

from rejoinder.cli import main
from rejoinder.errors import StoreError
from rejoinder.index.index import Index
from rejoinder.retrieval import open_retriever
from rejoinder.retrieval.export import ExportReport, export_index


def test_an_export_follows_the_index(index: Index, url: str, tmp_path: Path) -> None:
    steps: list[tuple[int, int]] = []
    total = index.count().sentences

    first = export_index(index, url, on_progress=lambda *step: steps.append(step))
    assert first == ExportReport(3, 0, 0, total)
    assert steps[0] == (0, total)
    assert steps[-1] == (total, total)
    check_holds(url, index)
    assert export_index(index, url) == ExportReport(0, 0, 3, 0)

    docs = tmp_path / "docs"
    (docs / "tea.md").write_text("# Green tea\n\nGreen tea is now blue.\n", encoding="utf-8")
    (docs / "deep" / "bees.md").unlink()
    index.add([docs])
    assert export_index(index, url)[:3] == (1, 1, 1)
    check_holds(url, index)
    with open_retriever(url) as remote:
        texts = [hit.candidate.text for hit in remote.search("green tea or a queen", 9)]
    assert texts[0] == "Green tea is now blue."
    assert "A colony has one queen." not in texts


@pytest.mark.parametrize("batch", [1, 4])
def test_a_killed_export_is_continued(
    index: Index, url: str, batch: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rejoinder.retrieval.export.BATCH", batch)
    monkeypatch.setattr("rejoinder.retrieval.export.MAX_OPEN", 2)
    written: list[int] = []

    def kill(done: int, total: int) -> None:
        if done and len(written) < 6:
            written.append(done)
            raise KeyboardInterrupt

    while True:
        try:
            export_index(index, url, on_progress=kill)
            break
        except KeyboardInterrupt:
            if len(written) == 3:  # what was written of it so far has to go
                index.remove_document(index.documents()[0].id)
    check_holds(url, index)


def test_another_index_is_refused(index: Index, url: str, tmp_path: Path) -> None:
    export_index(index, url)
    with Index(tmp_path / "other", create=True) as other:
        other.add([tmp_path / "docs" / "tea.md"])
        with pytest.raises(StoreError, match="has the documents of another index; choose an"):
            export_index(other, url)
    check_holds(url, index)


def test_a_change_of_the_encoder_is_noticed(index: Index, url: str) -> None:
    export_index(index, url)
    index.drop_vectors()

    with pytest.raises(StoreError, match="vectors were made by another encoder than the index"):
        export_index(index, url)


def test_an_index_without_vectors_is_searched_by_words(index: Index, url: str) -> None:
    index.drop_vectors()
    export_index(index, url)

    with open_retriever(url) as remote:
        hit = remote.search("how many queens has a colony?", 5)[0]
    assert hit.candidate.text == "A colony has one queen."
    assert hit.candidate.retrieval
    assert hit.candidate.retrieval.sources == ("words",)


def test_a_schema_of_another_version_is_refused(
    index: Index, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    export_index(index, url)
    monkeypatch.setattr("rejoinder.retrieval.record.FORMAT", 99)

    with open_retriever(url) as remote, pytest.raises(StoreError) as caught:
        remote.check_ready()
    assert re.search(r"another version of rejoinder \(format 1\.\d+, this is 99", str(caught.value))


def test_a_change_of_the_terms_is_noticed(
    index: Index, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Stems of another version would not be found by the words of questions."""
    export_index(index, url)
    monkeypatch.setattr("rejoinder.retrieval.record.TERMS_FORMAT", 99)

    with pytest.raises(StoreError) as caught:
        export_index(index, url)
    assert re.search(
        r"another version of rejoinder \(format \d+\.\d+, this is \d+.99\)", str(caught.value)
    )
    assert "export the index again, under another name" in str(caught.value)
    with open_retriever(url) as remote, pytest.raises(StoreError, match="another version of rejo"):
        remote.search("tea", 1)


def test_a_process_that_is_killed_is_continued(tmp_path: Path, pattern: str) -> None:
    assert kill_exports(tmp_path, pattern, 2) > 0


def test_the_commands_export(tmp_path: Path, index: Index, url: str) -> None:
    folder = str(index.folder)
    total = index.count().sentences
    command = ["index", "export", "--index", folder, "--to", url]
    result = CliRunner().invoke(main, command)
    assert (result.exit_code, result.stdout) == (0, "")
    assert f"3 documents written ({total} sentences), 0 removed, 0 unchanged" in result.stderr
    check_holds(url, index)

    more = tmp_path / "more.md"
    more.write_text("Ice is cold. Snow is colder.\n", encoding="utf-8")
    result = CliRunner().invoke(main, ["index", "add", str(more), "--index", folder, "--to", url])
    assert result.exit_code == 0, result.output
    assert "1 document written (2 sentences), 0 removed, 3 unchanged" in result.stderr
    check_holds(url, index)

    result = CliRunner().invoke(main, [*command[:-1], url.replace("://", "s://")])
    assert result.exit_code == 1
    assert "is no search engine; known: " in result.stderr
    assert result.stderr.count("\n") == 1


def test_an_export_may_only_remove(index: Index, url: str) -> None:
    export_index(index, url)
    index.remove_document(index.documents()[0].id)

    report = export_index(index, url)

    assert (report.written, report.removed) == (0, 1)
    check_holds(url, index)
