"""What only PostgreSQL has: counts of terms, codes of errors, and several hosts in one URL."""

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from uuid import uuid4

import pytest
from tests.retrieval.proxy import wire_to

from rejoinder.documents.reading import convert_document
from rejoinder.errors import StoreError
from rejoinder.index.index import Index, load_tokenizer
from rejoinder.models.staged import Deadline
from rejoinder.retrieval import open_retriever
from rejoinder.retrieval.export import TABLE, export_index, make_schema
from rejoinder.retrieval.load import RevisedDocument, load_documents
from rejoinder.retrieval.postgres import PostgresIndex
from rejoinder.types import Document


@pytest.fixture
def own(postgresql: str) -> str:
    """A URL that nothing was exported to."""
    return postgresql.format(name=f"t{uuid4().hex[:12]}")


@contextmanager
def opened(url: str) -> Iterator[PostgresIndex]:
    with open_retriever(url) as remote:
        assert isinstance(remote, PostgresIndex)
        yield remote


def read_counts(url: str) -> dict[str, int]:
    with opened(url) as remote, remote._running("counting", 5) as run:
        return {term: count for term, count in run("SELECT * FROM {terms}") if count}


def count_anew(url: str) -> dict[str, int]:
    with opened(url) as remote, remote._running("counting", 5) as run:
        run("TRUNCATE {terms}")
    with opened(url) as remote:
        remote.finish()
    return read_counts(url)


def test_terms_are_counted_as_documents_change(index: Index, own: str, tmp_path: Path) -> None:
    export_index(index, own)
    first = read_counts(own)
    assert first["queen"] == 3  # its passage holds it, too
    assert first[""] == index.store.query("SELECT sum(may_answer) FROM sentences")[0][0]

    (tmp_path / "docs" / "deep" / "bees.md").unlink()
    (tmp_path / "docs" / "tea.md").write_text("# Tea\n\nTea is for a queen.\n", encoding="utf-8")
    index.add([tmp_path / "docs"])
    export_index(index, own)
    counts = read_counts(own)
    assert "coloni" not in counts
    assert counts == count_anew(own)
    assert counts != first


def test_a_small_change_does_not_count_all_terms(index: Index, own: str, tmp_path: Path) -> None:
    export_index(index, own)
    with opened(own) as remote, remote._running("changing", 5) as run:
        run("UPDATE {terms} SET sentences = 777 WHERE term = 'meltwat'")
    (tmp_path / "docs" / "more.txt").write_text("The queen of a colony is large.", encoding="utf-8")
    index.add([tmp_path / "docs"])
    export_index(index, own)

    counts = read_counts(own)
    assert (counts["meltwat"], counts["queen"]) == (777, 4)


def test_the_same_records_twice_are_counted_once(index: Index, own: str) -> None:
    export_index(index, own)
    counts = read_counts(own)
    with opened(own) as remote:
        remote.put_revisions(dict.fromkeys(remote.get_revisions(), ""))
    export_index(index, own)  # as after a kill
    assert read_counts(own) == counts


def make_pages(numbers: range, version: int) -> list[RevisedDocument]:
    return [
        RevisedDocument(
            convert_document(
                Document(
                    f"page-{number}",
                    "Page",
                    (f"Version {version} of {number} is here.", f"Term {number * version} is old."),
                ),
                {},
            ),
            str(version),
        )
        for number in numbers
    ]


def test_terms_are_counted_while_several_write(own: str) -> None:
    """Two of the six writers have the same documents, as after a worker that seemed dead."""
    tokenizer = load_tokenizer()
    parts = [range(start, start + 40) for start in (0, 40, 80, 120, 160, 160)]
    with opened(own) as remote:
        remote.create(make_schema(TABLE, None))
        for part in parts:
            load_documents(remote, make_pages(part, 1), tokenizer)
        remote.finish()
        counts = read_counts(own)
        with ThreadPoolExecutor(len(parts)) as pool:
            for version in (2, 3, 4):
                pages = [make_pages(part, version) for part in parts]
                list(pool.map(lambda each: load_documents(remote, each, tokenizer), pages))
    assert counts[""] == 400
    assert read_counts(own)[""] == 400
    assert read_counts(own) == count_anew(own) != counts


def test_another_host_is_asked_where_a_connection_is_lost(index: Index, own: str) -> None:
    export_index(index, own)
    folder = own.partition("?host=")[2].partition("&")[0]
    with wire_to(own) as (wire, _):
        both = own.replace(f"host={folder}", f"host=127.0.0.1,{folder}&port={wire.port},5432")
        with opened(both) as remote:
            assert remote.search("tea", 1)
            with remote._running("asking for the host", 5) as run:
                assert run.connection.info.host == "127.0.0.1"
            wire.hang()
            threading.Timer(0.3, wire.cut).start()  # while the search waits
            assert remote.search("tea", 1)
            with remote._running("asking for the host", 5) as run:
                assert run.connection.info.host == folder


def test_a_connection_that_is_lost_while_it_waits_is_replaced(index: Index, own: str) -> None:
    export_index(index, own)
    with opened(own) as remote, opened(own) as other:
        lost: list[int] = []

        def read(run: object) -> int:
            assert callable(run)
            ((process,),) = run("SELECT pg_backend_pid()")
            if not lost:
                lost.append(process)
                with other._running("ending the other", 5) as end:
                    end("SELECT pg_terminate_backend(%s)", [process])
            ((number,),) = run("SELECT 7")
            return int(number)

        assert remote._read("reading", 5, read) == 7
        assert lost
        lost.clear()
        with (
            pytest.raises(StoreError, match=r"writing failed .*; check that it runs") as caught,
            remote._running("writing", 5) as run,  # is not repeated
        ):
            read(run)
        assert "no answer within" not in str(caught.value)
        assert remote.search("tea", 1)


def test_a_statement_that_takes_too_long_is_named_by_its_code(index: Index, own: str) -> None:
    export_index(index, own)
    with opened(own) as remote:
        with (
            pytest.raises(
                StoreError, match=r"sleeping failed \(no answer within 50 ms\); allow mo"
            ),
            remote._running("sleeping", 0.05) as run,
        ):
            run("SELECT pg_sleep(9)")
        with remote._running("changing the language", 5) as run:
            run("SET lc_messages = 'C'")
        assert remote.search("tea", 1, deadline=Deadline.after(5_000))


def test_a_server_that_is_read_only_is_named(index: Index, own: str) -> None:
    read_only = own.replace("?", "?options=-cdefault_transaction_read_only%3Don&")
    remedy = "; the server or the user is read-only; give the URL of one that can be written$"
    with pytest.raises(StoreError, match=rf"creating the tables failed .*{remedy}") as caught:
        export_index(index, read_only)
    assert "\n" not in str(caught.value)
    export_index(index, own)
    with opened(read_only) as remote:
        assert remote.search("tea", 1)
        with pytest.raises(StoreError, match=rf"storing revisions failed .*{remedy}"):
            remote.put_revisions({"tea": "1"})


def test_an_old_server_is_named(index: Index, own: str) -> None:
    export_index(index, own)
    with wire_to(own) as (wire, wired):
        with opened(wired) as remote, remote._running("asking for the version", 5) as run:
            version = run.connection.info.parameter_status("server_version")
        assert version
        old = f"12.{version[3:]}"
        wire.replaced = {
            f"server_version\0{version}\0".encode(): f"server_version\0{old}\0".encode()
        }
        message = r"opening failed \(version 12\); use PostgreSQL 13 or later$"
        with opened(wired) as remote, pytest.raises(StoreError, match=message):
            remote.check_ready()


def test_an_old_pgvector_is_named(index: Index, own: str) -> None:
    sql = "UPDATE pg_extension SET extversion = %s WHERE extname = 'vector' RETURNING extversion"
    export_index(index, own)  # which creates the extension
    with opened(own) as remote, remote._running("reading the version", 5) as run:
        ((version,),) = run("SELECT extversion FROM pg_extension WHERE extname = 'vector'")
        run(sql, ["0.7.4"])
    try:
        with pytest.raises(StoreError, match=r"opening failed \(pgvector 0.7.4\); update it to 0"):
            export_index(index, f"{own}x")
    finally:
        with opened(own) as remote, remote._running("putting it back", 5) as run:
            run(sql, [version])
