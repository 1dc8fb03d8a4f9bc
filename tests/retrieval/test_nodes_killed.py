"""Two real nodes of one cluster, one of which is killed while questions are asked."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

import pytest
from tests.retrieval.killing import kill_under_load, opensearch_load, qdrant_load
from tests.retrieval.search_servers import is_long

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

    assert load.asked > 80
    assert load.failed == load.wrong == []
