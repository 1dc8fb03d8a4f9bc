"""A backend that computes in this process, over a small index."""

import asyncio
from pathlib import Path

from rejoinder.index.index import Index
from rejoinder.index.update import add_files
from rejoinder.models.static_vectors.vectors import load_vectors
from rejoinder.server.problems import fail
from rejoinder.server.workers.jobs import Work
from rejoinder.server.workers.messages import (
    Failed,
    Info,
    Job,
    Reply,
    Sent,
    pack,
    pack_reply,
    unpack_received,
    unpack_reply,
    unpack_sent,
)
from rejoinder.server.workers.worker import do

TEA = "# Green tea\n\nGreen tea is brewed at 75 °C. Boiling water makes it bitter.\n"
BEES = "Bees dance to tell where food is. A colony has one queen.\n"
HEADER_BYTES = 4


class Here:
    """Does jobs in this process, packed as they travel to a worker and back; without a queue."""

    is_ready = True

    def __init__(self, work: Work) -> None:
        self._work = work
        self.info: Info = work.info

    def check_room(self) -> None:
        """There is always room."""

    async def do(self, job: Job) -> Reply:
        reply = await asyncio.to_thread(self._do, job)
        if isinstance(reply, Failed):
            raise fail(reply)
        return reply

    def _do(self, job: Job) -> Reply | Failed:
        sent = unpack_sent(pack(Sent(0, job))[HEADER_BYTES:])
        packed = pack_reply(0, do(self._work, sent))
        return unpack_reply(unpack_received(packed[HEADER_BYTES:]), job)


def write_documents(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "tea.md").write_text(TEA, encoding="utf-8")
    (folder / "bees.txt").write_text(BEES, encoding="utf-8")
    return folder


def make_index(folder: Path, documents: Path) -> Path:
    pieces = load_vectors().pieces
    assert pieces is not None
    with Index(folder / "index", create=True) as index:
        list(add_files(index, [documents], pieces))
    return folder / "index"


def make_work(folder: Path, documents: Path) -> Work:
    return Work(make_index(folder, documents), "jaccard")
