"""HTTP/1.1 with timeouts: for the head of a request, and for a client that does not read."""

import asyncio
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol


class TimeoutProtocol(H11Protocol):
    """Closes connections on which no request arrives, or no reply is read."""

    timeout_seconds = 20.0
    """For the head of a request to arrive, and for any part of a reply to be read."""

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
            self._read_timer = None

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
