"""Device, precision and processes of a training; no other module names a device.

Torch is imported when it is needed, because the options of a training need only the names.

Several processes are started by torchrun.  Each computes the gradient of its share of a step's
questions; the gradients are summed, so that all processes take the same step.
"""

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any, TypeVar

from rejoinder.errors import InputError, TrainingError

if TYPE_CHECKING:
    import torch
    from torch import Tensor, nn

DEVICES = ("auto", "cpu", "cuda", "mps")
PRECISIONS = ("fp32", "bf16", "fp16")
_NAMES = {"cuda": "CUDA device", "mps": "Apple GPU (MPS)"}
_BACKENDS = {"cpu": "gloo", "cuda": "nccl"}
"""How processes exchange tensors of a device."""
_TIMEOUT = timedelta(days=1)
"""How long processes wait for the first one, which evaluates and writes; torchrun ends them all
at once if one fails."""
_FAILED = "rejoinder/failed"
_SEED_STRIDE = 15_485_863
"""Between the seeds of processes: a prime, within the 32 bits that the CPU's generator reads."""

Result = TypeVar("Result")
Module = TypeVar("Module", bound="nn.Module")


@dataclass(frozen=True, slots=True)
class Compute:
    """Where a training computes, and the type in which it multiplies large matrices.

    Sums, weights and gradients are float32 in every precision.
    """

    device: "torch.device"
    dtype: "torch.dtype"
    is_chosen: bool = False
    """Whether the user chose the precision."""

    @property
    def precision(self) -> str:
        """The name of the precision."""
        return next(name for name in PRECISIONS if _get_dtype(name) == self.dtype)

    def describe(self) -> dict[str, str]:
        """Return the names of device and precision."""
        return {"device": self.device.type, "precision": self.precision}

    def only_if_chosen(self) -> "Compute":
        """Return float32 unless a precision was chosen, for products that are small or few."""
        return self if self.is_chosen else replace(self, dtype=_get_dtype("fp32"))

    def autocast(self) -> AbstractContextManager[Any]:
        """Return a context in which products are computed in `dtype`."""
        import torch

        if self.dtype == torch.float32:
            return nullcontext()
        return torch.autocast(self.device.type, dtype=self.dtype)

    def make_scaler(self) -> "torch.amp.GradScaler":
        """Return a scaler that keeps small gradients from vanishing in float16; else no-op."""
        import torch

        scaler = torch.amp.GradScaler(self.device.type, enabled=self.dtype == torch.float16)
        scaler.scale(
            torch.zeros((), device=self.device)
        )  # a process may have no loss to begin with
        return scaler

    @contextmanager
    def seeded(self, seed: int) -> Iterator[None]:
        """Seed the generators of the host and of the device; the host's is restored."""
        import torch

        with torch.random.fork_rng(devices=[self.device] if self.device.type == "cuda" else []):
            torch.manual_seed(seed + get_rank() * _SEED_STRIDE)
            yield


def choose_compute(device: str = "auto", precision: str | None = None) -> Compute:
    """Return the device, and the precision: by default bf16 where it is native, else fp32.

    Raises:
        InputError: this machine does not have the device, or it lacks the precision.
    """
    import torch

    has = {"cpu": True, "cuda": torch.cuda.is_available(), "mps": torch.backends.mps.is_available()}
    if device == "auto":
        device = next(name for name in ("cuda", "mps", "cpu") if has[name])
    if not has[device]:
        raise InputError(
            f"--device {device}: this machine has no {_NAMES[device]}; use --device cpu"
        )
    chosen = torch.device(device)
    if device == "cuda":
        chosen = torch.device(device, _get_local_rank(torch.cuda.device_count()))
    is_native = {
        "cpu": torch.cpu._is_avx512_bf16_supported,
        "cuda": lambda: torch.cuda.is_bf16_supported(including_emulation=False),
        "mps": lambda: False,
    }[device]()
    if device == "cuda" and precision == "bf16" and not is_native:
        raise InputError("--precision bf16: this GPU does not compute it; use fp16 or fp32")
    if device == "mps" and precision == "fp16":
        raise InputError("--precision fp16: torch does not scale its gradients on MPS; use fp32")
    name = precision or ("bf16" if is_native else "fp32")
    return Compute(chosen, _get_dtype(name), precision is not None)


def _get_dtype(precision: str) -> "torch.dtype":
    import torch

    return {"fp32": torch.float32, "bf16": torch.bfloat16, "fp16": torch.float16}[precision]


def has_fused_optimizer(model: "nn.Module") -> bool:
    """Whether torch can update all weights of a model with one kernel."""
    from torch.utils._foreach_utils import _get_fused_kernels_supported_devices

    supported = _get_fused_kernels_supported_devices()
    return all(parameter.device.type in supported for parameter in model.parameters())


def to_host(model: Module) -> Module:
    """Return the model on the CPU, from where it is exported."""
    return model.to("cpu")


def count_processes() -> int:
    """Return how many processes torchrun started for this training."""
    return int(os.environ.get("WORLD_SIZE", "1"))


def get_rank() -> int:
    """Return the number of this process; process 0 writes and prints."""
    return int(os.environ.get("RANK", "0"))


def is_first() -> bool:
    """Whether this process writes and prints."""
    return get_rank() == 0


def _get_local_rank(devices: int) -> int:
    rank = int(os.environ.get("LOCAL_RANK", "0"))
    if rank >= devices:
        raise InputError(
            f"this machine has {devices} CUDA devices, too few for its processes;"
            f" use torchrun --nproc-per-node {devices}"
        )
    return rank


def need_one_process(what: str) -> None:
    """Raise InputError if torchrun started several processes."""
    if count_processes() > 1:
        raise InputError(f"{what} runs in one process; start it without torchrun")


@contextmanager
def join_processes(compute: Compute) -> Iterator[None]:
    """Connect the processes of torchrun; at the end, wait for all of them."""
    if count_processes() == 1:
        yield
        return
    import torch
    from torch import distributed

    kind = compute.device.type
    if kind not in _BACKENDS:
        raise InputError(f"--device {kind} runs in one process; start it without torchrun")
    if kind == "cuda":
        torch.cuda.set_device(compute.device)
    distributed.init_process_group(_BACKENDS[kind], timeout=_TIMEOUT)
    yield
    # The first process has written the bundle.  None may leave while another is still receiving:
    # its threads would abort it.
    distributed.barrier()
    distributed.destroy_process_group()


def take_share(questions: "Tensor") -> "Tensor":
    """Return this process's share of the questions of a step; it may be empty."""
    return questions.tensor_split(count_processes())[get_rank()]


def compute_once(compute: Callable[[], Result]) -> Result:
    """Return what the first process computes, in every process."""
    if count_processes() == 1:
        return compute()
    from torch import distributed

    results: list[Any] = [compute() if is_first() else None]
    with _ended_peer():
        distributed.broadcast_object_list(results, src=0)
    return results[0]


def check_same(value: Any) -> None:
    """Raise TrainingError if the processes read different data, weights or checkpoints."""
    if compute_once(lambda: value) != value:
        raise TrainingError(
            f"process {get_rank()} has other data, weights or checkpoints than process 0; start"
            " all of them in one folder with the same files"
        )


def sum_over_processes(tensors: "Sequence[Tensor]") -> None:
    """Replace each tensor, all of one type, by its sum over all processes."""
    if count_processes() == 1 or not tensors:
        return
    import torch
    from torch import distributed

    joined = torch.cat([tensor.flatten() for tensor in tensors])
    with _ended_peer():
        distributed.all_reduce(joined)
    parts = joined.split([tensor.numel() for tensor in tensors])
    for tensor, part in zip(tensors, parts, strict=True):
        tensor.copy_(part.view_as(tensor))


def sum_gradients(model: "nn.Module", loss: "Tensor") -> None:
    """Replace the gradients, and the loss, by their sums over all processes.

    A weight that no process used keeps no gradient, so that the optimizer skips it.
    """
    if count_processes() == 1:
        return
    import torch

    learnt = [parameter for parameter in model.parameters() if parameter.requires_grad]
    used = torch.tensor([float(item.grad is not None) for item in learnt], device=learnt[0].device)
    for parameter in learnt:
        if parameter.grad is None:
            parameter.grad = torch.zeros_like(parameter)
    sum_over_processes([loss, used, *(item.grad for item in learnt if item.grad is not None)])
    for parameter, count in zip(learnt, used.tolist(), strict=True):
        if not count:
            parameter.grad = None


@contextmanager
def explain_out_of_memory(questions: int) -> Iterator[None]:
    """Say how to need less memory where a GPU has too little."""
    import torch

    try:
        yield
    except torch.cuda.OutOfMemoryError as error:
        raise TrainingError(
            f"out of memory with {questions} questions at once; lower --questions-at-once, or"
            " --questions-per-step"
        ) from error


@contextmanager
def _ended_peer() -> Iterator[None]:
    """Turn the lost connection to a process that failed into an error."""
    try:
        yield
    except RuntimeError as error:
        raise TrainingError("another process of this training failed") from error


def fails_first() -> bool:
    """Whether no other process of this training has failed before; the first one says why."""
    if count_processes() == 1:
        return True
    from torch.distributed import TCPStore  # type: ignore[attr-defined]

    place = os.environ.get("MASTER_ADDR", ""), int(os.environ.get("MASTER_PORT", "0"))
    attempt = os.environ.get("TORCHELASTIC_RESTART_COUNT", "0")
    try:
        store = TCPStore(*place, is_master=False, timeout=timedelta(seconds=5))
        return int(store.add(f"{_FAILED}/{attempt}", 1)) == 1
    except RuntimeError:  # the first process is gone
        return True
