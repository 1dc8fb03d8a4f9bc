"""The outcome of an update of an index, file by file."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

What = Literal["added", "changed", "unchanged", "removed", "skipped"]


@dataclass(frozen=True, slots=True)
class FileEvent:
    """The outcome for one file; it is on disk when the event is sent."""

    what: What
    path: str
    """The file, or the name of an upload."""
    documents: int = 0
    sentences: int = 0
    reason: str = ""
    """Why it was skipped; empty otherwise."""
    done: int = 0
    """How many files of this update have been read."""
    total: int = 0


@dataclass(slots=True)
class UpdateReport:
    """The outcome of an update."""

    files: dict[What, int] = field(default_factory=dict)
    """The number of files with each outcome."""
    sentences: int = 0
    """The number of sentences read."""
    skipped: list[FileEvent] = field(default_factory=list)
    unread: Counter[str] = field(default_factory=Counter)
    """The number of files in folders that are of no format that can be read, by suffix."""

    def count(self, event: FileEvent) -> None:
        """Count the outcome for one more file."""
        self.files[event.what] = self.files.get(event.what, 0) + 1
        self.sentences += event.sentences
        if event.what == "skipped":
            self.skipped.append(event)


OnEvent = Callable[[FileEvent], None]
OnProgress = Callable[[int, int], None]
"""Called with the number of bytes that were read, and of all."""
