"""Runs a server until it is told to stop, and lets it finish what it has accepted."""

import asyncio
import ctypes
import logging
import signal
import socket
import struct
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

import uvicorn

from rejoinder.errors import InputError
from rejoinder.server.app import Server
from rejoinder.server.logs import log_as_json
from rejoinder.server.metrics import Metrics
from rejoinder.server.reload import reloading_on_signal
from rejoinder.server.settings import Settings
from rejoinder.server.timeouts import PatientProtocol
from rejoinder.server.workers.pool import Pool

SETTLE_SECONDS = 0.2
"""Between the steps of a stop: for what is on its way to arrive."""

IDLE_SECONDS = 2.0
"""For a client that has an idle connection to ask what it may be about to ask."""

KEEP_ALIVE_SECONDS = 75

SO_ATTACH_FILTER = 26
"""Linux's, which Python does not name."""
DROP_ALL = (0x06, 0, 0, 0)
"""A packet filter of one instruction: return 0 bytes of every packet."""

_log = logging.getLogger(__name__)


def serve(settings: Settings, *, tell: Callable[[str], None]) -> None:
    """Serve until SIGTERM or SIGINT; SIGHUP opens the scorer anew.

    Args:
        tell: is given the address once requests are answered there.

    Raises:
        InputError: the settings, the address, the index or the scorer cannot be used.
    """
    settings.check()
    log_as_json()
    asyncio.run(run_server(settings, tell))


async def run_server(settings: Settings, tell: Callable[[str], None]) -> None:
    """Serve until SIGTERM or SIGINT, in a loop that runs already."""
    metrics = Metrics()
    pool = Pool(settings, metrics)
    server = Server(settings, pool, metrics)
    listening = _listen(settings.host, settings.port)
    try:
        async with reloading_on_signal(pool):
            await pool.start()
            host, port = listening.getsockname()[:2]
            tell(f"http://{f'[{host}]' if ':' in host else host}:{port}")
            await _Uvicorn(settings, server).serve(sockets=[listening])
    finally:
        listening.close()
        await pool.stop()


class _Uvicorn(uvicorn.Server):
    """Stops in an order in which no request that has arrived is refused."""

    def __init__(self, settings: Settings, server: Server) -> None:
        class Protocol(PatientProtocol):
            header_seconds = settings.body_timeout_seconds

        config = uvicorn.Config(
            server.make_app(),
            http=Protocol,
            # Longer than clients keep idle connections, so that none is closed as it is used.
            timeout_keep_alive=KEEP_ALIVE_SECONDS,
            log_config=None,
            access_log=False,
            lifespan="off",
            server_header=False,
            timeout_graceful_shutdown=int(settings.write_timeout_seconds),
        )
        super().__init__(config)
        self._server = server
        self._protocol = Protocol

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, self.handle_exit, number, None)
        try:
            yield
        finally:
            for number in (signal.SIGINT, signal.SIGTERM):
                loop.remove_signal_handler(number)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        _log.info("stopping: what was accepted is still answered")
        # From now on every response closes its connection, so none stays idle in between.
        self._server.is_stopping = True
        await asyncio.sleep(SETTLE_SECONDS)
        # Who has connected and was not let in yet would be turned away with the last close.
        for one in sockets or ():
            _ignore_newcomers(one)
        waiting = [accepted for one in sockets or () for accepted in _accept_all(one)]
        for server in self.servers:
            server.close()
        for accepted in waiting:
            await asyncio.get_running_loop().connect_accepted_socket(self._make_protocol, accepted)
        await asyncio.sleep(SETTLE_SECONDS)
        await self._wait_for_idle_clients()
        await super().shutdown(sockets)

    def _make_protocol(self) -> asyncio.Protocol:
        return self._protocol(
            config=self.config, server_state=self.server_state, app_state=self.lifespan.state
        )

    async def _wait_for_idle_clients(self) -> None:
        end = time.monotonic() + IDLE_SECONDS
        connections = self.server_state.connections
        while time.monotonic() < end and any(
            isinstance(one, PatientProtocol) and one.is_idle for one in connections
        ):
            await asyncio.sleep(SETTLE_SECONDS / 10)


def _ignore_newcomers(listening: socket.socket) -> None:
    """Let the kernel drop whoever tries to connect from now on; he tries again, and finds no one.

    Else someone can still connect between the last that is let in and the close, which would
    turn him away after he has asked.  Only Linux can do it.
    """
    if sys.platform == "linux":
        program = ctypes.create_string_buffer(struct.pack("HBBI", *DROP_ALL))
        filters = struct.pack("HL", 1, ctypes.addressof(program))
        with suppress(OSError):
            listening.setsockopt(socket.SOL_SOCKET, SO_ATTACH_FILTER, filters)


def _accept_all(listening: socket.socket) -> Iterator[socket.socket]:
    while True:
        try:
            yield listening.accept()[0]
        except BlockingIOError:
            return


def _listen(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        listening = socket.create_server((host, port), family=family, backlog=2048)
    except OSError as error:
        problem = error.strerror or error
        raise InputError(f"cannot listen on {host}:{port} ({problem}); try --port") from error
    # For all connections.  A reply is two writes, its head and its body; the second would wait
    # until the client has acknowledged the first, which takes it 40 ms.
    listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listening
