"""The loop of a worker, over byte streams."""

import io
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from rejoinder.index.index import Index
from rejoinder.server.workers.jobs import JobRunner
from rejoinder.server.workers.messages import (
    AnswerJob,
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
from rejoinder.server.workers.worker import run, run_job, warm_up
from rejoinder.types import Document


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
        AnswerJob("tea?"),
        AnswerJob("", text="Tea."),
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


START = """
import sys
from rejoinder.server.workers import worker

run_job, pack_reply = worker.run_job, worker.pack_reply

def watch_job(runner, number, job):
    print(type(job).__name__, file=sys.stderr)
    return run_job(runner, number, job)

def watch_reply(number, reply):
    print(type(reply).__name__, file=sys.stderr)
    return pack_reply(number, reply)

worker.run_job, worker.pack_reply = watch_job, watch_reply
worker.main(sys.argv[1], "jaccard", "cpu", False)
"""


def test_a_worker_runs_jobs_before_it_is_ready(tmp_path: Path) -> None:
    with Index(tmp_path / "index", create=True) as index:
        index.add_documents([Document("tower", text="The first tower was made in 1889.")])

    result = subprocess.run(
        [sys.executable, "-c", START, str(tmp_path / "index")],
        check=True,
        stdin=subprocess.DEVNULL,
        capture_output=True,
    )

    # Each job is followed by its reply; the worker then says what it has opened, and is ready.
    # The second answer is to the index's own sentence.
    answer = ["AnswerJob", "Answers"]
    expected = ["RankRequest", "DocumentRanking", *answer, *answer, "WorkerInfo"]
    assert result.stderr.decode().split() == expected
    (ready,) = read_replies(result.stdout)
    assert ready.number == 0


class Broken(JobRunner):
    """A runner with a bug."""

    def run(self, job: Job) -> Reply:
        raise RuntimeError("the secret reason")


def test_a_failure_while_a_worker_warms_up_does_not_stop_it(
    runner: JobRunner, caplog: pytest.LogCaptureFixture
) -> None:
    warm_up(runner)  # without an index
    assert not caplog.records

    warm_up(Broken(None, "jaccard"))
    assert "a job failed" in caplog.text


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
    broken = fail(AnswerJob("why?"), Broken(None, "jaccard"))
    assert isinstance(broken, Failure)
    assert broken.kind == "bug"
    assert "secret" not in broken.message
    assert caplog.records[-1].exc_info
