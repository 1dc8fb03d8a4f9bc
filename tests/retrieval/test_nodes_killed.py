"""Two real nodes of one cluster, one of which is killed while questions are asked."""

import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

import pytest
from tests.retrieval.killing import (
    QUESTIONS,
    find_texts,
    kill_under_load,
    opensearch_load,
    opensearch_pair,
    qdrant_load,
)
from tests.retrieval.search_servers import is_long

from rejoinder.errors import StoreError
from rejoinder.retrieval import open_retriever
from rejoinder.retrieval.remote import RemoteIndex

Start = Callable[[Path], AbstractContextManager[tuple[RemoteIndex, Callable[[], None]]]]


@pytest.mark.parametrize(
    "start",
    [
        pytest.param(qdrant_load, id="qdrant"),
        pytest.param(opensearch_load, id="opensearch", marks=is_long),
    ],
)
def test_no_question_fails_when_a_node_is_killed(start: Start, tmp_path: Path) -> None:
    with start(tmp_path) as (remote, kill):
        load = kill_under_load(remote, kill, 20)
        remote.check_ready()

    assert load.asked > 80
    assert load.failed == load.wrong == []


def test_it_answers_and_is_ready_without_the_leader(tmp_path: Path) -> None:
    with opensearch_pair(tmp_path) as (remote, nodes):
        expected = find_texts(remote, QUESTIONS[0])
        load = kill_under_load(remote, nodes[0].kill, 20)
        assert load.failed == load.wrong == []

        start = time.monotonic()
        remote.check_ready()
        assert time.monotonic() - start < 2
        with open_retriever(f"opensearch://{nodes[1].host}/docs") as other:  # a new server
            other.check_ready()
            assert find_texts(other, QUESTIONS[0]) == expected != []

        nodes[1].kill()
        with pytest.raises(StoreError, match="check that it runs, and its URL"):
            remote.check_ready()
