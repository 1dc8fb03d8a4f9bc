"""Run a server: close slow connections, reload on SIGHUP, finish all requests on SIGTERM."""

import asyncio
import logging
import os
import signal
import socket
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from functools import partial
from typing import Any, ClassVar, Protocol

import uvicorn
from starlette.applications import Starlette
from uvicorn.protocols.http.h11_impl import H11Protocol

from rejoinder.errors import InputError
from rejoinder.index.files import DATABASE
from rejoinder.retrieval.url import parse_url
from rejoinder.server.app import Server
from rejoinder.server.settings import Settings
from rejoinder.server.telemetry import Metrics, start_logging
from rejoinder.server.workers.pool import Pool

try:
    import resource
except ImportError:  # only POSIX has it
    resource = None  # type: ignore[assignment]

SETTLE_SECONDS = 0.2
"""Between the steps of a stop, for packets in flight to arrive."""
IDLE_SECONDS = 2.0
"""How long a stop waits for a last request on idle keep-alive connections."""

_log = logging.getLogger(__name__)


class App(Protocol):
    """An application that can be served."""

    is_stopping: bool
    """If set, every response closes its connection."""

    def make_app(self) -> Starlette:
        """Return the application."""


def serve(settings: Settings) -> None:
    """Serve until SIGTERM or SIGINT; SIGHUP reloads the index and the scorer.

    Raises:
        InputError: the settings, the address, the index or the scorer cannot be used.
    """
    settings.check()
    start_logging()
    is_new = settings.index is not None and not (settings.index / DATABASE).exists()

    def announce(address: str) -> None:
        if is_new:
            _log.info("created a new, empty index in %s", settings.index)
        url = settings.retriever and parse_url(settings.retriever).shown
        name = settings.index or url or "ranking"
        _log.info("serving %s at %s", name, address, extra={"address": address})

    asyncio.run(run_server(settings, announce))


async def run_server(settings: Settings, on_ready: Callable[[str], None]) -> None:
    """Serve until SIGTERM or SIGINT, in the running event loop.

    Args:
        on_ready: called with the address once the server is ready.
    """
    metrics = Metrics()
    pool = Pool(settings, metrics)
    server = Server(settings, pool, metrics)
    listening = listen(settings.host, settings.port)
    try:
        async with _reloading_on_sighup(pool):
            await pool.start()
            await run_app(settings, server, listening, on_ready)
    finally:
        listening.close()
        await pool.stop()


async def run_app(
    settings: Settings, app: App, listening: socket.socket, on_ready: Callable[[str], None]
) -> None:
    """Serve an application until SIGTERM or SIGINT; all requests that arrived are answered.

    Args:
        on_ready: called with the address; from then on a signal stops the server with status 0.
    """
    server = _Uvicorn(settings, app)
    host, port = listening.getsockname()[:2]
    with _ending_normally(server):
        on_ready(f"http://{f'[{host}]' if ':' in host else host}:{port}")
        await server.serve(sockets=[listening])


@contextmanager
def _ending_normally(server: uvicorn.Server) -> Iterator[None]:
    """Stop a server on a signal also before and after uvicorn handles signals itself.

    Once it has stopped, uvicorn raises the signal again: the exit status is 0 nevertheless.
    """

    def stop(*_: object) -> None:
        server.should_exit = True

    numbers = (signal.SIGINT, signal.SIGTERM)
    before = [signal.signal(number, stop) for number in numbers]
    try:
        yield
    finally:
        for number, handler in zip(numbers, before, strict=True):
            signal.signal(number, handler)


@asynccontextmanager
async def _reloading_on_sighup(pool: Pool) -> AsyncIterator[None]:
    """Reload a pool on SIGHUP.

    A terminal that closes sends the same signal: a server that was started there without nohup
    then stops, as other programs do.  Where there is no SIGHUP, nothing is reloaded.
    """
    if not hasattr(signal, "SIGHUP"):
        _log.warning("this system has no SIGHUP: restart the server to read new weights")
        yield
        return
    requested = asyncio.Event()
    stops_with_terminal = _has_terminal() and signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN

    def handle() -> None:
        if stops_with_terminal and not _has_terminal():
            signal.raise_signal(signal.SIGTERM)
        else:
            requested.set()

    asyncio.get_running_loop().add_signal_handler(signal.SIGHUP, handle)
    reloading = asyncio.create_task(_reload_on(requested, pool))
    try:
        yield
    finally:
        reloading.cancel()
        await asyncio.wait([reloading])


async def _reload_on(requested: asyncio.Event, pool: Pool) -> None:
    while True:
        await requested.wait()
        # A SIGHUP during a reload triggers another: files may have changed again.
        requested.clear()
        try:
            await pool.reload()
            _log.info("reloaded; scorer: %s", pool.info.scorer)
        except (InputError, OSError) as error:
            _log.error("not reloaded, the old workers stay: %s", error)


def _has_terminal() -> bool:
    try:
        os.close(os.open("/dev/tty", os.O_RDONLY | os.O_NOCTTY))
    except OSError:
        return False
    return True


class _Connection(H11Protocol):
    """Closes connections on which no request arrives, or no reply is read."""

    timeout_seconds = 20.0
    """For the head of a request to arrive, and for any part of a reply to be read."""
    max_per_host = 512
    open_by_host: ClassVar[Counter[str]]
    """How many connections each client has."""

    @property
    def is_idle(self) -> bool:
        """Whether no request is being read or answered."""
        cycle: Any = self.cycle
        return cycle is None or cycle.response_complete

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Start the timeout for the first request."""
        super().connection_made(transport)
        transport.set_write_buffer_limits(high=0)  # pause_writing then reports every slow reader
        self._head_timer: asyncio.TimerHandle | None = None
        self._read_timer: asyncio.TimerHandle | None = None
        self._start_head_timer()
        host = self.client[0] if self.client else ""
        self.open_by_host[host] += 1
        if self.open_by_host[host] > self.max_per_host:
            transport.abort()

    def data_received(self, data: bytes) -> None:
        """Restart the timeout if the data begin another request, else stop it."""
        super().data_received(data)
        if self.is_idle:
            self._start_head_timer()
        else:
            self._stop_head_timer()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop all timeouts."""
        self._stop_head_timer()
        self._stop_read_timer()
        host = self.client[0] if self.client else ""
        self.open_by_host[host] -= 1
        if not self.open_by_host[host]:
            del self.open_by_host[host]
        super().connection_lost(exc)

    def pause_writing(self) -> None:
        """Start the timeout for the client to read."""
        super().pause_writing()
        self._start_read_timer()

    def resume_writing(self) -> None:
        """Stop that timeout: the client has read everything."""
        super().resume_writing()
        self._stop_read_timer()

    def _start_read_timer(self) -> None:
        unread = self.transport.get_write_buffer_size()
        self._read_timer = self.loop.call_later(self.timeout_seconds, self._check_progress, unread)

    def _check_progress(self, before: int) -> None:
        if self.transport.get_write_buffer_size() < before:
            self._start_read_timer()
        else:
            self.transport.abort()

    def _stop_read_timer(self) -> None:
        if self._read_timer is not None:
            self._read_timer.cancel()

    def _start_head_timer(self) -> None:
        if self._head_timer is None:
            self._head_timer = self.loop.call_later(self.timeout_seconds, self._close_idle)

    def _stop_head_timer(self) -> None:
        if self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None

    def _close_idle(self) -> None:
        self._head_timer = None
        if self.is_idle and not self.transport.is_closing():
            self.transport.close()


class _Uvicorn(uvicorn.Server):
    """Stops in an order in which no request that has arrived is refused."""

    def __init__(self, settings: Settings, app: App) -> None:
        class Connection(_Connection):
            timeout_seconds = settings.body_timeout_seconds
            max_per_host = settings.max_connections_per_host or _choose_connections()
            open_by_host: ClassVar[Counter[str]] = Counter()

        config = uvicorn.Config(
            app.make_app(),
            http=Connection,
            ws="none",  # there are no WebSockets, and the guard would not see them
            # Longer than clients keep idle connections, so that none is closed as it is used.
            timeout_keep_alive=75,
            log_config=None,
            access_log=False,
            lifespan="off",
            server_header=False,
            timeout_graceful_shutdown=int(settings.write_timeout_seconds),
        )
        super().__init__(config)
        self._app = app
        self._protocol = Connection

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        _log.info("stopping after all accepted requests are answered")
        # Every response now closes its connection, so that none stays idle.
        self._app.is_stopping = True
        await asyncio.sleep(SETTLE_SECONDS)
        # Closing a listening socket resets the connections in its backlog: accept them first.
        backlog = [accepted for one in sockets or () for accepted in _accept_all(one)]
        for server in self.servers:
            server.close()
        make_protocol = partial(self._protocol, self.config, self.server_state, self.lifespan.state)
        for accepted in backlog:
            await asyncio.get_running_loop().connect_accepted_socket(make_protocol, accepted)
        await asyncio.sleep(SETTLE_SECONDS)
        await self._wait_for_idle_clients()
        await super().shutdown(sockets)

    async def _wait_for_idle_clients(self) -> None:
        end = time.monotonic() + IDLE_SECONDS
        connections = self.server_state.connections
        while time.monotonic() < end and any(
            isinstance(one, _Connection) and one.is_idle for one in connections
        ):
            await asyncio.sleep(SETTLE_SECONDS / 10)


def _choose_connections() -> int:
    """Return how many connections one client may have: half of the files that may be open."""
    if resource is None:
        return _Connection.max_per_host
    most, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return _Connection.max_per_host if most == resource.RLIM_INFINITY else max(1, most // 2)


def _accept_all(listening: socket.socket) -> Iterator[socket.socket]:
    while True:
        try:
            yield listening.accept()[0]
        except BlockingIOError:
            return


def listen(host: str, port: int) -> socket.socket:
    """Return a listening socket.

    Raises:
        InputError: the address cannot be used.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        listening = socket.create_server((host, port), family=family, backlog=2048)
    except OSError as error:
        problem = error.strerror or error
        raise InputError(f"cannot listen on {host}:{port} ({problem}); try --port") from error
    # Inherited by all connections.  A reply is two writes, head and body; with Nagle's algorithm
    # the second would wait for the client's delayed ACK of the first, 40 ms.
    listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listening
