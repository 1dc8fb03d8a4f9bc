"""Checkpoints: a killed training costs minutes, not the training.

One safetensors file replaces its predecessor atomically.  It has its training's fingerprint.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor

from rejoinder.bundle.folder import check_place
from rejoinder.errors import InputError, TrainingError
from rejoinder.storage.files import atomic_write
from rejoinder.training.devices import is_first
from rejoinder.training.loop import TrainingState


@dataclass(frozen=True, slots=True)
class Best:
    """The weights that were best on dev so far."""

    value: float
    epoch: int
    weights: Mapping[str, Tensor]


def check_target(target: Path) -> None:
    """Check that a bundle can be written here, before an hour of training; create its parent."""
    check_place(target)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with TemporaryFile(dir=target.parent):
            pass
    except OSError as error:
        raise InputError(f"cannot write {target}: {error.strerror}") from error


@contextmanager
def keep_checkpoint(target: Path, say: Callable[[str], None] = lambda _: None) -> Iterator[Path]:
    """Give the checkpoint's path beside a bundle; delete the file if the block succeeds.

    A bundle that cannot be written must not cost its training.  Of several processes, the first
    writes and deletes it.
    """
    checkpoint = target.with_name(f"{target.name}.checkpoint")
    if checkpoint.exists():
        say(f"resuming from {checkpoint}")
    yield checkpoint
    if is_first():
        checkpoint.unlink(missing_ok=True)


def save_checkpoint(
    path: Path, state: TrainingState, *, done: int, best: Best | None, of: str
) -> None:
    """Write the state after `done` steps of the training with fingerprint `of`."""
    if not is_first():
        return
    tensors = {f"model/{name}": tensor for name, tensor in state.model.state_dict().items()}
    for place, parameter in enumerate(state.model.parameters()):
        for name, value in state.optimizer.state[parameter].items():
            tensors[f"optimizer/{place}/{name}"] = torch.as_tensor(value)
    if best:
        tensors |= {f"best/{name}": tensor for name, tensor in best.weights.items()}
    best_epoch = {"value": best.value, "epoch": best.epoch} if best else {}
    metadata = {"done": done, "of": of, "best": best_epoch, "scaler": state.scaler.state_dict()}
    try:
        contiguous = {name: tensor.contiguous() for name, tensor in tensors.items()}
        with atomic_write(path) as file:
            file.write(save(contiguous, {"training": json.dumps(metadata)}))
    except OSError as error:
        raise TrainingError(f"cannot write {path}: {error.strerror}") from error


def load_checkpoint(path: Path, state: TrainingState, *, of: str) -> tuple[int, Best | None]:
    """Load a checkpoint of any device into a state; return its steps and its best."""
    try:
        with safe_open(path, framework="pt") as file:
            metadata: dict[str, Any] = json.loads(file.metadata()["training"])
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except (SafetensorError, OSError, KeyError, TypeError, ValueError) as error:
        raise TrainingError(f"{path}: not a checkpoint; remove it to start over") from error
    if metadata["of"] != of:
        raise TrainingError(
            f"{path}: belongs to a training with other data or options;"
            " use the same ones, or remove it to start over"
        )
    state.model.load_state_dict(_below("model/", tensors))
    for place, parameter in enumerate(state.model.parameters()):
        # The fused kernel expects the moments of Adam in their parameter's memory layout, and
        # the number of steps on its device.
        state.optimizer.state[parameter] = {
            name: torch.empty_like(parameter).copy_(tensor)
            if tensor.ndim
            else (tensor.to(parameter.device) if state.optimizer.defaults["fused"] else tensor)
            for name, tensor in _below(f"optimizer/{place}/", tensors).items()
        }
    if metadata.get("scaler") and state.scaler.is_enabled():
        state.scaler.load_state_dict(metadata["scaler"])
    weights = _below("best/", tensors)
    return int(metadata["done"]), Best(**metadata["best"], weights=weights) if weights else None


def _below(prefix: str, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    names = [name for name in tensors if name.startswith(prefix)]
    return {name.removeprefix(prefix): tensors[name] for name in names}
