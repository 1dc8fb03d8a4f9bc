"""The URL of an index in a search engine: `ENGINE://[USER:PASSWORD@]HOST[:PORT][,HOST…]/NAME`."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl, unquote, urlencode, urlsplit

from rejoinder.errors import InputError

if TYPE_CHECKING:
    from rejoinder.retrieval.remote import RemoteIndex

ENGINES: Mapping[str, tuple[str, str, int]] = {
    "opensearch": ("open_search", "OpenSearchIndex", 9200),
    "elasticsearch": ("open_search", "ElasticsearchIndex", 9200),
    "postgresql": ("postgres", "PostgresIndex", 5432),
    "qdrant": ("qdrant", "QdrantIndex", 6333),
}
"""The module, the class and the default port of each engine, by URL scheme."""
DEFAULT_NAME = "rejoinder"
_NAME = re.compile(r"[a-z][a-z0-9_-]{0,39}")
_FORM = "ENGINE://HOST:PORT/NAME"


@dataclass(frozen=True, slots=True)
class EngineUrl:
    """A parsed URL."""

    engine: str
    """One of `ENGINES`."""
    is_secure: bool
    """Whether `+https` was given."""
    hosts: tuple[str, ...]
    """`host:port` of each node."""
    user: str
    password: str
    name: str
    """The name of the index in the engine."""
    rest: str
    """For PostgreSQL: the URL without the name, as its client reads it."""

    @property
    def place(self) -> str:
        """Where it is, without user and password, for messages."""
        return f"{','.join(self.hosts)}/{self.name}"

    @property
    def shown(self) -> str:
        """The URL without user and password."""
        scheme = f"{self.engine}+https" if self.is_secure else self.engine
        if self.engine == "postgresql":
            return f"{scheme}://{','.join(self.hosts)}/…?name={self.name}"
        return f"{scheme}://{self.place}"

    @property
    def addresses(self) -> list[str]:
        """The base URL of each node of an engine that speaks HTTP."""
        return [f"http{'s' if self.is_secure else ''}://{host}" for host in self.hosts]


def is_engine_url(text: str) -> bool:
    """Whether a text is a URL, and not a path."""
    return "://" in text


def parse_url(text: str) -> EngineUrl:
    """Parse the URL of an index in a search engine.

    The name of the index is the path; for PostgreSQL, whose path is the database, the option
    `name`.  It is `rejoinder` where it is left out.

    Raises:
        InputError: it is not such a URL.

    >>> parse_url("opensearch+https://me:secret@one,two:9201/tea").shown
    'opensearch+https://one:9200,two:9201/tea'
    """
    scheme, mark, _ = text.partition("://")
    engine, _, transport = scheme.lower().partition("+")
    engine = {"postgres": "postgresql"}.get(engine, engine)
    known = ", ".join(f"{name}://" for name in ENGINES)
    if engine in ("http", "https"):
        example = "opensearch+https" if engine == "https" else "opensearch"
        raise InputError(f"{scheme}:// names no engine; begin with one, like {example}://")
    if not mark or engine not in ENGINES or transport not in ("", "http", "https"):
        raise InputError(f"{scheme[:40]!r} is no search engine; known: {known}")
    try:
        parts = urlsplit(text)
    except ValueError as error:
        raise InputError(f"not a URL of the form {_FORM}: {error}") from error
    options = dict(parse_qsl(parts.query))
    is_postgres = engine == "postgresql"
    name = options.pop("name", "") if is_postgres else unquote(parts.path.strip("/"))
    name = name or DEFAULT_NAME
    if not _NAME.fullmatch(name):
        raise InputError(
            f"{name[:60]!r} cannot be the name of an index in {engine}: up to 40 of a-z, 0-9, _ and"
            f" -, beginning with a letter ({_FORM})"
        )
    credentials, _, places = parts.netloc.rpartition("@")
    user, _, password = credentials.partition(":")
    hosts = tuple(
        _add_port(host, ENGINES[engine][2])
        for host in (places or options.get("host", "localhost")).split(",")
    )
    query = urlencode(options)
    rest = f"postgresql://{parts.netloc}{parts.path}{query and '?' + query}" if is_postgres else ""
    return EngineUrl(
        engine, transport == "https", hosts, unquote(user), unquote(password), name, rest
    )


def _add_port(host: str, port: int) -> str:
    has_port = re.search(r"\]?:\d+$", host) if not host.startswith("/") else True
    return host if has_port else f"{host}:{port}"


def open_retriever(url: str) -> "RemoteIndex":
    """Open an index in a search engine, by the scheme of its URL.

    Nothing is sent yet: `check_ready` asks the engine whether it has the index.

    Raises:
        InputError: it is not a URL of a known engine.
        MissingExtraError: the client library of the engine is not installed.
    """
    parsed = parse_url(url)
    module, name, _ = ENGINES[parsed.engine]
    opened: RemoteIndex = getattr(import_module(f"rejoinder.retrieval.{module}"), name)(parsed)
    return opened
