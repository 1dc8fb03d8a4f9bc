"""The memory of workers, in which the selector's weights are once."""

import asyncio
import re
from pathlib import Path

import pytest
from benchmarks.common import read_rollup

from rejoinder.models.encoders.shared_weights import NAME
from rejoinder.models.kernel import load_library
from rejoinder.models.transformer_kernel import has_transformer
from rejoinder.server.settings import Settings
from rejoinder.server.telemetry import Metrics
from rejoinder.server.workers import pool as module
from rejoinder.server.workers.messages import RankRequest
from rejoinder.server.workers.pool import Pool

LIBRARY = load_library()
pytestmark = pytest.mark.skipif(
    not Path("/proc/self/smaps_rollup").exists() or LIBRARY is None or not has_transformer(LIBRARY),
    reason="needs Linux, and a processor that runs the selector in the compiled kernel",
)
WORKERS = 2
READ_KB = 10_000
"""The selector's layers, all of which any question reads."""
MAPPED = re.compile(rf"memfd:{NAME}.*?\nRss: +(\d+) kB\nPss: +(\d+) kB", re.DOTALL)


def measure_workers() -> tuple[int, list[str]]:
    """Return the kilobytes that are no file's of all workers, and the maps of each."""
    found: list[tuple[int, str]] = []

    async def measure() -> None:
        pool = Pool(Settings(workers=WORKERS), Metrics())
        await pool.start()
        try:
            texts = tuple(f"Tea number {number} is hot." for number in range(40))
            await asyncio.gather(*(pool.submit(RankRequest("is it?", texts)) for _ in range(8)))
            for worker in pool._workers:
                memory = read_rollup(worker._process.pid)
                maps = Path(f"/proc/{worker._process.pid}/smaps").read_text(encoding="ascii")
                found.append((memory["Pss_Anon"] + memory["Pss_Shmem"], maps))
        finally:
            await pool.stop()

    asyncio.run(measure())
    return sum(own for own, _ in found), [maps for _, maps in found]


def test_two_workers_have_the_weights_in_memory_once(monkeypatch: pytest.MonkeyPatch) -> None:
    shared, maps = measure_workers()
    monkeypatch.setattr(module, "create_memory", lambda: None)
    private, _ = measure_workers()

    # Each private copy holds the whole table of word pieces as well, so more than this is saved.
    assert shared < private - READ_KB
    mapped = [re.search(MAPPED, own) for own in maps]
    rss, pss = (sum(int(own[part]) for own in mapped if own) for part in (1, 2))
    assert rss > WORKERS * READ_KB
    assert pss < rss / WORKERS * 1.1
