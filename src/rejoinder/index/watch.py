"""Follows files and folders, and keeps an index up to date with them (`Index.watch`).

Folders are followed by notifications of the system.  A named path itself is polled: an editor
that saves through a rename replaces the file that a notification belongs to, and a folder may be
deleted and created again.  Notifications only say where to look: an update compares the files
there with the index, as `Index.add` does.
"""

import logging
import os
import stat
from collections.abc import Generator, Iterable, Mapping
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, NamedTuple

from rejoinder.documents.discovery import leads_outside, list_files, show_path
from rejoinder.documents.formats import find_format
from rejoinder.errors import InputError, LockedError, MissingExtraError
from rejoinder.index.report import FileEvent, OnEvent, OnProgress, UpdateReport
from rejoinder.index.update import check_metadata, update_files

if TYPE_CHECKING:
    from collections.abc import Callable

    from rejoinder.index.index import Index

POLL_SECONDS = 0.3
"""Between two looks at the named paths, and at an index that another process writes."""
QUIET_SECONDS = 0.2
"""Changes are read once there was none for this time: an editor makes several to save a file."""
MAX_BURST_SECONDS = 1.6
"""Changes are read after this time even if there are always more."""
MAX_CHANGED = 1_000
"""If more files have changed, all are compared, which is faster."""

log = logging.getLogger(__name__)


class Stamp(NamedTuple):
    """Differs if a path was replaced, or a file written."""

    is_folder: bool
    device: int
    inode: int
    size: int = 0
    modified: int = 0


class _StoppedError(Exception):
    """Ends an update in which files are left to read."""


def need_watchfiles() -> None:
    """Check that watchfiles is installed."""
    if find_spec("watchfiles") is None:
        raise MissingExtraError("following files", extra="watch")


class Follower:
    """Keeps an index up to date with some paths.

    Raises:
        InputError: a path does not exist.
        MissingExtraError: the package watchfiles is not installed.
    """

    def __init__(
        self,
        index: "Index",
        paths: Iterable[Path | str],
        metadata: Mapping[str, str] | None,
        stop: Event | None,
    ) -> None:
        need_watchfiles()
        check_metadata(metadata or {})
        self._index = index
        self._metadata = metadata
        self._stop = stop or Event()
        self._roots = [Path(path).resolve() for path in paths]
        list_files(self._roots)  # raises the error if one does not exist
        self._own_folder = index.folder.resolve()
        self._stamps: dict[Path, Stamp | None] = {}
        self._pending: set[Path] = set()
        self._skipped: dict[str, FileEvent] = {}
        self._total = UpdateReport()
        self._is_waiting = False
        """Whether another process writes the index, and a warning has said so."""
        self._is_changed = False
        """Whether documents have changed since sidecars were brought up to date."""

    def run(
        self,
        on_event: OnEvent | None,
        on_progress: OnProgress | None,
        on_update: "Callable[[UpdateReport], None] | None",
    ) -> UpdateReport:
        """Update, and follow until stopped (`Index.watch`)."""
        is_first = True
        while not self._stop.is_set():
            self._stamps = {root: _get_stamp(root) for root in self._roots}
            followed = self._list_folders()
            self._pending.update(self._roots)
            # Changes are yielded once all folders are followed: none is missed before the update.
            for changed in self._follow(followed):
                self._pending |= changed | self._poll_roots()
                shown = self._total.files.copy()
                report = self._update(on_event, on_progress) if self._pending else None
                if report and on_update and (is_first or shown != self._total.files):
                    on_update(report)
                is_first = is_first and report is None
                if self._list_folders() != followed:
                    break  # notifications belong to folders that are gone
        self._total.skipped = list(self._skipped.values())
        return self._total

    def _list_folders(self) -> dict[Path, Stamp]:
        stamps = self._stamps.items()
        return {root: stamp for root, stamp in stamps if stamp and stamp.is_folder}

    def _follow(self, folders: Iterable[Path]) -> Generator[set[Path], None, None]:
        """Yield the paths that changed in folders; also where none did, for polling."""
        if not folders:
            while not self._stop.wait(POLL_SECONDS):
                yield set()
            return
        from watchfiles import watch

        try:
            for changes in watch(
                *folders,
                watch_filter=None,
                debounce=int(1000 * MAX_BURST_SECONDS),
                step=int(1000 * QUIET_SECONDS),
                rust_timeout=int(1000 * POLL_SECONDS),
                yield_on_timeout=True,
                ignore_permission_denied=True,
                stop_event=self._stop,
            ):
                yield {path for _, name in changes if self._is_read(path := Path(name))}
        except FileNotFoundError:
            return  # a folder was deleted before it was followed
        except OSError as error:
            remedy = "on Linux, raise fs.inotify.max_user_watches"
            places = ", ".join(map(show_path, folders))
            raise InputError(f"cannot follow {places} ({error}); {remedy}") from error

    def _is_read(self, path: Path) -> bool:
        """Whether `list_files` would find a path, or files in it, or did so before."""
        if self._own_folder in (path, *path.parents):
            return False
        if not any(_is_visible(path, root) for root in self._roots):
            return False
        if path.is_dir():
            return not path.is_symlink()
        return find_format(path.name) is not None or not path.exists()

    def _poll_roots(self) -> set[Path]:
        """Return the named paths that were created, deleted, replaced or written."""
        before, self._stamps = self._stamps, {root: _get_stamp(root) for root in self._roots}
        return {root for root, stamp in self._stamps.items() if stamp != before[root]}

    def _update(
        self, on_event: OnEvent | None, on_progress: OnProgress | None
    ) -> UpdateReport | None:
        """Update the pending paths; None if they have to wait, or the rest is not read."""
        named = self._roots if len(self._pending) > MAX_CHANGED else sorted(self._pending)
        found = list_files(named, missing_ok=True)
        note = partial(self._note, on_event)
        try:
            report = update_files(self._index, named, found, self._metadata, note, on_progress)
            if self._is_changed:
                self._index.update_sidecars()
        except LockedError:
            if not self._is_waiting:
                place = show_path(self._index.folder)
                log.warning("%s: another process is writing; changes wait until it ends", place)
            self._is_waiting = True
            return None
        except _StoppedError:
            return None
        self._is_waiting = self._is_changed = False
        self._pending.clear()
        self._skipped = {
            path: event for path, event in self._skipped.items() if os.path.lexists(path)
        }
        return report

    def _note(self, on_event: OnEvent | None, event: FileEvent) -> None:
        """Count an event and pass it on, unless it says nothing new."""
        is_stopped = self._stop.is_set()
        if event.what == "skipped":
            before = self._skipped.get(event.path)
            # Ctrl-C ends the process that reads files too; and a deleted file is no problem.
            is_news = os.path.lexists(event.path) and not is_stopped
            is_news = is_news and (before is None or before.reason != event.reason)
            self._skipped[event.path] = event
        else:
            is_news = event.what != "unchanged"
            self._is_changed = self._is_changed or is_news
            self._skipped.pop(event.path, None)
        if is_news:
            self._total.files[event.what] = self._total.files.get(event.what, 0) + 1
            self._total.sentences += event.sentences
            if on_event:
                on_event(event)
        if is_stopped:
            raise _StoppedError


def _is_visible(path: Path, root: Path) -> bool:
    """Whether a path is in a folder, not hidden, and neither a link out of it nor behind a link."""
    if not path.is_relative_to(root):
        return False
    parts = path.relative_to(root).parts
    parents = path.parents[: max(0, len(parts) - 1)]
    if any(part.startswith(".") for part in parts) or any(one.is_symlink() for one in parents):
        return False
    return path == root or not leads_outside(path, root)


def _get_stamp(path: Path) -> Stamp | None:
    """Return the stamp of a path; None where it cannot be reached."""
    try:
        status = path.stat()
    except OSError:
        return None
    if stat.S_ISDIR(status.st_mode):
        return Stamp(True, status.st_dev, status.st_ino)
    return Stamp(False, status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns)
