"""HTTP/1.1 with an end to patience: a client must say what it wants within a time."""

import asyncio
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol


class PatientProtocol(H11Protocol):
    """Closes connections on which a request has begun, or was expected, but does not come."""

    header_seconds = 20.0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Expect a request."""
        super().connection_made(transport)
        self._deadline: asyncio.TimerHandle | None = None
        self._expect()

    def data_received(self, data: bytes) -> None:
        """Take what comes; where it begins another request, expect the rest of it."""
        super().data_received(data)
        if self._is_between_requests():
            self._expect()
        else:
            self._forget()

    def connection_lost(self, exc: Exception | None) -> None:
        """Expect nothing any more."""
        self._forget()
        super().connection_lost(exc)

    def _is_between_requests(self) -> bool:
        cycle: Any = self.cycle
        return cycle is None or cycle.response_complete

    def _expect(self) -> None:
        if self._deadline is None:
            self._deadline = self.loop.call_later(self.header_seconds, self._give_up)

    def _forget(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _give_up(self) -> None:
        self._deadline = None
        if self._is_between_requests() and not self.transport.is_closing():
            self.transport.close()
