"""Learning curves: loss and dev measure of each epoch, as JSON lines, a picture or TensorBoard."""

import json
import time
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from statistics import fmean
from typing import Any, Protocol

from rejoinder.errors import InputError, MissingExtraError
from rejoinder.storage.files import atomic_write
from rejoinder.storage.journal import read_journal


class TrainingStep(Protocol):
    """The result of one optimizer step."""

    @property
    def number(self) -> int:
        """Its number, from 1."""

    @property
    def epoch(self) -> int:
        """The number of its epoch, from 1."""

    @property
    def loss(self) -> float:
        """The loss of its questions."""

    @property
    def ends_epoch(self) -> bool:
        """Whether it is the last one of its epoch."""

    @property
    def dev(self) -> Mapping[str, float]:
        """The measure on dev after an epoch, by name; empty where it was not measured."""


class LearningCurve:
    """Collects the epochs of a training, and records them where the user wants them.

    A training that resumes continues its log; the loss of an epoch is then the mean of the steps
    that were taken since.
    """

    def __init__(
        self,
        log: Path | None = None,
        plot: Path | None = None,
        tensorboard: Path | None = None,
    ) -> None:
        """Check that everything can be recorded.

        Args:
            log: a file of JSON lines, one for each epoch.
            plot: a picture.
            tensorboard: a folder of event files.

        Raises:
            MissingExtraError: matplotlib or tensorboard is not installed.
            InputError: there is no folder for a file.
        """
        if plot and find_spec("matplotlib") is None:
            raise MissingExtraError("a plot", extra="tune")
        for place in (log, plot):
            if place and not place.absolute().parent.is_dir():
                raise InputError(f"cannot write {place}: no such folder")
        self.is_recorded = bool(log or plot or tensorboard)
        self.epochs: list[dict[str, Any]] = []
        self._log, self._plot = log, plot
        if tensorboard and find_spec("tensorboard") is None:
            raise MissingExtraError("TensorBoard", extra="tensorboard")
        self._folder = tensorboard
        self._events: _Events | None = None
        self._losses: list[float] = []
        self._begun: float | None = None

    def add(self, step: TrainingStep) -> None:
        """Add a step; InputError if the log cannot be read or written."""
        if self._begun is None:
            self._begun = time.monotonic() - self._resume(step)
            self._events = _Events(self._folder) if self._folder else None
        self._losses.append(step.loss)
        values = {"loss": step.loss}
        if step.ends_epoch:
            self._end_epoch(step)
            values |= {f"dev/{name}": value for name, value in step.dev.items()}
        if self._events:
            self._events.add(step.number, values)

    def close(self) -> None:
        """Draw the picture; InputError if it cannot be written."""
        if self._events:
            self._events.close()
        if self._plot and self.epochs:
            from rejoinder.evaluation.plots import plot_learning_curves

            plot_learning_curves(self._plot, {"": [self.epochs]})

    def _resume(self, step: TrainingStep) -> float:
        """Take the epochs of an interrupted training from the log; return its seconds."""
        if self._log and step.number > 1:
            known = (epoch for epoch in read_journal(self._log) if "epoch" in epoch)
            self.epochs = [epoch for epoch in known if epoch["epoch"] < step.epoch]
        return float(self.epochs[-1]["seconds"]) if self.epochs else 0.0

    def _end_epoch(self, step: TrainingStep) -> None:
        assert self._begun is not None, "the first step began it"
        self.epochs.append(
            {
                "epoch": step.epoch,
                "step": step.number,
                "loss": round(fmean(self._losses), 6),
                "dev": {name: round(value, 6) for name, value in step.dev.items()},
                "seconds": round(time.monotonic() - self._begun, 2),
            }
        )
        self._losses = []
        if self._log:
            lines = "".join(json.dumps(epoch) + "\n" for epoch in self.epochs)
            try:
                with atomic_write(self._log) as file:
                    file.write(lines.encode())
            except OSError as error:
                raise InputError(f"cannot write {self._log}: {error.strerror}") from error


class _Events:
    """Writes the event files that TensorBoard reads, without TensorFlow or torch."""

    def __init__(self, folder: Path) -> None:
        from tensorboard.summary.writer.event_file_writer import EventFileWriter

        try:
            self._writer = EventFileWriter(str(folder))
        except OSError as error:
            raise InputError(f"cannot write {folder}: {error.strerror}") from error

    def add(self, step: int, values: Mapping[str, float]) -> None:
        from tensorboard.compat.proto.event_pb2 import Event
        from tensorboard.compat.proto.summary_pb2 import Summary

        scalars = [Summary.Value(tag=tag, simple_value=value) for tag, value in values.items()]
        summary = Summary(value=scalars)
        self._writer.add_event(Event(wall_time=time.time(), step=step, summary=summary))

    def close(self) -> None:
        self._writer.close()
