"""Counts and times for Prometheus, in its text format."""

from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator

BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
"""Upper limits, in seconds."""


class Metrics:
    """What a server has done since it began."""

    def __init__(self) -> None:
        self._requests: Counter[tuple[str, str, int]] = Counter()
        self._times: dict[str, list[int]] = {}
        self._sums: defaultdict[str, float] = defaultdict(float)
        self.restarts = 0
        self.repeated = 0
        self.reloads = 0
        self.waiting = 0
        self.running = 0
        self.ready = 0

    def see(self, route: str, method: str, status: int, seconds: float) -> None:
        """Count a request."""
        self._requests[route, method, status] += 1
        counts = self._times.setdefault(route, [0] * (len(BUCKETS) + 1))
        counts[bisect_left(BUCKETS, seconds)] += 1
        self._sums[route] += seconds

    def show(self) -> str:
        """Return everything as Prometheus reads it."""
        return "\n".join(self._list_lines()) + "\n"

    def _list_lines(self) -> Iterator[str]:
        yield from _describe("requests_total", "counter", "Requests by route and status.")
        for (route, method, status), count in sorted(self._requests.items()):
            labels = f'route="{route}",method="{method}",status="{status}"'
            yield f"rejoinder_requests_total{{{labels}}} {count}"
        yield from _describe("request_seconds", "histogram", "How long requests took.")
        for route, counts in sorted(self._times.items()):
            yield from _list_buckets(route, counts, self._sums[route])
        for name, kind, what, value in (
            ("jobs_waiting", "gauge", "Jobs that wait for a worker.", self.waiting),
            ("jobs_running", "gauge", "Jobs that workers do.", self.running),
            ("workers_ready", "gauge", "Workers that can take jobs.", self.ready),
            ("worker_restarts_total", "counter", "Workers that were replaced.", self.restarts),
            ("jobs_repeated_total", "counter", "Jobs whose worker was lost.", self.repeated),
            ("reloads_total", "counter", "Times that all was opened anew.", self.reloads),
        ):
            yield from _describe(name, kind, what)
            yield f"rejoinder_{name} {value}"


def _describe(name: str, kind: str, what: str) -> Iterable[str]:
    return (f"# HELP rejoinder_{name} {what}", f"# TYPE rejoinder_{name} {kind}")


def _list_buckets(route: str, counts: list[int], total: float) -> Iterator[str]:
    below = 0
    for limit, count in zip((*BUCKETS, "+Inf"), counts, strict=True):
        below += count
        yield f'rejoinder_request_seconds_bucket{{route="{route}",le="{limit}"}} {below}'
    yield f'rejoinder_request_seconds_sum{{route="{route}"}} {total:.6f}'
    yield f'rejoinder_request_seconds_count{{route="{route}"}} {below}'
