"""A mix of all requests for a long time, over an index that two processes write."""

import time
from pathlib import Path

from tests.reliability.case import Outcome
from tests.reliability.mixed_load import ask_anything
from tests.reliability.watched import WatchedFolder, measure_memory
from tests.server.load import loading
from tests.server.local import make_index, write_documents
from tests.server.running import MAX_SECONDS, serving

MAX_GROWTH = 0.05
MIN_WARMED_SECONDS = 600
"""A soak test that is longer than this warms up first."""
WARM_UP_STEPS = 170
"""Of 30 requests each: memory grows until the buffers and the token caches are full."""


def soak(folder: Path, seconds: int) -> Outcome:
    """Send a mix of all requests to the shipped cascade, while a watcher follows changing files."""
    index = make_index(folder, write_documents(folder / "documents"))
    watched = WatchedFolder(folder / "watched", index)
    is_long = seconds >= MIN_WARMED_SECONDS
    sizes = []
    options = ("--workers", "2", "--timeout", str(MAX_SECONDS))
    with (
        serving(folder, str(index), *options) as running,
        watched.following() as watcher,
        loading(running.address, clients=6, ask=ask_anything) as load,
    ):
        watched.wait_for_all(running)
        for _ in range(WARM_UP_STEPS if is_long else 1):
            load.wait_for(30)
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            sizes.append(running.measure_memory() + measure_memory(watcher))
            watched.change_one(running)
        restarts = int(running.read_metric("worker_restarts_total"))
    third = max(1, len(sizes) // 3)
    before, after = max(sizes[:third]), max(sizes[-third:])
    growth = after - before if is_long else 0.0
    load.check()
    losses = restarts + (int(growth) if growth > MAX_GROWTH * before else 0)
    note = (
        f"{seconds / 60:.2g} minutes, {watched.changes:,} changed files followed; at most"
        f" {before:.0f} MB in the first third, {after:.0f} MB in the last"
    )
    return Outcome(load.answered, losses, note)
