"""What every training of the command line shares: room for its bundle, and its checkpoint."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rejoinder.cli.output import say


def make_room(target: Path) -> None:
    """Make the folder above a bundle; better to fail before an hour of training than after."""
    from tempfile import TemporaryFile

    from rejoinder.bundle.folder import check_place
    from rejoinder.errors import InputError

    check_place(target)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with TemporaryFile(dir=target.parent):
            pass
    except OSError as error:
        raise InputError(f"cannot write {target}: {error.strerror}") from error


@contextmanager
def keep_checkpoint(target: Path) -> Iterator[Path]:
    """Give the checkpoint beside a bundle, and remove it only when all that follows is done.

    A bundle that could not be written must not cost the training that is behind it.
    """
    checkpoint = target.with_name(f"{target.name}.checkpoint")
    if checkpoint.exists():
        say(f"going on from {checkpoint}")
    yield checkpoint
    checkpoint.unlink(missing_ok=True)


def name_data(given: Mapping[str, Any]) -> list[str]:
    """Return what a bundle says that it was trained on."""
    feedback = given["feedback"]
    return [*given["datasets"], *([f"feedback of {feedback}"] if feedback else [])]
