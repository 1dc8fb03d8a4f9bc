"""The application and the clients of tests/server."""

from tests.server.conftest import client, connect, documents, fresh, runner

__all__ = ["client", "connect", "documents", "fresh", "runner"]
