"""Saves a training that is under way, so that a kill costs minutes and not the training.

A checkpoint is one safetensors file, written beside its place and renamed: after a crash it
is the last complete one, or there is none.  It names the training that it belongs to.
"""

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor, nn
from torch.optim import Optimizer

from rejoinder.errors import TrainingError
from rejoinder.storage.atomic import atomic_write


@dataclass(frozen=True, slots=True)
class Best:
    """The weights that were best on dev so far."""

    value: float
    epoch: int
    weights: Mapping[str, Tensor]


@contextmanager
def keep_checkpoint(target: Path, say: Callable[[str], None] = lambda _: None) -> Iterator[Path]:
    """Give the checkpoint beside a bundle, and remove it only when all that follows is done.

    A bundle that could not be written must not cost the training that is behind it.
    """
    checkpoint = target.with_name(f"{target.name}.checkpoint")
    if checkpoint.exists():
        say(f"going on from {checkpoint}")
    yield checkpoint
    checkpoint.unlink(missing_ok=True)


def make_fingerprint(*parts: object) -> str:
    """Return what tells one training from another: a digest of all that it depends on."""
    text = json.dumps(parts, sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()


def save_checkpoint(
    path: Path, model: nn.Module, optimizer: Optimizer, *, done: int, best: Best | None, of: str
) -> None:
    """Write the state after `done` steps of the training with fingerprint `of`.

    Raises:
        TrainingError: the file cannot be written.
    """
    tensors = {f"model/{name}": tensor for name, tensor in model.state_dict().items()}
    for place, parameter in enumerate(model.parameters()):
        for name, value in optimizer.state[parameter].items():
            tensors[f"optimizer/{place}/{name}"] = torch.as_tensor(value)
    if best:
        tensors |= {f"best/{name}": tensor for name, tensor in best.weights.items()}
    metadata = {"done": done, "of": of, "best": [best.value, best.epoch] if best else None}
    try:
        whole = {name: tensor.contiguous() for name, tensor in tensors.items()}
        with atomic_write(path) as file:
            file.write(save(whole, {"training": json.dumps(metadata)}))
    except OSError as error:
        raise TrainingError(f"cannot write {path}: {error.strerror}") from error


def load_checkpoint(
    path: Path, model: nn.Module, optimizer: Optimizer, *, of: str
) -> tuple[int, Best | None]:
    """Put a checkpoint's state into the model and the optimizer; return its steps and best.

    Raises:
        TrainingError: the file is torn, or belongs to another training.
    """
    try:
        with safe_open(path, framework="pt") as file:
            found: dict[str, Any] = json.loads(file.metadata()["training"])
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except (SafetensorError, OSError, KeyError, TypeError, ValueError) as error:
        raise TrainingError(f"{path}: not a checkpoint; remove it to start anew") from error
    if found["of"] != of:
        raise TrainingError(
            f"{path}: is the checkpoint of a training with other data or options;"
            " give those, or remove it to start anew"
        )
    model.load_state_dict(_below("model/", tensors))
    for place, parameter in enumerate(model.parameters()):
        state = _below(f"optimizer/{place}/", tensors)
        optimizer.state[parameter] = {
            name: _lay_out_like(parameter, tensor) for name, tensor in state.items()
        }
    weights = _below("best/", tensors)
    if not weights:
        return int(found["done"]), None
    value, epoch = found["best"]
    return int(found["done"]), Best(value, epoch, weights)


def _lay_out_like(parameter: Tensor, tensor: Tensor) -> Tensor:
    """Return a moment of Adam in the order in memory of its parameter, as its kernel expects."""
    if tensor.shape != parameter.shape:
        return tensor
    return torch.empty_like(parameter).copy_(tensor)


def _below(prefix: str, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    return {
        name.removeprefix(prefix): tensor
        for name, tensor in tensors.items()
        if name.startswith(prefix)
    }
