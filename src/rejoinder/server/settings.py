"""What can be set about a server."""

import os
from dataclasses import dataclass
from ipaddress import ip_address
from pathlib import Path

from rejoinder.cascade.loading import DEFAULT
from rejoinder.errors import InputError

MEGABYTE = 1_000_000


@dataclass(frozen=True, slots=True)
class Settings:
    """Where a server listens, what it serves, and what it lets in."""

    index: Path | None = None
    scorer: str = DEFAULT
    host: str = "127.0.0.1"
    port: int = 8080
    workers: int = 1
    budget_ms: float | None = None
    """For requests that do not bring their own."""
    keys: Path | None = None
    """A file of hashed API keys (keys.py); none are asked for without it."""
    is_open: bool = False
    """Whether anyone may ask without a key, also from other machines."""
    allowed_hosts: tuple[str, ...] = ()
    allowed_origins: tuple[str, ...] = ()
    max_waiting: int = 64
    """Requests that wait for a worker; more are told to come back."""
    timeout_seconds: float = 30.0
    write_timeout_seconds: float = 120.0
    body_timeout_seconds: float = 20.0
    max_body_bytes: int = 8 * MEGABYTE
    max_upload_bytes: int = 64 * MEGABYTE
    max_documents: int = 1_000
    max_question_characters: int = 10_000

    def check(self) -> None:
        """Refuse to listen to other machines unprotected.

        Raises:
            InputError: the address can be reached from elsewhere, and nothing protects it.
        """
        if not (is_loopback(self.host) or self.keys or self.is_open):
            raise InputError(
                f"{self.host} can be reached from other machines: give --keys FILE"
                " ('rejoinder key' makes one), or --open to let anyone in"
            )


def is_loopback(host: str) -> bool:
    """Whether an address can be reached from this machine alone."""
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


def choose_workers() -> int:
    """Return how many processes to use where nobody says: one per core, four at most."""
    return min(4, len(os.sched_getaffinity(0)))
