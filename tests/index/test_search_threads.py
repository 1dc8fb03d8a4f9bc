"""Search by meaning on another thread, while this one searches by words."""

import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from rejoinder.index import index as index_module
from rejoinder.index.index import Index
from rejoinder.models import parallel
from rejoinder.models.sentence_encoder.encoder import Vector
from rejoinder.models.staged import Deadline
from rejoinder.types import Document
from tests.index.vectors.encoders import HashedWords

MAX_SECONDS = 60
QUESTIONS = ["is tea hot?", "milk", "who built the tower?", "unknown words", "tea and towers"]


class Observed(HashedWords):
    """Runs a hook before each question is encoded, and notes the thread."""

    def __init__(self) -> None:
        super().__init__()
        self.threads: list[str] = []
        self.hook: Callable[[], object] = lambda: None

    def encode_question(self, question: str) -> Vector:
        self.threads.append(threading.current_thread().name)
        self.hook()
        return super().encode_question(question)


@pytest.fixture
def encoder() -> Observed:
    return Observed()


@pytest.fixture
def index(tmp_path: Path, encoder: Observed) -> Iterator[Index]:
    texts = ["Tea is hot.", "Milk makes tea cold.", "Ada built the tower.", "Towers are high."]
    with Index(tmp_path / "index", create=True, encoder=encoder) as index:
        index.add_documents([Document(str(at), "", (text,)) for at, text in enumerate(texts)])
        yield index


@pytest.fixture
def _two_cores(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Let any index be worth one thread more."""
    monkeypatch.setattr(index_module, "BESIDE", 0)
    monkeypatch.setattr(parallel, "count_cores", lambda: 2)
    parallel._get_threads.cache_clear()
    threads = parallel._get_threads()
    yield
    threads.shutdown()
    parallel._get_threads.cache_clear()


def test_a_small_index_is_searched_on_one_thread(index: Index, encoder: Observed) -> None:
    assert index.search("is tea hot?", 3)

    assert encoder.threads == [threading.current_thread().name]


def test_results_are_those_of_one_thread(
    index: Index, encoder: Observed, request: pytest.FixtureRequest
) -> None:
    expected = [index.search(question, 3) for question in QUESTIONS]
    encoder.threads.clear()
    request.getfixturevalue("_two_cores")

    assert [index.search(question, 3) for question in QUESTIONS] == expected
    assert any(name.startswith("beside") for name in encoder.threads)


@pytest.mark.usefixtures("_two_cores")
def test_on_one_core_the_caller_searches(
    index: Index, encoder: Observed, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parallel, "count_cores", lambda: 1)

    assert index.search("is tea hot?", 3)
    index.close()

    assert encoder.threads == [threading.current_thread().name]


@pytest.mark.usefixtures("_two_cores")
def test_where_no_thread_is_free_the_caller_searches(index: Index, encoder: Observed) -> None:
    is_over = threading.Event()
    busy = parallel._get_threads().submit(is_over.wait, MAX_SECONDS)

    found = index.search("is tea hot?", 3)
    is_over.set()

    assert busy.result()
    assert encoder.threads == [threading.current_thread().name]
    assert found[0].candidate.text == "Tea is hot."


@pytest.mark.usefixtures("_two_cores")
def test_after_the_deadline_nothing_waits_for_the_meaning(index: Index, encoder: Observed) -> None:
    begun, may_end = threading.Event(), threading.Event()

    def wait() -> None:
        begun.set()
        assert may_end.wait(MAX_SECONDS)

    def show_time() -> float:
        # The first look is before the search; once words are found, the meaning is on its way.
        looks.append(1)
        assert len(looks) == 1 or begun.wait(MAX_SECONDS)
        return 0.0 if len(looks) == 1 else 2.0

    encoder.hook = wait
    looks: list[int] = []
    found = index.search("is tea hot?", 3, deadline=Deadline(1.0, show_time))
    index.close()  # the search that still runs keeps the files open
    may_end.set()
    parallel._get_threads().submit(lambda: None).result(MAX_SECONDS)

    assert found
    assert all(item.candidate.retrieval.sources == ("words",) for item in found)  # type: ignore[union-attr]


@pytest.mark.usefixtures("_two_cores")
def test_shortly_before_the_deadline_the_meaning_is_not_begun(
    index: Index, encoder: Observed
) -> None:
    assert index.search("is tea hot?", 3, deadline=Deadline(0.002, lambda: 0.0))

    assert encoder.threads == []


@pytest.mark.usefixtures("_two_cores")
def test_an_error_of_the_other_thread_is_raised(index: Index, encoder: Observed) -> None:
    def fail() -> None:
        raise MemoryError("too long")

    encoder.hook = fail

    with pytest.raises(MemoryError, match="too long"):
        index.search("is tea hot?", 3)
