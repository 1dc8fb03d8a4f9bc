"""Opens the scorer anew on SIGHUP.

A terminal that is closed sends the same signal.  A server that was started there, and not with
nohup, then stops, as other programs do.
"""

import asyncio
import logging
import os
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from rejoinder.errors import InputError
from rejoinder.server.workers.pool import Pool

_log = logging.getLogger(__name__)


@asynccontextmanager
async def reloading_on_signal(pool: Pool) -> AsyncIterator[None]:
    """Let SIGHUP reload a pool, from before it is started: the signal would end the process."""
    told = asyncio.Event()
    is_bound = _has_terminal() and signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN

    def hear() -> None:
        if is_bound and not _has_terminal():
            signal.raise_signal(signal.SIGTERM)
        else:
            told.set()

    asyncio.get_running_loop().add_signal_handler(signal.SIGHUP, hear)
    reloading = asyncio.create_task(_reload_when(told, pool))
    try:
        yield
    finally:
        reloading.cancel()
        await asyncio.wait([reloading])


async def _reload_when(told: asyncio.Event, pool: Pool) -> None:
    while True:
        await told.wait()
        # Told once more from here on, it is done once more: files may have changed again.
        told.clear()
        try:
            await pool.reload()
            _log.info("reloaded: %s answers", pool.info.scorer)
        except (InputError, OSError) as error:
            _log.error("not reloaded, what was there goes on: %s", error)


def _has_terminal() -> bool:
    try:
        os.close(os.open("/dev/tty", os.O_RDONLY | os.O_NOCTTY))
    except OSError:
        return False
    return True
