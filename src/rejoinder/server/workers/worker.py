"""A worker process: reads jobs from stdin, writes replies to stdout.

It ends when its stdin does, so it never outlives the server.  It ignores the signals that stop
the server: accepted jobs are still answered.
"""

import logging
import os
import signal
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

from rejoinder.engine.engine import FIRST_QUESTION
from rejoinder.errors import InputError, RejoinderError, StoreError
from rejoinder.server.telemetry import start_logging
from rejoinder.server.workers.jobs import JobRunner
from rejoinder.server.workers.messages import (
    AnswerJob,
    Failure,
    Job,
    RankRequest,
    pack_reply,
    unpack_job,
)
from rejoinder.server.workers.pool import RETRIEVER, SLOTS

FIRST_JOBS: tuple[Job, ...] = (
    RankRequest(FIRST_QUESTION, ("The first one was made in 1889.", "It has no name: \u2603.")),
    AnswerJob(FIRST_QUESTION, explain=True),
)
"""Jobs that a worker runs before it is ready: common words, so that most indexes have matches, and
an unknown one, whose vector is drawn by a module that nothing else imports."""

FIRST_SENTENCES = 8
MAX_FIRST = 200
"""Sentences of the index that are asked before a worker is ready, and characters of each."""

_log = logging.getLogger(__name__)


def warm_up(runner: JobRunner) -> None:
    """Run jobs as clients send them, so that their first one is as fast as later ones.

    Sentences of the index are asked, too: their words, and those of what is found for them, are
    then in the tables of the small ranker.  Failures are left for the clients' own jobs, whose
    replies report them.
    """
    for job in FIRST_JOBS:
        run_job(runner, 0, job)
    with suppress(RejoinderError):
        for sentence in runner.sample_sentences(FIRST_SENTENCES):
            run_job(runner, 0, AnswerJob(sentence[:MAX_FIRST]))


def run(runner: JobRunner, jobs: BinaryIO, replies: BinaryIO) -> None:
    """Run jobs in parallel until the input ends."""
    lock = threading.Lock()

    def finish(number: int, job: Job) -> None:
        frame = run_job(runner, number, job)
        with lock:
            replies.write(frame)
            replies.flush()

    with ThreadPoolExecutor(SLOTS, "job") as pool:
        while header := jobs.read(4):
            pool.submit(finish, *unpack_job(jobs.read(int.from_bytes(header, "big"))))


def run_job(runner: JobRunner, number: int, job: Job) -> bytes:
    """Return the reply to a job, or its failure, as a frame; never raise."""
    try:
        return pack_reply(number, runner.run(job))
    except InputError as error:
        failure = Failure("input", str(error))
    except StoreError as error:
        failure = Failure("store", str(error))
    except Exception:
        _log.exception("a job failed: %s", type(job).__name__)
        failure = Failure("bug", "internal error; see the server's log")
    return pack_reply(number, failure)


def main(
    index: str,
    scorer: str,
    provider: str,
    create: bool = True,
    min_confidence: float | None = None,
) -> None:
    """Serve an index, or none where it is empty, and a scorer over stdin and stdout.

    The environment names a search engine instead: its password is not for the list of processes.
    """
    for name in ("SIGINT", "SIGTERM", "SIGHUP"):
        if hasattr(signal, name):  # Windows has no SIGHUP
            signal.signal(getattr(signal, name), signal.SIG_IGN)
    start_logging()
    if hasattr(os, "nice"):
        os.nice(10)  # the HTTP process must not wait for the CPU
    else:
        _log.warning("this system has no `nice`: replies may wait for a worker that computes")
    # Libraries may print to stdout: keep the pipe for replies, and send the rest to stderr.
    replies = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    try:
        place = os.environ.get(RETRIEVER) or (Path(index) if index else None)
        runner = JobRunner(*(place, scorer, provider), create=create, min_confidence=min_confidence)
    except RejoinderError as error:
        replies.write(pack_reply(0, Failure("input", str(error))))
        replies.flush()
        return
    warm_up(runner)
    replies.write(pack_reply(0, runner.info))
    replies.flush()
    run(runner, sys.stdin.buffer, replies)
    runner.close()
