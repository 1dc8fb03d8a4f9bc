"""`rejoinder index`: keep an index of documents."""

import json
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from rejoinder.cli import options
from rejoinder.cli.output import count, print_json, print_table, say, show_progress

if TYPE_CHECKING:
    from rejoinder.index.index import Index
    from rejoinder.index.report import FileEvent, UpdateReport
    from rejoinder.models.sentence_encoder.encoder import SentenceEncoder
    from rejoinder.models.sidecar import SidecarEncoder

MAX_SUFFIXES = 12
"""Suffixes of files that are not read which are named at the end of `add`."""

FOLDER = click.Path(file_okay=False, path_type=Path)

folder_option = click.option(
    "--index", "folder", required=True, type=FOLDER, help="Folder of the index."
)
paths_argument = click.argument("paths", nargs=-1, required=True, type=click.Path(path_type=Path))


@click.group(epilog=options.example("rejoinder index add examples/docs --index my-index"))
def index() -> None:
    """Manage an index: documents that stay searchable between questions."""


@index.command(
    epilog=options.example(
        "rejoinder index add examples/docs --index my-index",
        "rejoinder index add notes --index my-index --watch",
    )
)
@paths_argument
@folder_option
@click.option(
    "--meta",
    "pairs",
    multiple=True,
    metavar="KEY=VALUE",
    help="Metadata of every document, in place of earlier metadata; repeatable.",
)
@click.option(
    "--sidecar",
    "bundles",
    multiple=True,
    type=FOLDER,
    metavar="BUNDLE",
    help="Store the rows that this bundle reads; repeatable.",
)
@options.embed
@options.no_vectors
@click.option(
    "--watch", "is_watching", is_flag=True, help="Then follow the files, until Ctrl-C or SIGTERM."
)
@click.option(
    "--to", "url", metavar="URL", help="Then bring this search engine up to date, as `export` does."
)
@options.as_json
def add(
    paths: tuple[Path, ...],
    folder: Path,
    pairs: tuple[str, ...],
    bundles: tuple[Path, ...],
    embed: Path | None,
    no_vectors: bool,
    is_watching: bool,
    url: str | None,
    as_json: bool,
) -> None:
    """Add files and folders, or update them.

    Reads HTML, PDF, EPUB, Word, OpenDocument, PowerPoint and Excel files, Markdown,
    reStructuredText, AsciiDoc, man pages, notebooks, e-mail, subtitles and plain text, also
    gzipped; and .jsonl and .csv with one document per row (`text`, `title`, `id`; the rest is
    metadata).  Unchanged files are not read again, changed ones replace their documents, and
    files that were deleted from a folder are removed.  The exit status is 1 if a file of PATHS
    cannot be read.

    --sidecar encodes every sentence once, earlier additions included, and stores the rows for
    cascades with this bundle: the bits of HAS, or the vectors by which a selector finds context.
    Later additions are stored too, without the option.

    Sentences are also found by their vectors, so that a question may use other words.  --embed
    stores the vectors of another encoder, earlier additions included, and later questions and
    additions use it.  With --no-vectors, questions are answered by words alone.

    --watch prints each file that is added, changed, removed or skipped from then on.  Questions
    can be asked meanwhile.  If another process writes the index, changes wait for it.
    """
    from rejoinder.documents.discovery import find_files, list_files, show_path
    from rejoinder.index.update import check_metadata
    from rejoinder.index.watch import need_watchfiles
    from rejoinder.models.registry import open_sentence_encoder, open_sidecars

    if embed and no_vectors:
        raise click.UsageError("--embed and --no-vectors exclude each other")
    if is_watching and url:
        raise click.UsageError("--watch and --to exclude each other")
    metadata = options.parse_pairs(pairs) or None
    check_metadata(metadata or {})
    encoders = open_sidecars(bundles)
    encoder = open_sentence_encoder(embed) if embed else None
    if is_watching:
        need_watchfiles()
        list_files(paths)  # a folder may be empty for now
    elif not folder.exists():
        find_files(paths)  # fails before an empty index is created
    with _open(folder, create=True, encoder=encoder) as opened:
        if is_watching:
            _wait_for_lock(lambda: _prepare(opened, encoders, no_vectors=no_vectors))
            _watch(opened, paths, metadata, as_json)
            return
        _prepare(opened, no_vectors=no_vectors)
        with show_progress("indexing", in_bytes=True) as progress:
            report = opened.add(
                paths,
                metadata=metadata,
                on_event=lambda event: _show(event, as_json),
                on_progress=lambda done, total: progress(done, total, ""),
            )
        _summarise(opened, report, as_json)
        _update_sidecars(opened, encoders)
        if url:
            _export(opened, url)
    named = {show_path(path.resolve()) for path in paths}
    if any(event.path in named for event in report.skipped):
        raise SystemExit(1)


def _prepare(
    opened: "Index", encoders: "Sequence[SidecarEncoder]" = (), *, no_vectors: bool
) -> None:
    """Bring the derived data of earlier documents up to date, which may take long."""
    if no_vectors:
        opened.drop_vectors()
    with show_progress("encoding documents") as progress:
        opened.update_vectors(on_progress=lambda done, total: progress(done, total, ""))
    if encoders:
        _update_sidecars(opened, encoders)


def _wait_for_lock(action: Callable[[], None]) -> None:
    """Call a function until no other process is writing."""
    from rejoinder.errors import LockedError

    is_told = False
    while True:
        try:
            return action()
        except LockedError as error:
            if not is_told:
                say(str(error))
            is_told = True
            time.sleep(0.3)


def _watch(
    opened: "Index", paths: Sequence[Path], metadata: dict[str, str] | None, as_json: bool
) -> None:
    """Follow files, and print what changes; the first update is summed up as `add` does."""
    with ExitStack() as first, _stopping_on_signals() as stop:
        progress = first.enter_context(show_progress("indexing", in_bytes=True))
        is_first = True

        def on_event(event: "FileEvent") -> None:
            if is_first or as_json:
                _show(event, as_json)
            else:
                _show_line(event)

        def on_update(report: "UpdateReport") -> None:
            nonlocal is_first
            first.close()
            if is_first or sum(report.files.values()) > 1:
                _summarise(opened, report, as_json)
            if is_first:
                say("following the files; Ctrl-C ends this")
            is_first = False

        total = opened.watch(
            paths,
            metadata=metadata,
            on_event=on_event,
            on_progress=lambda done, total: progress(done, total, ""),
            on_update=on_update,
            stop=stop,
        )
    parts = [f"{number} {what}" for what, number in total.files.items()] or ["nothing changed"]
    say(f"stopped: {', '.join(parts)}; {_describe_size(opened)}")


def _describe_size(opened: "Index") -> str:
    documents, sentences = opened.count()
    return f"the index has {count(documents, 'document')}, {count(sentences, 'sentence')}"


@contextmanager
def _stopping_on_signals() -> Iterator[threading.Event]:
    """Yield an event that Ctrl-C and SIGTERM set; a second signal ends the process at once."""
    stop = threading.Event()

    def handle(_number: int, _frame: object) -> None:
        if stop.is_set():
            raise KeyboardInterrupt
        stop.set()

    before = {number: signal.signal(number, handle) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _show_line(event: "FileEvent") -> None:
    """Print the outcome for a file."""
    if event.what == "skipped":
        detail = f": {event.reason}"
    elif event.what == "removed":
        detail = ""
    else:
        detail = f" ({count(event.sentences, 'sentence')})"
    click.echo(f"{event.what} {event.path}{detail}")


@index.command(epilog=options.example("rejoinder index remove examples/docs --index my-index"))
@paths_argument
@folder_option
@options.as_json
def remove(paths: tuple[Path, ...], folder: Path, as_json: bool) -> None:
    """Remove the documents of files and folders.

    They are no longer found; `compact` deletes their text from the disk.
    """
    with _open(folder) as opened:
        with show_progress("removing") as progress:

            def show(event: "FileEvent") -> None:
                progress(event.done, event.total, "")
                _show(event, as_json)

            report = opened.remove(paths, on_event=show)
        if not as_json:
            click.echo(f"{report.files['removed']} removed; {_describe_size(opened)}")


@index.command(epilog=options.example("rejoinder index load encoded.parquet --index my-index"))
@click.argument("source", metavar="ENCODED.parquet", type=click.Path(path_type=Path))
@folder_option
def load(source: Path, folder: Path) -> None:
    """Add the documents that `rejoinder encode-table` has encoded.

    A document replaces the one of the same id.
    """
    from rejoinder.batch.encode_table import add_parts
    from rejoinder.batch.job_output import read_parts

    documents = 0
    total, batches = read_parts(source)
    with _open(folder, create=True) as opened:
        with show_progress("loading") as progress:
            for added in add_parts(opened, batches):
                documents += added
                progress(documents, total, "")
        _update_sidecars(opened)
    say(f"{count(documents, 'document')} loaded")


@index.command("list", epilog=options.example("rejoinder index list --index my-index"))
@folder_option
@options.as_json
def list_(folder: Path, as_json: bool) -> None:
    """List the documents."""
    with _open(folder) as opened:
        documents = opened.documents()
        if as_json:
            rows = [
                {
                    "document": item.id,
                    "title": item.title,
                    "sentences": len(item.sentences),
                    "metadata": dict(item.metadata),
                }
                for item in documents
            ]
            print_json(rows)
        else:
            table = [[item.id, item.title, str(len(item.sentences))] for item in documents]
            print_table(["document", "title", "sentences"], table)
            if not table:
                say("the index is empty; 'rejoinder index add' adds documents")


@index.command(epilog=options.example("rejoinder index check --index my-index"))
@folder_option
def check(folder: Path) -> None:
    """Check every document and all derived data for damage."""
    from rejoinder.errors import StoreError

    with _open(folder) as opened:
        problems = opened.check()
        documents, sentences = opened.count()
    for problem in problems:
        say(problem)
    if problems:
        raise StoreError(f"{folder}: {count(len(problems), 'problem')}")
    click.echo(f"{count(documents, 'document')}, {count(sentences, 'sentence')}: no problems")


@index.command(epilog=options.example("rejoinder index compact --index my-index"))
@folder_option
def compact(folder: Path) -> None:
    """Rewrite the index, so that removed text is gone from the disk."""
    with _open(folder) as opened:
        opened.compact()
        _update_sidecars(opened)
        click.echo(f"compacted; {_describe_size(opened)}")


@index.command(
    epilog=options.example(
        "rejoinder index export --index my-index > all.jsonl",
        "rejoinder index export --index my-index --to qdrant://localhost:6333/docs",
    )
)
@folder_option
@click.option("--to", "url", metavar="URL", help="Load the index into this search engine instead.")
def export(folder: Path, url: str | None) -> None:
    """Print every document as a JSON line that `index add` can read.

    With --to, the index is loaded into OpenSearch, Elasticsearch, PostgreSQL or Qdrant, for `serve
    --retriever URL`: opensearch://, elasticsearch://, qdrant:// (or with +https) HOST:PORT/NAME,
    postgresql://USER@HOST/DATABASE?name=NAME.  A later export writes what has changed, and deletes
    what was removed; one that was interrupted continues.
    """
    with _open(folder) as opened:
        if url:
            _export(opened, url)
            return
        for item in opened.documents():
            named = {"id": item.id, "title": item.title, "text": opened.get_text(item)}
            print_json({**item.metadata, **named})


def _export(opened: "Index", url: str) -> None:
    """Bring a search engine up to date with the index."""
    from rejoinder.retrieval.export import export_index

    with show_progress("exporting") as progress:
        report = export_index(
            opened, url, on_progress=lambda done, total: progress(done, total, "")
        )
    say(
        f"{count(report.written, 'document')} written ({count(report.sentences, 'sentence')}),"
        f" {report.removed} removed, {report.unchanged} unchanged"
    )


def _open(
    folder: Path, *, create: bool = False, encoder: "SentenceEncoder | None" = None
) -> "Index":
    from rejoinder.index.index import Index

    return Index(folder, create=create, encoder=encoder)


def _update_sidecars(opened: "Index", encoders: "Sequence[SidecarEncoder]" = ()) -> None:
    with show_progress("storing rows") as progress:
        opened.update_sidecars(encoders, on_progress=progress, on_warning=say)


def _show(event: "FileEvent", as_json: bool) -> None:
    """Print the outcome for a file as JSON, or name it if it was skipped."""
    if as_json:
        fields = ("what", "path", "documents", "sentences", "reason")
        click.echo(json.dumps({name: getattr(event, name) for name in fields}))
    elif event.what == "skipped":
        say(f"skipped {event.path}: {event.reason}")


def _summarise(opened: "Index", report: "UpdateReport", as_json: bool) -> None:
    if as_json:
        return
    parts = [f"{number} {what}" for what, number in report.files.items()]
    read = f"{count(report.sentences, 'sentence')} read"
    click.echo(f"{', '.join(parts)}; {read if report.sentences else _describe_size(opened)}")
    if report.unread:
        shown = report.unread.most_common(MAX_SUFFIXES)
        kinds = [f"{number} {suffix or 'without suffix'}" for suffix, number in shown]
        if others := report.unread.total() - sum(number for _, number in shown):
            kinds.append(f"{others} others")
        say(f"not read, of other formats: {', '.join(kinds)}")
