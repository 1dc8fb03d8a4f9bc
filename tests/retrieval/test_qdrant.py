"""What only Qdrant has: the status of a collection, keys that may only read, and a full disk."""

from uuid import uuid4

import pytest
from tests.retrieval.proxy import proxy_before, wire_to
from tests.retrieval.servers import PASSWORD, READ_ONLY

from rejoinder.errors import StoreError
from rejoinder.index.index import Index
from rejoinder.retrieval import open_retriever
from rejoinder.retrieval.export import export_index


@pytest.fixture
def own(qdrant: str, index: Index) -> str:
    """The URL of an exported index."""
    url = qdrant.format(name=f"t{uuid4().hex[:12]}")
    export_index(index, url)
    return url


def test_an_export_to_a_collection_that_has_failed_is_not_done(index: Index, own: str) -> None:
    with wire_to(own) as (wire, url):
        index.remove_document(index.documents()[0].id)
        wire.replaced = {b'"status":"green"': b'"status":"red"  '}  # as after a full disk
        with pytest.raises(StoreError) as caught:
            export_index(index, url)
        assert "checking the collection failed (its status is red: no reason" in str(caught.value)
        assert str(caught.value).endswith("see the log of Qdrant, and repeat the command")

        wire.replaced = {b'"status":"green"': b'"status":"grey" '}  # waits for an optimisation
        with open_retriever(url) as remote:
            remote.check_ready()
            remote.finish()
        assert export_index(index, url).removed == 1  # again, as it was not done


def test_a_key_that_may_only_read_is_named(own: str) -> None:
    if PASSWORD not in own:
        pytest.skip("a server of one's own may have no such key")
    with open_retriever(own.replace(PASSWORD, READ_ONLY)) as remote:
        assert remote.search("tea", 1)
        with pytest.raises(StoreError, match=r"failed \(.*; give a key that may read and write"):
            remote.put_revisions({"tea": "1"})


@pytest.mark.parametrize(
    ("problem", "remedy"),
    [
        ("Service internal error: No space left on device", "free disk space on its nodes"),
        ("Service internal error: 1 of 1 read operations failed", "see the log of Qdrant"),
    ],
)
def test_an_internal_error_is_named(own: str, problem: str, remedy: str) -> None:
    with proxy_before(own.split("@")[-1].split("/")[0]) as proxy:
        proxy.status, proxy.body = 500, f'{{"status": {{"error": "{problem}"}}}}'.encode()
        with (
            open_retriever(f"qdrant://{proxy.address}/docs") as remote,
            pytest.raises(StoreError, match=rf"status 500: {problem}\); {remedy}$"),
        ):
            remote.check_ready()
