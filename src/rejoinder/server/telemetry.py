"""Logs, without questions or documents, and metrics for Prometheus.

Logs are for a person on a terminal, and JSON lines elsewhere.
"""

import json
import logging
import sys
import time
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterator

LOG_FIELDS = ("request", "method", "path", "status", "milliseconds", "client", "key", "address")
BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
"""Upper bounds of the latency histogram, in seconds."""


class JsonLines(logging.Formatter):
    """Formats each record as a JSON object on one line."""

    def format(self, record: logging.LogRecord) -> str:
        """Return one line."""
        moment = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created))
        line = {
            "time": f"{moment}.{int(record.msecs):03d}Z",
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        line |= {name: vars(record)[name] for name in LOG_FIELDS if name in vars(record)}
        if record.exc_info:
            line["traceback"] = self.formatException(record.exc_info)
        return json.dumps(line, ensure_ascii=True)


class TerminalLines(logging.Formatter):
    """Formats each record for a person: the time and what happened."""

    def format(self, record: logging.LogRecord) -> str:
        """Return one line, and the lines of a traceback."""
        moment = time.strftime("%H:%M:%S", time.localtime(record.created))
        line = f"{moment}  {_make_inert(self._describe(record))}"
        if record.exc_info:
            line += "\n" + _make_inert(self.formatException(record.exc_info))
        return line

    def _describe(self, record: logging.LogRecord) -> str:
        fields = vars(record)
        if "status" in fields:
            milliseconds = f"{fields['milliseconds']:.0f} ms"
            return f"{fields['status']}  {milliseconds:>7}  {fields['method']} {fields['path']}"
        if "address" in fields:
            return f"{record.getMessage()} (open it in a browser; Ctrl-C stops the server)"
        is_error = record.levelno >= logging.ERROR
        return f"{'error: ' if is_error else ''}{record.getMessage()}"


def _make_inert(text: str) -> str:
    """Replace control characters, which a file's name may contain: a terminal obeys them."""
    return "".join(char if char.isprintable() or char == "\n" else "�" for char in text)


def start_logging() -> None:
    """Write the logs of this process to stderr."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(TerminalLines() if sys.stderr.isatty() else JsonLines())
    root = logging.getLogger()
    root.handlers = [handler]
    root.setLevel(logging.INFO)
    logging.getLogger("uvicorn").setLevel(logging.WARNING)  # the start and the stop are our news


class Metrics:
    """Counters, gauges and latencies since the server started."""

    def __init__(self) -> None:
        self._requests: Counter[tuple[str, str, int]] = Counter()
        self._buckets: dict[str, list[int]] = {}
        self._sums: defaultdict[str, float] = defaultdict(float)
        self.restarts = 0
        self.retried = 0
        self.reloads = 0
        self.queued = 0
        self.running = 0
        self.ready = 0

    def observe(self, route: str, method: str, status: int, seconds: float) -> None:
        """Count a request."""
        self._requests[route, method, status] += 1
        counts = self._buckets.setdefault(route, [0] * (len(BUCKETS) + 1))
        counts[bisect_left(BUCKETS, seconds)] += 1
        self._sums[route] += seconds

    def render(self) -> str:
        """Return everything in the text format of Prometheus."""
        return "\n".join(self._list_lines()) + "\n"

    def _list_lines(self) -> Iterator[str]:
        yield from _describe("requests_total", "counter", "Requests by route and status.")
        for (route, method, status), count in sorted(self._requests.items()):
            labels = f'route="{route}",method="{method}",status="{status}"'
            yield f"rejoinder_requests_total{{{labels}}} {count}"
        yield from _describe("request_seconds", "histogram", "Latency of requests.")
        for route, counts in sorted(self._buckets.items()):
            cumulated = 0
            for limit, count in zip((*BUCKETS, "+Inf"), counts, strict=True):
                cumulated += count
                labels = f'route="{route}",le="{limit}"'
                yield f"rejoinder_request_seconds_bucket{{{labels}}} {cumulated}"
            yield f'rejoinder_request_seconds_sum{{route="{route}"}} {self._sums[route]:.6f}'
            yield f'rejoinder_request_seconds_count{{route="{route}"}} {cumulated}'
        for name, kind, help_, value in (
            ("jobs_queued", "gauge", "Jobs that wait for a worker.", self.queued),
            ("jobs_running", "gauge", "Jobs that a worker runs.", self.running),
            ("workers_ready", "gauge", "Workers that can take jobs.", self.ready),
            ("worker_restarts_total", "counter", "Workers that were replaced.", self.restarts),
            ("jobs_retried_total", "counter", "Jobs whose worker died.", self.retried),
            ("reloads_total", "counter", "Reloads of index and scorer.", self.reloads),
        ):
            yield from _describe(name, kind, help_)
            yield f"rejoinder_{name} {value}"


def _describe(name: str, kind: str, help_: str) -> tuple[str, str]:
    return f"# HELP rejoinder_{name} {help_}", f"# TYPE rejoinder_{name} {kind}"
