"""The loop of a worker, over pipes that are files here."""

import io
from collections.abc import Iterator
from pathlib import Path

import pytest

from rejoinder.server.workers.jobs import Work
from rejoinder.server.workers.messages import (
    Ask,
    Failed,
    Job,
    ListDocuments,
    Rank,
    Ranked,
    RemoveDocument,
    Reply,
    Sent,
    pack,
    unpack_received,
    unpack_reply,
)
from rejoinder.server.workers.worker import do, run


@pytest.fixture
def work() -> Iterator[Work]:
    opened = Work(None, "jaccard")
    yield opened
    opened.close()


def read_replies(raw: bytes) -> Iterator[tuple[int, bytes]]:
    while raw:
        size = int.from_bytes(raw[:4], "big")
        yield size, raw[4 : 4 + size]
        raw = raw[4 + size :]


def test_every_job_is_replied_to_under_its_number(work: Work) -> None:
    jobs: list[Job] = [
        Rank("tea?", ["Tea is hot.", "It rains."], top=1),
        Ask("tea?"),
        Ask("", text="Tea."),
    ]
    sent = [Sent(number, job) for number, job in enumerate(jobs, start=7)]
    replies = io.BytesIO()

    run(work, io.BytesIO(b"".join(map(pack, sent))), replies)

    received = {}
    for _, body in read_replies(replies.getvalue()):
        message = unpack_received(body)
        received[message.number] = unpack_reply(message, jobs[message.number - 7])
    ranked = received[7]
    assert isinstance(ranked, Ranked)
    assert ranked.documents[0].place == 0
    assert received[8] == Failed(
        "input", "no index is served; start it with 'rejoinder serve INDEX'"
    )
    assert received[9] == Failed("input", "the question is empty")


class Broken(Work):
    """Work with a bug."""

    def do(self, job: Job) -> Reply:
        raise RuntimeError("the secret reason")


def test_each_kind_of_failure_has_its_name(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(job: ListDocuments | RemoveDocument, with_: Work) -> Reply | Failed:
        return do(with_, Sent(0, job))

    with_index = Work(tmp_path / "index", "jaccard")
    missing = fail(RemoveDocument(5), with_index)
    with_index.close()
    closed = fail(ListDocuments(), with_index)

    assert missing == Failed("missing", "the index holds no document 5")
    assert isinstance(closed, Failed)
    assert closed.kind == "store"
    broken = do(Broken(None, "jaccard"), Sent(0, Ask("why?")))
    assert isinstance(broken, Failed)
    assert broken.kind == "bug"
    assert "secret" not in broken.message
    assert caplog.records[-1].exc_info
