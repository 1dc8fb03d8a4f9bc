"""The loop of a worker, over byte streams."""

import io
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from rejoinder.server.workers.jobs import JobRunner
from rejoinder.server.workers.messages import (
    AnswerRequest,
    Failure,
    Job,
    ListDocuments,
    RankRequest,
    Received,
    RemoveDocument,
    Reply,
    pack_job,
    unpack_reply,
)
from rejoinder.server.workers.worker import run, run_job


@pytest.fixture
def runner() -> Iterator[JobRunner]:
    opened = JobRunner(None, "jaccard")
    yield opened
    opened.close()


def read_replies(raw: bytes) -> Iterator[Received]:
    while raw:
        size = int.from_bytes(raw[:4], "big")
        yield unpack_reply(raw[4 : 4 + size])
        raw = raw[4 + size :]


def test_every_job_gets_a_reply_with_its_number(runner: JobRunner) -> None:
    jobs: list[Job] = [
        RankRequest("tea?", ["Tea is hot.", "It rains."], top=1),
        AnswerRequest("tea?"),
        AnswerRequest("", text="Tea."),
    ]
    sent = [pack_job(number, job) for number, job in enumerate(jobs, start=7)]
    replies = io.BytesIO()

    run(runner, io.BytesIO(b"".join(sent)), replies)

    received = {reply.number: reply.outcome for reply in read_replies(replies.getvalue())}
    ranking = received[7]
    assert isinstance(ranking, bytes)
    assert msgspec.json.decode(ranking)["documents"][0]["place"] == 0
    assert received[8] == Failure(
        "input", "no index is served; start it with 'rejoinder serve INDEX'"
    )
    assert received[9] == Failure("input", "the question is empty")


class Broken(JobRunner):
    """A runner with a bug."""

    def run(self, job: Job) -> Reply:
        raise RuntimeError("the secret reason")


def test_failures_have_kinds(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    def fail(job: Job, runner: JobRunner) -> bytes | Failure:
        return unpack_reply(run_job(runner, 0, job)[4:]).outcome

    with_index = JobRunner(tmp_path / "index", "jaccard")
    missing = fail(RemoveDocument(5), with_index)
    with_index.close()
    closed = fail(ListDocuments(), with_index)

    assert missing == Failure("missing", "the index has no document 5")
    assert isinstance(closed, Failure)
    assert closed.kind == "store"
    broken = fail(AnswerRequest("why?"), Broken(None, "jaccard"))
    assert isinstance(broken, Failure)
    assert broken.kind == "bug"
    assert "secret" not in broken.message
    assert caplog.records[-1].exc_info
