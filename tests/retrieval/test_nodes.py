"""Requests to the nodes of a cluster: small HTTP servers that are slow, busy or gone."""

import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from rejoinder.retrieval.nodes import BUSY, NoAnswerError, Nodes, make_basic


@dataclass
class Node:
    """A server, and what it does with requests."""

    address: str = ""
    delay: float = 0.0
    status: int = 200
    requests: int = 0
    authorization: str = ""


@contextmanager
def running_node() -> Iterator[Node]:
    node = Node()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            node.requests += 1
            node.authorization = self.headers.get("authorization", "")
            time.sleep(node.delay)
            self.send_response(node.status)
            self.send_header("content-length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    server.block_on_close = False
    node.address = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    try:
        yield node
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.fixture
def three() -> Iterator[list[Node]]:
    with ExitStack() as stack:
        yield [stack.enter_context(running_node()) for _ in range(3)]


def make_nodes(*nodes: Node) -> Nodes:
    return Nodes([node.address for node in nodes], {}, engine="Qdrant")


def test_a_single_node_has_all_of_the_time(three: list[Node]) -> None:
    three[0].delay = 0.6

    assert make_nodes(three[0]).request("GET", "/", seconds=1).status == 200
    assert three[0].requests == 1


def test_a_node_that_hangs_leaves_time_for_another(three: list[Node]) -> None:
    slow, fast, _ = three
    slow.delay = 3
    nodes = make_nodes(slow, fast)
    start = time.monotonic()
    for _ in range(4):
        assert nodes.request("GET", "/", seconds=1).status == 200
    assert time.monotonic() - start < 1
    assert (slow.requests, fast.requests) == (1, 4)  # it is avoided for a while


def test_the_last_node_that_works_has_all_of_the_time(three: list[Node]) -> None:
    first, second, _ = three
    first.delay = second.delay = 3
    nodes = make_nodes(first, second)
    with pytest.raises(NoAnswerError):
        nodes.request("GET", "/", seconds=0.3)
    first.delay = second.delay = 0.6
    nodes._failed.pop(first.address)  # the time for which it is avoided is over
    assert nodes.request("GET", "/", seconds=1).status == 200
    assert (first.requests, second.requests) == (2, 1)


def test_a_write_has_all_of_the_time_and_is_not_repeated(three: list[Node]) -> None:
    slow, slower = three[:2]
    slow.delay = slower.delay = 0.6
    nodes = make_nodes(slow, slower)
    assert nodes.request("GET", "/", seconds=1, is_repeatable=False).status == 200
    assert slow.requests + slower.requests == 1
    with pytest.raises(NoAnswerError, match="no answer within 300 ms"):
        nodes.request("GET", "/", seconds=0.3, is_repeatable=False)
    assert slow.requests + slower.requests == 2


def test_a_write_goes_to_another_node_where_one_is_gone(three: list[Node]) -> None:
    nodes = Nodes(["http://127.0.0.1:1", three[0].address], {}, engine="Qdrant")
    for _ in range(2):
        assert nodes.request("GET", "/", seconds=5, is_repeatable=False).status == 200


@pytest.mark.parametrize("status", BUSY)
def test_a_busy_node_is_asked_again(three: list[Node], status: int) -> None:
    three[0].status = status
    nodes = make_nodes(three[0])
    assert nodes.request("GET", "/", seconds=5).status == status
    assert three[0].requests == 3


def test_other_statuses_are_answers_unless_an_engine_says_so(three: list[Node]) -> None:
    three[0].status = 500
    assert make_nodes(three[0]).request("GET", "/", seconds=5).status == 500
    nodes = Nodes([node.address for node in three[:2]], {}, engine="Qdrant", busy=(500,))
    for _ in range(2):
        assert nodes.request("GET", "/", seconds=5).status == 200
    assert three[1].requests == 2


def test_no_pause_outlasts_the_budget(three: list[Node]) -> None:
    three[0].status = 503
    start = time.monotonic()
    make_nodes(three[0]).request("GET", "/", seconds=0.03)
    assert time.monotonic() - start < 0.1


def test_a_password_may_have_any_letter(three: list[Node]) -> None:
    nodes = Nodes([three[0].address], make_basic("mė", "pä:ss"), engine="OpenSearch")
    nodes.request("GET", "/", seconds=5)
    assert three[0].authorization == "Basic bcSXOnDDpDpzcw=="
    assert make_basic("", "x") == {}
