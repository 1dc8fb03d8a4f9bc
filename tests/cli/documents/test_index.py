import gzip
import json
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from tests.unprivileged import without_privilege

from rejoinder.cli import main
from rejoinder.index.index import Index


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    folder = tmp_path / "docs"
    folder.mkdir()
    (folder / "tea.md").write_text("# Tea\n\nGreen tea is brewed at 75 °C.\n", encoding="utf-8")
    (folder / "bad.pdf").write_bytes(b"nothing")
    return folder


@pytest.fixture
def folder(tmp_path: Path, docs: Path) -> Path:
    run("add", docs, "--index", tmp_path / "index", "--meta", "team=red")
    return tmp_path / "index"


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(main, ["index", *map(str, arguments)])


def test_add_sums_up_and_names_what_was_skipped(docs: Path, tmp_path: Path) -> None:
    result = run("add", docs, "--index", tmp_path / "index")

    assert result.exit_code == 0, result.output
    assert result.stdout == "1 skipped, 1 added; 2 sentences read\n"
    assert f"skipped {docs}/bad.pdf: not a PDF that can be read" in result.stderr


def test_a_named_file_that_cannot_be_read_is_exit_status_1(docs: Path, tmp_path: Path) -> None:
    result = run("add", docs / "bad.pdf", docs / "tea.md", "--index", tmp_path / "index")

    assert result.exit_code == 1
    assert result.stdout == "1 skipped, 1 added; 2 sentences read\n", "the others are added"
    assert result.stderr.startswith(f"skipped {docs}/bad.pdf: not a PDF that can be read")
    assert run("check", "--index", tmp_path / "index").stdout.startswith("1 document,")
    assert run("add", docs, "--index", tmp_path / "index").exit_code == 0


def test_files_of_other_formats_are_counted_by_suffix(docs: Path, tmp_path: Path) -> None:
    for name in ("a.PNG", "b.png", "sub/c.png", "sub/d.exe", "Makefile", ".hidden.zip"):
        path = docs / name
        path.parent.mkdir(exist_ok=True)
        path.touch()

    result = run("add", docs, "--index", tmp_path / "index")
    events = run("add", docs, "--index", tmp_path / "index", "--json")

    assert result.exit_code == 0
    assert result.stderr.splitlines()[-1] == (
        "not read, of other formats: 3 .png, 1 without suffix, 1 .exe"
    )
    assert all(
        json.loads(line)["path"].endswith((".md", ".pdf")) for line in events.stdout.splitlines()
    )


def test_add_reads_gzipped_files_and_tables_without_a_text(docs: Path, tmp_path: Path) -> None:
    (docs / "ice.txt.gz").write_bytes(gzip.compress(b"The ice is thin here."))
    (docs / "prices.csv").write_text("Dish,Price\nSoup,4\nBread,2\n", encoding="utf-8")

    run("add", docs, "--index", tmp_path / "index")

    with Index(tmp_path / "index") as index:
        hits = index.search("price of soup", 1)[0], index.search("ice", 1)[0]
        assert [item.candidate.text for item in hits] == [
            "Dish: Soup; Price: 4",
            "The ice is thin here.",
        ]
        assert index.search("ice", 1, where={"suffix": ".txt"})


def test_add_gives_an_event_per_file_as_json(docs: Path, folder: Path) -> None:
    lines = run("add", docs, "--index", folder, "--meta", "team=red", "--json").stdout.splitlines()

    assert [json.loads(line)["what"] for line in lines] == ["skipped", "unchanged"]


def test_list_shows_documents_and_their_metadata(docs: Path, folder: Path) -> None:
    assert "tea.md  Tea            2" in run("list", "--index", folder).stdout
    (row,) = json.loads(run("list", "--index", folder, "--json").stdout)
    assert row == {
        "document": f"{docs}/tea.md",
        "title": "Tea",
        "sentences": 2,
        "metadata": {"suffix": ".md", "folder": str(docs), "team": "red"},
    }


def test_remove_and_compact(docs: Path, folder: Path) -> None:
    assert run("remove", docs / "tea.md", "--index", folder).stdout.startswith("1 removed")
    compacted = run("compact", "--index", folder)
    assert (compacted.exit_code, compacted.stdout) == (
        0,
        "compacted; the index has 0 documents, 0 sentences\n",
    )
    assert "the index is empty; 'rejoinder index add'" in run("list", "--index", folder).stderr
    assert run("check", "--index", folder).stdout == "0 documents, 0 sentences: no problems\n"
    assert run("remove", docs / "tea.md", "--index", folder).exit_code == 1


def test_check_names_problems(folder: Path) -> None:
    assert run("check", "--index", folder).stdout == "1 document, 2 sentences: no problems\n"
    with Index(folder) as index:
        index.store._connection.get().execute("DELETE FROM sentences WHERE position = 0")

    result = run("check", "--index", folder)

    assert result.exit_code == 1
    assert "tea.md: 1 of 2 sentences are there" in result.stderr
    assert f"Error: {folder}: 1 problem" in result.stderr


def test_what_is_exported_can_be_added_again(folder: Path, tmp_path: Path, docs: Path) -> None:
    exported = tmp_path / "all.jsonl"
    exported.write_text(run("export", "--index", folder).stdout, encoding="utf-8")

    run("add", exported, "--index", tmp_path / "second")

    (row,) = json.loads(run("list", "--index", tmp_path / "second", "--json").stdout)
    assert row["document"] == f"{exported}#{docs}/tea.md"
    assert (row["title"], row["sentences"], row["metadata"]["team"]) == ("Tea", 2, "red")


def test_no_index_is_one_line(tmp_path: Path) -> None:
    result = run("list", "--index", tmp_path / "nowhere")

    assert result.exit_code == 1
    assert "no index there; make one with 'rejoinder index add'" in result.stderr


def test_a_folder_that_cannot_be_read_is_named_and_keeps_its_documents(tmp_path: Path) -> None:
    docs, index = tmp_path / "docs", tmp_path / "index"
    (docs / "closed" / "deep").mkdir(parents=True)
    (docs / "open.txt").write_text("Bees can dance well.", encoding="utf-8")
    (docs / "closed" / "deep" / "tea.txt").write_text("Tea is always hot.", encoding="utf-8")
    run("add", docs, "--index", index)
    (docs / "closed").chmod(0)
    add = [sys.executable, "-m", "rejoinder", "index", "add", str(docs), "--index", str(index)]
    try:
        result = subprocess.run(
            [*without_privilege(), *add], check=True, capture_output=True, text=True
        )
    finally:
        (docs / "closed").chmod(0o755)

    assert result.stderr == f"skipped {docs}/closed: Permission denied\n"
    assert result.stdout == "1 skipped, 1 unchanged; the index has 2 documents, 2 sentences\n"
    assert run("check", "--index", index).stdout == "2 documents, 2 sentences: no problems\n"
    (docs / "closed" / "deep" / "tea.txt").unlink()
    assert run("add", docs, "--index", index).stdout.startswith("1 unchanged, 1 removed")


@pytest.mark.parametrize("wrong", [["nowhere"], ["empty"], ["docs", "--meta", "suffix=x"]])
def test_what_cannot_be_added_makes_no_index(wrong: list[str], docs: Path, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()

    result = run("add", docs.parent / wrong[0], *wrong[1:], "--index", tmp_path / "new")

    assert result.exit_code == 1
    assert result.stderr.startswith("Error: ")
    assert not (tmp_path / "new").exists()


def test_an_index_without_vectors_stays_so(docs: Path, tmp_path: Path) -> None:
    folder = tmp_path / "index"
    assert run("add", docs, "--index", folder, "--no-vectors").exit_code == 0
    (docs / "new.txt").write_text("Bees can dance well.", encoding="utf-8")

    assert run("add", docs, "--index", folder).exit_code == 0

    with Index(folder) as index:
        assert index.store.get("encoder") == "none"
    assert not list(folder.glob("vectors-*"))


def test_only_an_encoder_can_be_embedded(docs: Path, tmp_path: Path) -> None:
    both = run("add", docs, "--index", tmp_path / "index", "--embed", docs, "--no-vectors")
    missing = run("add", docs, "--index", tmp_path / "index", "--embed", docs)
    other = run("add", docs, "--index", tmp_path / "index", "--embed", "selector")

    assert both.exit_code == 2
    assert "--embed and --no-vectors exclude each other" in both.stderr
    assert (missing.exit_code, other.exit_code) == (1, 1)
    assert str(docs) in missing.stderr
    assert "a bundle of kind 'selector' holds no sentence encoder" in other.stderr
    assert not (tmp_path / "index").exists()
