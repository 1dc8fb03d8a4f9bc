"""HTTP/1.1 with an end to patience: a client must say what it wants, and read what it gets."""

import asyncio
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol


class PatientProtocol(H11Protocol):
    """Closes connections on which an expected request does not come, or a reply is not read."""

    header_seconds = 20.0
    """For the head of a request to come, and for any part of a reply to be taken."""

    @property
    def is_idle(self) -> bool:
        """Whether no request is being read or answered."""
        cycle: Any = self.cycle
        return cycle is None or cycle.response_complete

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Expect a request."""
        super().connection_made(transport)
        transport.set_write_buffer_limits(high=0)  # what is not taken at once is watched
        self._deadline: asyncio.TimerHandle | None = None
        self._reading: asyncio.TimerHandle | None = None
        self._expect()

    def data_received(self, data: bytes) -> None:
        """Take what comes; where it begins another request, expect the rest of it."""
        super().data_received(data)
        if self.is_idle:
            self._expect()
        else:
            self._forget()

    def connection_lost(self, exc: Exception | None) -> None:
        """Expect nothing any more."""
        self._forget()
        self._forget_reading()
        super().connection_lost(exc)

    def pause_writing(self) -> None:
        """Expect the client to read."""
        super().pause_writing()
        self._expect_reading()

    def resume_writing(self) -> None:
        """It has read everything."""
        super().resume_writing()
        self._forget_reading()

    def _expect_reading(self) -> None:
        left = self.transport.get_write_buffer_size()
        self._reading = self.loop.call_later(self.header_seconds, self._check_reading, left)

    def _check_reading(self, before: int) -> None:
        if self.transport.get_write_buffer_size() < before:
            self._expect_reading()
        else:
            self.transport.abort()

    def _forget_reading(self) -> None:
        if self._reading is not None:
            self._reading.cancel()
            self._reading = None

    def _expect(self) -> None:
        if self._deadline is None:
            self._deadline = self.loop.call_later(self.header_seconds, self._give_up)

    def _forget(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _give_up(self) -> None:
        self._deadline = None
        if self.is_idle and not self.transport.is_closing():
            self.transport.close()
