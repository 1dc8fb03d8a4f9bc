"""The settings of a server."""

from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address, ip_address
from pathlib import Path

from rejoinder.cascade.loading import DEFAULT
from rejoinder.errors import InputError
from rejoinder.models.parallel import count_cores


@dataclass(frozen=True, slots=True)
class Settings:
    """The address, the index and scorer to serve, access control, and limits."""

    index: Path | None = None
    retriever: str | None = None
    """The URL of an index in a search engine, instead of `index`."""
    scorer: str = DEFAULT
    provider: str = "cpu"
    """The execution provider of onnxruntime."""
    host: str = "127.0.0.1"
    port: int = 8080
    workers: int = 1
    budget_ms: float | None = None
    """For requests without a budget."""
    min_confidence: float | None = None
    """For requests without a `min_confidence`; by default the scorer decides."""
    keys: Path | None = None
    """A file of hashed API keys; without it no key is required."""
    is_open: bool = False
    """Whether other machines may connect without a key."""
    allowed_hosts: tuple[str, ...] = ()
    allowed_origins: tuple[str, ...] = ()
    max_waiting: int = 64
    """The size of the queue; requests beyond it get status 429."""
    timeout_seconds: float = 30.0
    write_timeout_seconds: float = 120.0
    body_timeout_seconds: float = 20.0
    max_body_bytes: int = 8_000_000
    max_upload_bytes: int = 64_000_000
    max_arriving_bytes: int = 512_000_000
    """Of all bodies that are arriving."""
    max_connections_per_host: int | None = None
    """The open connections of one client; by default half of what the system allows."""
    max_documents: int = 1_000
    max_question_characters: int = 10_000

    def check(self) -> None:
        """Refuse to listen to other machines without protection.

        Raises:
            InputError: other machines can reach the address, and no key is required.
        """
        if not (is_loopback(self.host) or self.keys or self.is_open):
            raise InputError(
                f"other machines can reach {self.host}: give --keys FILE (create it with"
                " 'rejoinder key'), or --open to allow access without a key"
            )


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach an address."""
    address = parse_address(host)
    return host == "localhost" or (address is not None and address.is_loopback)


def parse_address(host: str) -> IPv4Address | IPv6Address | None:
    """Return an IP address; None for the name of a host."""
    try:
        return ip_address(host)
    except ValueError:
        return None


def choose_workers() -> int:
    """Return the default number of workers: one per core, at most four."""
    return min(4, count_cores())
