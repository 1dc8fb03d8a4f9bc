"""A proxy before a real server: asks for a password, or delays, refuses and drops requests."""

import base64
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

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
    """Answer with this status instead."""
    drops: bool = False
    """Close the connection instead of answering."""
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
                self._answer(proxy.status, b"busy")
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
