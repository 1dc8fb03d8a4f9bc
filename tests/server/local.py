"""A backend that runs jobs in this process, over a small index."""

import asyncio
from pathlib import Path

from rejoinder.index.index import Index
from rejoinder.server.problems import to_problem
from rejoinder.server.workers.jobs import JobRunner
from rejoinder.server.workers.messages import (
    Failure,
    Job,
    WorkerInfo,
    pack_job,
    unpack_job,
    unpack_reply,
)
from rejoinder.server.workers.worker import run_job

TEA = "# Green tea\n\nGreen tea is brewed at 75 °C. Boiling water makes it bitter.\n"
BEES = "Bees dance to tell where food is. A colony has one queen.\n"
HEADER_BYTES = 4


class LocalBackend:
    """Runs jobs in this process, packed as they travel to a worker and back; without a queue."""

    is_ready = True
    index_problem = ""

    def __init__(self, runner: JobRunner) -> None:
        self._runner = runner
        self.info: WorkerInfo = runner.info

    def check_capacity(self) -> None:
        """There is always room."""

    async def submit(self, job: Job) -> bytes:
        outcome = await asyncio.to_thread(self._run, job)
        if isinstance(outcome, Failure):
            raise to_problem(outcome)
        return outcome

    def _run(self, job: Job) -> bytes | Failure:
        frame = run_job(self._runner, *unpack_job(pack_job(0, job)[HEADER_BYTES:]))
        return unpack_reply(frame[HEADER_BYTES:]).outcome


def write_documents(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "tea.md").write_text(TEA, encoding="utf-8")
    (folder / "bees.txt").write_text(BEES, encoding="utf-8")
    return folder


def make_index(folder: Path, documents: Path) -> Path:
    with Index(folder / "index", create=True) as index:
        index.add([documents])
    return folder / "index"


def make_runner(folder: Path, documents: Path) -> JobRunner:
    return JobRunner(make_index(folder, documents), "jaccard")
