"""Measure each search engine against the embedded index: quality, exactness, and time.

Usage: python -m benchmarks.engines --data DATA [--engines NAME,NAME] [--again] [--idle]
           [--cache FOLDER] [--results benchmarks/results/engines.json]
       python -m benchmarks.engines --page docs/engines.md

The corpus is a part of `pooled` (benchmarks/corpora/pooled.py): the documents with the answers of
500 questions, and others drawn by title, 50,000 sentences in all.  The same index is exported to
each engine (tests/retrieval starts the real servers, one after the other), and the default cascade
answers from it and from each of them.  Rates are compared in pairs, by question.

    found_100   questions with a right sentence among the 100 that were found
    first       questions whose first answer is right
    overlap     how many of the first 100 of the embedded index an engine finds, too
    leaked      sentences of other documents that a filter has let through
    missed      sentences by which filtered searches found fewer than those of the embedded index
    deleted     sentences of removed documents that are found after another export

An engine is within the limit if neither rate is more than 2 points below that of the embedded
index (4 for PostgreSQL, and for OpenSearch without k-NN, which has no vectors).  Exits with 1 where
one is not, or something leaked.  The result of each engine is kept, so that a run that was stopped
is continued; --again measures the chosen ones once more.  --idle says that nothing else ran on the
machine: only then are the times those of a result.
"""

import argparse
import json
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any

from tests.retrieval.search_servers import ELASTICSEARCH, LIGHT, OPENSEARCH, search_server
from tests.retrieval.servers import postgres_server, qdrant_server

from benchmarks.common import describe_machine, get_percentiles
from benchmarks.corpora.indexes import build_index, compute_source_digest
from benchmarks.corpora.pooled import Pool, read_pool
from benchmarks.corpora.questions import Question
from benchmarks.corpora.reply import FOUND, Reply
from benchmarks.corpora.trials import Trial, compare, judge, read_trials, summarize, write_trials
from benchmarks.manuals.pages import normalize
from benchmarks.manuals.readers import ROOT
from rejoinder.cascade.loading import DEFAULT, load
from rejoinder.engine.engine import Engine
from rejoinder.index.index import Index
from rejoinder.models.scorer import Scorer
from rejoinder.retrieval import open_retriever
from rejoinder.retrieval.export import export_index
from rejoinder.retrieval.open_search import OpenSearchIndex
from rejoinder.retrieval.postgres import PostgresIndex
from rejoinder.retrieval.remote import SECONDS, RemoteIndex
from rejoinder.retrieval.retriever import Retriever
from rejoinder.types import Document, ScoredCandidate

RESULTS = ROOT / "benchmarks" / "results" / "engines.json"
BEGIN, END = "<!-- engines: begin -->\n", "<!-- engines: end -->\n"
INTRODUCTION = """## Measured

A part of the corpus [pooled](retrieval.md#whole-corpora) with the default cascade, from the embedded index and from each engine
(`python -m benchmarks.engines --data DATA`, [engines.json](../benchmarks/results/engines.json)). An engine may lose 2 points, PostgreSQL
and an OpenSearch without vectors 4. The servers have the settings of our tests: one node, a heap of 400 MB.

"""  # noqa: E501
SENTENCES, QUESTIONS = 50_000, 500
EMBEDDED = "embedded"
SHELVES = 20
"""Each document is on one of so many, by which searches are filtered."""
FILTERED = 100
"""Questions that are asked with a filter."""
REMOVED = 100
"""Documents that are removed: the sources of the first answers."""
WARMING = 10
"""Questions that are asked before the clock starts."""
ENGINES: Mapping[str, tuple[str, Callable[[], AbstractContextManager[str]], float]] = {
    "opensearch": ("OpenSearch with k-NN", partial(search_server, OPENSEARCH), 2.0),
    "opensearch-light": ("OpenSearch without k-NN", partial(search_server, LIGHT), 4.0),
    "elasticsearch": ("Elasticsearch", partial(search_server, ELASTICSEARCH), 2.0),
    "postgresql": ("PostgreSQL with pgvector", postgres_server, 4.0),
    "qdrant": ("Qdrant", qdrant_server, 2.0),
}
"""Label, what starts a server, and how many points it may lose."""
RATES = ("found_100", "first")


def main() -> None:
    options = parse_options()
    result: dict[str, Any] = {"engines": {}}
    if options.results.exists():
        result = json.loads(options.results.read_text(encoding="utf-8"))
    if options.page:
        write_between(options.page, BEGIN, END, INTRODUCTION + make_tables(result))
        return
    pool = choose_part(read_pool(options.data), SENTENCES, QUESTIONS)
    name = f"engines-{compute_digest(pool)}-{compute_source_digest()}"
    options.cache.mkdir(parents=True, exist_ok=True)
    with build_index(options.cache / name, pool.documents) as index:
        own = {
            "documents": len(pool.documents),
            "sentences": index.count().sentences,
            "questions": len(pool.questions),
        }
        if any(result.get(key) != value for key, value in own.items()):
            result = {**own, "engines": {}}
        for each in (EMBEDDED, *(options.engines or ENGINES)):
            if each not in result["engines"] or (options.again and each != EMBEDDED):
                print(each, file=sys.stderr)
                measured, trials = measure(each, index, pool.questions)
                write_trials(trials, find_trials(options, each))
                result["engines"][each] = {
                    **measured,
                    "idle": options.idle,
                    "machine": describe_machine(),
                }
                compare_all(result, options)
                options.results.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    print(make_tables(result))
    sys.exit(not all(is_good(each) for each in list_compared(result)))


def parse_options() -> argparse.Namespace:
    summary, _, rest = (__doc__ or "").partition("\n")
    parser = argparse.ArgumentParser(
        description=summary,
        epilog=rest,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--data", type=Path, help="the data sets; $REJOINDER_DATA by default")
    parser.add_argument("--cache", type=Path, default=Path("open-corpus"))
    parser.add_argument("--engines", type=read_names, metavar="NAME,NAME")
    parser.add_argument("--again", action="store_true")
    parser.add_argument("--idle", action="store_true")
    parser.add_argument("--results", type=Path, default=RESULTS)
    parser.add_argument("--page", type=Path)
    return parser.parse_args()


def read_names(text: str) -> list[str]:
    names = text.split(",")
    if unknown := [name for name in names if name not in ENGINES]:
        raise argparse.ArgumentTypeError(f"no engine {unknown[0]!r}; known: {', '.join(ENGINES)}")
    return names


def choose_part(pool: Pool, sentences: int, questions: int) -> Pool:
    """Return so many questions, evenly spread, with the documents that hold their answers.

    Other documents are added until there are so many sentences.
    """
    asked = [pool.questions[at * len(pool.questions) // questions] for at in range(questions)]
    golds = frozenset[str]().union(*(question.golds for question in asked))

    def is_drawn_later(document: Document) -> tuple[bool, str]:
        has_answer = not golds.isdisjoint(map(normalize, document.sentences))
        return not has_answer, sha256(document.id.encode("utf-8", "surrogatepass")).hexdigest()

    chosen: list[Document] = []
    count = 0
    for document in sorted(pool.documents, key=is_drawn_later):
        if count >= sentences and is_drawn_later(document)[0]:
            break
        count += len(document.sentences)
        shelf = {"shelf": str(len(chosen) % SHELVES)}
        chosen.append(replace(document, metadata=shelf))
    return Pool(chosen, asked)


def compute_digest(pool: Pool) -> str:
    """Return a digest of the documents: others need another index."""
    digest = sha256()
    for document in pool.documents:
        line = json.dumps([document.id, *document.sentences, dict(document.metadata)])
        digest.update(line.encode())
    return digest.hexdigest()[:12]


def measure(
    name: str, index: Index, questions: Sequence[Question]
) -> tuple[dict[str, Any], list[Trial]]:
    """Return what an engine costs and how exact it is, and the judged answer to each question."""
    scorer = load(DEFAULT)
    if name == EMBEDDED:
        return ask_all(index, index, scorer, questions)
    with ENGINES[name][1]() as pattern:
        return measure_engine(pattern.format(name="benchmark"), index, scorer, questions)


def measure_engine(
    url: str, index: Index, scorer: Scorer, questions: Sequence[Question]
) -> tuple[dict[str, Any], list[Trial]]:
    """Export an index to an engine, and ask there; then remove documents, and ask again."""
    start = time.perf_counter()
    export_index(index, url)
    load_seconds = time.perf_counter() - start
    with open_retriever(url) as remote:
        size = measure_bytes(remote)
        size = size and round(size / index.count().sentences, 1)
        measured, trials = ask_all(remote, index, scorer, questions)
        filtered = ask_with_filters(remote, index, questions)
        deleted = count_deleted(remote, index, url, questions)
    own = {"load_seconds": round(load_seconds, 1), "bytes_per_sentence": size}
    return {**own, **measured, **filtered, **deleted}, trials


def measure_bytes(remote: RemoteIndex) -> float | None:
    """Return what a sentence takes on the engine's disk; None where the engine does not say."""
    name, what = remote.url.name, "measuring"
    if isinstance(remote, OpenSearchIndex):
        remote._load("POST", f"/{name}/_flush", what=what)
        _, data = remote._ask("GET", f"/{name}/_stats/store", what=what)
        return float(data["_all"]["primaries"]["store"]["size_in_bytes"])
    if isinstance(remote, PostgresIndex):
        with remote._running(what, SECONDS) as run:
            sizes = "pg_total_relation_size('{sentences}'), pg_total_relation_size('{terms}')"
            ((sentences, terms),) = run(f"SELECT {sizes}")
        return float(sentences + terms)
    return None


def ask_all(
    retriever: Retriever, index: Index, scorer: Scorer, questions: Sequence[Question]
) -> tuple[dict[str, Any], list[Trial]]:
    engine = Engine(index if retriever is index else None, scorer, retriever=retriever)
    for question in questions[:WARMING]:
        engine.answer(question.text)
    searching, trials, shares = [], [], []
    for question in questions:
        start = time.perf_counter()
        hits = retriever.search(question.text, FOUND)
        searching.append(1000 * (time.perf_counter() - start))
        start = time.perf_counter()
        reply = engine.answer(question.text)
        milliseconds = 1000 * (time.perf_counter() - start)
        answers = [answer.sentence for answer in reply.answers[:1]]
        found = [hit.candidate.text for hit in hits]
        trials.append(judge(question, Reply(found, answers, [], reply.abstains, milliseconds)))
        expected = {hit.candidate.text for hit in index.search(question.text, FOUND)}
        shares.append(len(expected.intersection(found)) / max(1, len(expected)))
    rates = summarize(trials)
    return {
        "retrieval": get_percentiles(searching, 50, 95),
        "answer": get_percentiles([trial.milliseconds for trial in trials], 50, 95),
        "overlap": round(100 * statistics.mean(shares), 1),
        **{rate: rates[rate] for rate in RATES},
    }, trials


def ask_with_filters(
    retriever: Retriever, index: Index, questions: Sequence[Question]
) -> dict[str, Any]:
    """Ask for one shelf, and return what came from others, and what was missed."""
    leaked, found, missed = 0, 0, 0
    for number, question in enumerate(questions[:FILTERED]):
        where = {"shelf": str(number % SHELVES)}
        hits = retriever.search(question.text, FOUND, where=where)
        leaked += sum(get_shelf(hit) != where["shelf"] for hit in hits)
        expected = index.search(question.text, FOUND, where=where)
        found += len(hits)
        missed += max(0, len(expected) - len(hits))
    return {"filtered": found, "leaked": leaked, "filtered_missed": missed}


def get_shelf(hit: ScoredCandidate) -> str:
    assert hit.candidate.document is not None
    return hit.candidate.document.metadata["shelf"]


def count_deleted(
    retriever: Retriever, index: Index, url: str, questions: Sequence[Question]
) -> dict[str, Any]:
    """Remove the documents of first hits from a copy of the index, export it, and ask again."""
    first: dict[str, str] = {}
    for question in questions:
        for hit in retriever.search(question.text, 1):
            assert hit.candidate.document is not None
            first.setdefault(hit.candidate.document.id, question.text)
    removed = dict(list(first.items())[:REMOVED])
    with tempfile.TemporaryDirectory() as folder:
        shutil.copytree(index.folder, Path(folder) / "index")
        with Index(Path(folder) / "index") as copy:
            for name in removed:
                copy.remove_document(name)
            report = export_index(copy, url)
    assert report.removed == len(removed), report
    deleted = 0
    for text in removed.values():
        hits = retriever.search(text, FOUND)
        deleted += sum(hit.candidate.document.id in removed for hit in hits)  # type: ignore[union-attr]
    return {"removed": len(removed), "deleted": deleted}


def find_trials(options: argparse.Namespace, name: str) -> Path:
    """Return the file with the result of each question."""
    folder: Path = options.results.with_suffix("")
    return folder / f"{name}.jsonl"


def compare_all(result: dict[str, Any], options: argparse.Namespace) -> None:
    """Put the differences from the embedded index into the result."""
    baseline = read_trials(find_trials(options, EMBEDDED))
    for name, measured in result["engines"].items():
        if name != EMBEDDED:
            against = compare(baseline, read_trials(find_trials(options, name)))
            measured["against"] = {rate: against[rate] for rate in RATES}
            measured["limit"] = ENGINES[name][2]


def list_compared(result: dict[str, Any]) -> list[dict[str, Any]]:
    return [measured for name, measured in result["engines"].items() if name != EMBEDDED]


def is_good(measured: Mapping[str, Any]) -> bool:
    """Whether an engine is within its limit, and exact."""
    losses = [-measured["against"][rate][0] for rate in RATES]
    return max(losses) <= measured["limit"] and not measured["leaked"] and not measured["deleted"]


def make_tables(result: dict[str, Any]) -> str:
    """Return Markdown: quality, then exactness and times."""
    engines: dict[str, dict[str, Any]] = result["engines"]
    names = [name for name in (EMBEDDED, *ENGINES) if name in engines]
    labels = {EMBEDDED: "embedded index", **{name: ENGINES[name][0] for name in ENGINES}}
    lines = [
        f"{result['documents']:,} documents, {result['sentences']:,} sentences,"
        f" {result['questions']} questions; differences from the embedded index in points, with"
        " paired 95 % intervals:",
        "",
        "| | right among 100 found | difference | first answer right | difference | overlap of the"
        " first 100 |",
        "|---|---:|---:|---:|---:|---:|",
    ]
    for name in names:
        cells = [labels[name]]
        for rate in RATES:
            own = engines[name].get("against", {}).get(rate)
            difference = "{:+.1f} ({:+.1f} to {:+.1f})".format(*own) if own else ""
            cells += [f"{engines[name][rate]:.1f} %", difference]
        lines.append(f"| {' | '.join(cells)} | {engines[name]['overlap']} % |")
    is_idle = all(engines[name]["idle"] for name in names)
    where = "an idle machine" if is_idle else "a machine with other work, so compare them with care"
    lines += [
        "",
        f"Times are those of {where}; server and client share its cores:",
        "",
        "| | export, s | search, p50 and p95 ms | whole answer, p50 and p95 ms | leaks through"
        " filters | missed by filters | found though deleted |",
        "|---|---:|---:|---:|---:|---:|---:|",
    ]
    for name in names:
        own = engines[name]
        times = [f"{own[key]['p50_ms']:.0f}, {own[key]['p95_ms']:.0f}" for key in TIMED]
        exact = [
            f"{own[key]} {how} {own[other]:,} {what}" if key in own else ""
            for key, how, other, what in EXACT
        ]
        cells = [labels[name], str(own.get("load_seconds", "")), *times, *exact]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


TIMED = ("retrieval", "answer")
EXACT = (
    ("leaked", "of", "filtered", "sentences"),
    ("filtered_missed", "beside", "filtered", "found"),
    ("deleted", "of", "removed", "documents"),
)
"""A count that should be 0, and what it is to be compared with."""


def write_between(page: Path, begin: str, end: str, text: str) -> None:
    """Replace what a page has between two marks."""
    before, has_begin, rest = page.read_text(encoding="utf-8").partition(begin)
    _, has_end, after = rest.partition(end)
    if not has_begin or not has_end:
        sys.exit(f"{page}: no lines {begin.strip()} and {end.strip()}")
    page.write_text(f"{before}{begin}{text}{end}{after}", encoding="utf-8")


if __name__ == "__main__":
    main()
