"""Proxies before a real server.

One speaks HTTP: it asks for a password, or delays, refuses and drops requests.  The other passes
bytes on, so it fits every engine: it hangs, is cut, or passes other bytes on.
"""

import base64
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

import httpx2 as httpx


@dataclass
class Proxy:
    """What the proxy does with requests; may be changed while it runs."""

    address: str = ""
    """`host:port`"""
    user: str = ""
    password: str = ""
    delay: float = 0.0
    """Seconds before a request is passed on."""
    status: int = 0
    """Answer with this status instead, and with `body`."""
    body: bytes = b"busy"
    drops: bool = False
    """Close the connection instead of answering."""
    root: bytes = b""
    """The answer to `GET /`, which has the version, instead of the server's."""
    requests: int = 0


@contextmanager
def proxy_before(target: str) -> Iterator[Proxy]:
    """Run a proxy before a server."""
    proxy = Proxy()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def handle_all(self) -> None:
            proxy.requests += 1
            body = self.rfile.read(int(self.headers.get("content-length", 0)))
            time.sleep(proxy.delay)
            if proxy.drops:
                self.close_connection = True
                return
            if proxy.status:
                self._answer(proxy.status, proxy.body)
            elif proxy.root and self.path == "/":
                self._answer(200, proxy.root)
            elif proxy.user and self.headers.get("authorization") != _make_header(proxy):
                self._answer(401, b"Unauthorized")
            else:
                headers = {"content-type": self.headers.get("content-type", "application/json")}
                url = f"http://{target}{self.path}"
                reply = httpx.request(self.command, url, content=body, headers=headers, timeout=60)
                self._answer(reply.status_code, reply.content)

        do_GET = do_POST = do_PUT = do_DELETE = handle_all

        def _answer(self, status: int, body: bytes) -> None:
            self.send_response(status)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    proxy.address = f"127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield proxy
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def _make_header(proxy: Proxy) -> str:
    return "Basic " + base64.b64encode(f"{proxy.user}:{proxy.password}".encode()).decode()


class Wire:
    """The connections to a server, by TCP.

    Args:
        target: `host:port`, or the path of a socket.
    """

    def __init__(self, target: str) -> None:
        self._target = target
        self._listening = socket.create_server(("127.0.0.1", 0))
        self._flows = threading.Event()
        self._flows.set()
        self.passed = 0
        """Bytes, in both directions."""
        self.requests = 0
        """How often the client has sent something after the server had the last word."""
        self._has_answered = True
        self.replaced: dict[bytes, bytes] = {}
        """What else is passed on in place of some bytes."""
        self._ends: list[socket.socket] = []
        self.port = int(self._listening.getsockname()[1])
        threading.Thread(target=self._accept, daemon=True).start()

    def hang(self) -> None:
        """Pass nothing on from now, in either direction."""
        self._flows.clear()

    def flow(self) -> None:
        """Pass on what has been sent meanwhile, and all that follows."""
        self._flows.set()

    def cut(self) -> None:
        """Close all connections, and accept no more."""
        for end in [self._listening, *self._ends]:
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
            end.close()
        self._flows.set()

    def _accept(self) -> None:
        with suppress(OSError):  # it was cut
            while True:
                client, _ = self._listening.accept()
                server = self._connect()
                self._ends += [client, server]
                for ends in ((client, server, True), (server, client, False)):
                    threading.Thread(target=self._pass_on, args=ends, daemon=True).start()

    def _connect(self) -> socket.socket:
        if self._target.startswith("/"):
            server = socket.socket(socket.AF_UNIX)
            server.connect(self._target)
            return server
        host, _, port = self._target.rpartition(":")
        return socket.create_connection((host, int(port)))

    def _pass_on(self, source: socket.socket, target: socket.socket, is_client: bool) -> None:
        with suppress(OSError):  # one of them was closed
            while data := source.recv(65536):
                self._flows.wait()
                self.requests += is_client and self._has_answered
                self._has_answered = not is_client
                self.passed += len(data)
                for own, other in self.replaced.items():
                    data = data.replace(own, other)
                target.sendall(data)
        for end in (source, target):
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)


@contextmanager
def wire_to(url: str) -> Iterator[tuple[Wire, str]]:
    """Run a wire before the server of a URL, and give it with the URL through it."""
    parts = urlsplit(url)
    options = dict(parse_qsl(parts.query))
    is_local = "host" in options  # PostgreSQL, by the folder of its socket
    target = f"{options.pop('host')}/.s.PGSQL.5432" if is_local else parts.netloc.split("@")[-1]
    wire = Wire(target)
    user, mark, _ = parts.netloc.rpartition("@")
    place = f"{user}{mark}127.0.0.1:{wire.port}"
    try:
        yield wire, urlunsplit(parts._replace(netloc=place, query=urlencode(options)))
    finally:
        wire.cut()
