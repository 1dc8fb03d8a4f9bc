"""The side of a server that computes, as the side that speaks HTTP sees it."""

from typing import Protocol

from rejoinder.server.workers.messages import Info, Job, Reply


class Backend(Protocol):
    """What the HTTP side needs of those who compute."""

    @property
    def info(self) -> Info:
        """What is served."""
        ...

    @property
    def is_ready(self) -> bool:
        """Whether a job would be done now."""
        ...

    def check_room(self) -> None:
        """Refuse a job before it is read, where the queue is full."""
        ...

    async def do(self, job: Job) -> Reply:
        """Return the reply to a job."""
        ...
