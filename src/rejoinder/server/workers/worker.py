"""A process that computes: reads jobs from stdin, writes replies to stdout.

It ends when its stdin does, so it never outlives the server.  Signals to the server are none
of its business: what was accepted is still to be answered.
"""

import logging
import os
import signal
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import BinaryIO

from rejoinder.errors import InputError, RejoinderError, StoreError
from rejoinder.server.logs import log_as_json
from rejoinder.server.workers.jobs import NoSuchDocumentError, Work
from rejoinder.server.workers.messages import Failed, Reply, Sent, pack, pack_reply, unpack_sent
from rejoinder.server.workers.pool import SLOTS

_log = logging.getLogger(__name__)


def run(work: Work, jobs: BinaryIO, replies: BinaryIO) -> None:
    """Do jobs side by side until there are no more."""
    lock = threading.Lock()

    def finish(sent: Sent) -> None:
        packed = pack_reply(sent.number, do(work, sent))
        with lock:
            replies.write(packed)
            replies.flush()

    with ThreadPoolExecutor(SLOTS, "job") as pool:
        while header := jobs.read(4):
            pool.submit(finish, unpack_sent(jobs.read(int.from_bytes(header, "big"))))


def do(work: Work, sent: Sent) -> Reply | Failed:
    """Return the reply to a job, whatever happens."""
    try:
        return work.do(sent.job)
    except NoSuchDocumentError as error:
        return Failed("missing", str(error))
    except InputError as error:
        return Failed("input", str(error))
    except StoreError as error:
        return Failed("store", str(error))
    except Exception:
        _log.exception("a %s failed", type(sent.job).__name__)
        return Failed("bug", "something went wrong here; the server's log says what")


def main() -> None:
    """Serve the index and scorer that the command line names."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    os.nice(10)  # the process that speaks must not wait for those that compute
    log_as_json()
    index, scorer = sys.argv[1:]
    # Libraries may print; only replies go to the server.
    replies = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    try:
        work = Work(Path(index) if index else None, scorer)
    except RejoinderError as error:
        replies.write(pack(Failed("input", str(error))))
        replies.flush()
        return
    replies.write(pack(work.info))
    replies.flush()
    run(work, sys.stdin.buffer, replies)
    work.close()


if __name__ == "__main__":
    main()
