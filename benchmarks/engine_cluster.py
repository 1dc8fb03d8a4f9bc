"""Measure two nodes of a search engine with a replica of each shard, and kill one while it answers.

Usage: python -m benchmarks.growth FOLDER... --work WORK --sentences 1000000
       python -m benchmarks.engine_cluster --index WORK/index [--engines NAME,NAME]
           [--questions 200] [--seconds 60] [--clients 4] [--heap 1500] [--idle]
           [--results benchmarks/results/engine_cluster.json]
       python -m benchmarks.engine_cluster --page docs/scaling.md

The index is exported to each engine in turn (tests/retrieval starts the real nodes, on this
machine), and questions about the manuals are asked through both nodes:

    load       until the export has ended, and until all replicas are complete and optimised
    retrieval  `RemoteIndex.search`, one question after the other
    answer     `Engine.answer` with the default cascade, one question after the other
    killed     answers to several clients for some seconds; in the middle one node is killed, of
               OpenSearch the leader
      failed   questions that ended with an error
      wrong    whose first answer was never the first before the kill, from either node: replicas
               have graphs of their own, so that the first answer may differ between the two

Exits with 1 where a question failed or was answered wrongly, or half of the searches took more than
40 ms.  Engines that were not chosen keep their results.  --idle says that nothing else ran on the
machine: only then are the times those of a result.
"""

import argparse
import json
import random
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from tests.retrieval.search_servers import LIGHT, OPENSEARCH, Distribution, search_nodes
from tests.retrieval.servers import qdrant_peers

from benchmarks.common import describe_machine, get_percentiles
from benchmarks.engines import write_between
from benchmarks.index_speed import sample_questions
from benchmarks.manuals.readers import ROOT
from rejoinder.cascade.loading import DEFAULT, load
from rejoinder.engine.engine import RETRIEVED, Engine
from rejoinder.errors import StoreError
from rejoinder.index.index import Index
from rejoinder.retrieval import open_retriever
from rejoinder.retrieval.export import export_index
from rejoinder.retrieval.open_search import OpenSearchIndex
from rejoinder.retrieval.qdrant import QdrantIndex
from rejoinder.retrieval.remote import RemoteIndex

RESULTS = ROOT / "benchmarks" / "results" / "engine_cluster.json"
BEGIN, END = "<!-- cluster: begin -->\n", "<!-- cluster: end -->\n"
INTRODUCTION = """## Two nodes, measured

Two nodes of each engine with a replica of every shard, and the default cascade
(`python -m benchmarks.engine_cluster --index INDEX`, [engine_cluster.json](../benchmarks/results/engine_cluster.json)). One node is killed
in the middle of the questions of several clients; of OpenSearch it is the leader.

"""  # noqa: E501
AIM_MS = 40.0
"""Of half of the searches, at most."""
BUDGET_MS = 10_000.0
ROUNDS = 2
"""How often each node is asked each question before one is killed."""
SETTLED_SECONDS = 3_600.0


class Cluster(NamedTuple):
    """Two nodes that run."""

    hosts: Sequence[str]
    pattern: str
    """A URL with `{hosts}`."""
    kill: Callable[[], None]


@contextmanager
def opensearch_cluster(distribution: Distribution, heap: int) -> Iterator[Cluster]:
    with search_nodes(distribution, 2, heap=heap) as nodes:
        hosts = [node.host for node in nodes]
        yield Cluster(hosts, "opensearch://{hosts}/cluster", nodes[0].kill)


@contextmanager
def qdrant_cluster(_: int) -> Iterator[Cluster]:
    with qdrant_peers() as (pattern, peers):
        hosts = [peer.host for peer in peers]
        url = pattern.replace(",".join(hosts), "{hosts}").replace("{name}", "cluster")
        yield Cluster(hosts, url, peers[1].kill)


ENGINES: Mapping[str, tuple[str, Callable[[int], AbstractContextManager[Cluster]]]] = {
    "opensearch": ("OpenSearch with k-NN", partial(opensearch_cluster, OPENSEARCH)),
    "opensearch-light": ("OpenSearch without k-NN", partial(opensearch_cluster, LIGHT)),
    "qdrant": ("Qdrant", qdrant_cluster),
}
"""Label, and what starts two nodes with a heap of so many megabytes."""


def main() -> None:
    options = parse_options()
    result: dict[str, Any] = {"engines": {}}
    if options.results.exists():
        result = json.loads(options.results.read_text(encoding="utf-8"))
    if options.page:
        write_between(options.page, BEGIN, END, INTRODUCTION + make_table(result))
        return
    questions = sample_questions(options.questions)
    with Index(options.index) as index:
        sentences = index.count().sentences
        if result.get("sentences") != sentences:
            result = {"sentences": sentences, "engines": {}}
        for name in options.engines:
            print(name, file=sys.stderr)
            measured = measure(name, index, questions, options)
            about = {"idle": options.idle, "heap": options.heap, "machine": describe_machine()}
            result["engines"][name] = {**measured, **about}
            options.results.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    print(make_table(result))
    sys.exit(not all(is_good(result["engines"][name]) for name in options.engines))


def parse_options() -> argparse.Namespace:
    summary, _, rest = (__doc__ or "").partition("\n")
    parser = argparse.ArgumentParser(
        description=summary, epilog=rest, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--index", type=Path)
    parser.add_argument(
        "--engines", type=lambda text: text.split(","), default=list(ENGINES), metavar="NAME,NAME"
    )
    parser.add_argument("--questions", type=int, default=200)
    parser.add_argument("--seconds", type=float, default=60, help="of the questions with a kill")
    parser.add_argument("--clients", type=int, default=4)
    parser.add_argument("--heap", type=int, default=1_500, help="of a node in Java, in MB")
    parser.add_argument("--idle", action="store_true")
    parser.add_argument("--results", type=Path, default=RESULTS)
    parser.add_argument("--page", type=Path)
    options = parser.parse_args()
    if not options.index and not options.page:
        parser.error("give --index, or --page")
    if unknown := [name for name in options.engines if name not in ENGINES]:
        parser.error(f"no engine {unknown[0]!r}; known: {', '.join(ENGINES)}")
    return options


def measure(
    name: str, index: Index, questions: Sequence[str], options: argparse.Namespace
) -> dict[str, Any]:
    """Export an index to two nodes, ask them, and ask on while one is killed."""
    with ENGINES[name][1](options.heap) as cluster:
        url = cluster.pattern.format(hosts=",".join(cluster.hosts))
        start = time.perf_counter()
        export_index(index, url)
        exported = time.perf_counter() - start
        with open_retriever(url) as remote:
            settle(remote)
            settled = time.perf_counter() - start
            engine = Engine(None, load(DEFAULT), retriever=remote)
            engine.answer(questions[0])
            retrieval = time_each(lambda text: remote.search(text, RETRIEVED), questions)
            answer = time_each(engine.answer, questions)
            expected = read_first_answers(cluster, questions)
            killed = ask_and_kill(engine, cluster.kill, expected, options)
    seconds = {"export_seconds": round(exported, 1), "settled_seconds": round(settled, 1)}
    return {**seconds, "retrieval": retrieval, "answer": answer, "killed": killed}


def settle(remote: RemoteIndex) -> None:
    """Wait until all replicas are complete, and no optimisation is left to do."""
    end = time.monotonic() + SETTLED_SECONDS
    while not is_settled(remote):
        if time.monotonic() > end:
            sys.exit(f"{remote.label}: not settled after {SETTLED_SECONDS:.0f} s")
        time.sleep(0.5)


def is_settled(remote: RemoteIndex) -> bool:
    name = remote.url.name
    if isinstance(remote, QdrantIndex):
        shards = remote._ask("GET", f"/collections/{name}/cluster")
        states = {each["state"] for each in [*shards["local_shards"], *shards["remote_shards"]]}
        return (
            states == {"Active"} and remote._ask("GET", f"/collections/{name}")["status"] == "green"
        )
    assert isinstance(remote, OpenSearchIndex)
    _, health = remote._ask("GET", f"/_cluster/health/{name}", what="reading its health")
    return bool(health["status"] == "green" and health["active_shards"] > 1)


def time_each(ask: Callable[[str], object], questions: Sequence[str]) -> dict[str, float]:
    times = []
    for text in questions:
        start = time.perf_counter()
        ask(text)
        times.append(1000 * (time.perf_counter() - start))
    return get_percentiles(times, 50, 95)


def read_first_answers(cluster: Cluster, questions: Sequence[str]) -> dict[str, set[str]]:
    """Return the first answers that either node gives to each question."""
    found: dict[str, set[str]] = defaultdict(set)
    for host in cluster.hosts:
        with open_retriever(cluster.pattern.format(hosts=host)) as remote:
            engine = Engine(None, load(DEFAULT), retriever=remote)
            for text in ROUNDS * list(questions):
                found[text].add(get_first(engine, text))
    return found


def get_first(engine: Engine, question: str) -> str:
    answers = engine.answer(question, top=1, budget_ms=BUDGET_MS).answers
    return answers[0].sentence if answers else ""


def ask_and_kill(
    engine: Engine,
    kill: Callable[[], None],
    expected: Mapping[str, set[str]],
    options: argparse.Namespace,
) -> dict[str, Any]:
    """Ask from several threads, kill a node in the middle, and count what goes wrong."""
    times: list[float] = []
    failed: list[str] = []
    wrong: list[str] = []
    start = time.monotonic()

    def ask(seed: int) -> None:
        rng, questions = random.Random(seed), sorted(expected)
        while time.monotonic() < start + options.seconds:
            text, asked = rng.choice(questions), time.perf_counter()
            try:
                first = get_first(engine, text)
            except StoreError as error:
                failed.append(str(error))
                continue
            times.append(1000 * (time.perf_counter() - asked))
            if first not in expected[text]:
                wrong.append(text)

    with ThreadPoolExecutor(options.clients) as pool:
        clients = [pool.submit(ask, seed) for seed in range(options.clients)]
        time.sleep(options.seconds / 2)
        before = len(times)
        kill()
        for client in clients:
            client.result()
    return {
        "clients": options.clients,
        "asked": len(times) + len(failed),
        "after_the_kill": len(times) - before,
        "failed": len(failed),
        "wrong": len(wrong),
        "longest_ms": round(max(times), 1),
        **get_percentiles(times, 50, 95),
        "examples": [*failed[:3], *wrong[:3]],
    }


def is_good(measured: Mapping[str, Any]) -> bool:
    """Whether no question failed or was answered wrongly, and searches were fast."""
    killed = measured["killed"]
    is_fast = measured["retrieval"]["p50_ms"] <= AIM_MS
    return is_fast and not killed["failed"] and not killed["wrong"]


def make_table(result: Mapping[str, Any]) -> str:
    """Return Markdown."""
    engines = result["engines"]
    is_idle = all(own["idle"] for own in engines.values())
    where = "an idle machine" if is_idle else "a machine with other work, so compare them with care"
    lines = [
        f"{result['sentences']:,} sentences; times are those of {where}; both nodes and the client"
        " share its cores:",
        "",
        "| | export, s | until replicas are complete, s | search, p50 and p95 ms |"
        " whole answer, p50 and p95 ms | asked while a node is killed | failed | wrong |"
        " longest, ms |",
        "|---|---:|---:|---:|---:|---:|---:|---:|---:|",
    ]
    for name in (name for name in ENGINES if name in engines):
        own = engines[name]
        killed = own["killed"]
        cells = [f"{own[key]:,.0f}" for key in ("export_seconds", "settled_seconds")]
        cells += [
            f"{own[key]['p50_ms']:.0f}, {own[key]['p95_ms']:.0f}" for key in ("retrieval", "answer")
        ]
        cells += [f"{killed[key]:,}" for key in ("asked", "failed", "wrong")]
        cells.append(f"{killed['longest_ms']:,.0f}")
        lines.append(f"| {' | '.join([ENGINES[name][0], *cells])} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    main()
