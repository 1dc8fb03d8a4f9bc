"""Runs networks in onnxruntime, and turns its errors into ours.

On the CPU a call reads one text or pair, and calls are spread over threads.  So there is no
padding, and a result depends on its own inputs alone: int8 takes its scale over all inputs of a
call, and in a batch the result of a pair would depend on the others.  Other execution providers
need large calls to be fast, and read padded batches.
"""

import os
import sys
from base64 import b64decode
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rejoinder.errors import BundleError, InputError, UnknownNameError
from rejoinder.models.parallel import count_cores, gather

NETWORK, VOCABULARY = "model.onnx", "vocabulary.txt"
"""The files of a bundle that hold its network, and the word pieces that it reads."""
FOREIGN = "inputs"
"""The setting of a bundle whose network was imported from ONNX: how it names its inputs."""
PLACE = "network"
"""The setting of a model that is read where it is: the path of its network."""
Feed = dict[str, NDArray[np.generic]]
"""The inputs of a network for one text or pair, by name: shape (1, items, …)."""
EXACT = ("session.x64quantprecision", "1")
"""The option for int8 products that cannot overflow, which are slower on every processor."""
PRODUCT = b64decode(
    "CAkSADpcChgKAWEKAWISAWMiDU1hdE11bEludGVnZXISAWdaEwoBYRIOCgwIAhIICgIIAQoCCEBaEwoBYhIOCgwIAxIICgII"
    "QAoCCBBiEwoBYxIOCgwIBhIICgIIAQoCCBBCBAoAEBQ="
)
"""A network that is one product: MatMulInteger of `a`, uint8 (1, 64), and `b`, int8 (64, 16)."""
PROVIDERS = {
    "cpu": "CPUExecutionProvider",
    "cuda": "CUDAExecutionProvider",
    "coreml": "CoreMLExecutionProvider",
    "openvino": "OpenVINOExecutionProvider",
}
"""The execution providers by our names, and how onnxruntime names them."""
REMEDIES = {
    "cuda": "install onnxruntime-gpu[cuda,cudnn] in place of onnxruntime",
    "coreml": "it comes with onnxruntime on macOS alone",
    "openvino": "install onnxruntime-openvino in place of onnxruntime",
}
"""How to get each provider but the CPU, which every onnxruntime has."""
CASTS = {"tensor(int32)": np.int32}
"""The types of inputs that our feeds, of 64-bit integers, are cast to."""
NUMBERS = ("tensor(float)", "tensor(float16)", "tensor(double)", "tensor(int64)")
"""The types of outputs that can be read as scores or vectors."""
BATCH = 32
"""Texts or pairs per call on providers other than the CPU."""


@dataclass(frozen=True, slots=True)
class Runtime:
    """How the networks of a scorer run."""

    threads: int | None = None
    """How many may work on one list; None for the family's own number."""
    provider: str = "cpu"
    """The execution provider, for families that run in onnxruntime."""
    batch: int | None = None
    """Texts or pairs per call; by default 1 on the CPU and `BATCH` elsewhere."""

    def __post_init__(self) -> None:
        """Check the name of the provider."""
        if self.provider not in PROVIDERS:
            raise UnknownNameError("execution provider", self.provider, PROVIDERS)

    @property
    def is_cpu(self) -> bool:
        """Whether networks run on onnxruntime's own CPU kernels."""
        return self.provider == "cpu"


CPU = Runtime()
"""All cores; what every scorer uses by default."""


def import_onnxruntime() -> Any:
    """Return onnxruntime with telemetry disabled: the only place that imports it.

    It reads the variable while it is imported, and otherwise opens a connection and writes into
    the user's cache; `disable_telemetry_events` comes too late.  A value set by the user stays.
    """
    os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")
    import onnxruntime

    return onnxruntime


def open_session(
    network: bytes, folder: Path, runtime: Runtime = CPU, *, name: str = NETWORK
) -> Any:
    """Return a session; on the CPU it uses one thread, and callers spread calls over threads.

    Raises:
        BundleError: the network is corrupt, or is refused by `check_network`.
        InputError: onnxruntime does not have the execution provider here.
    """
    from rejoinder.models.onnx_check import check_network

    onnxruntime = import_onnxruntime()
    if not runtime.is_cpu:
        _check_available(runtime.provider)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1 if runtime.is_cpu else runtime.threads or count_cores()
    if overflows():
        options.add_session_config_entry(*EXACT)
    options.log_severity_level = 4  # failures are raised, and reported as our errors
    # Its own format would not be checked.
    options.add_session_config_entry("session.load_model_format", "ONNX")
    with refuse_corrupt(folder, name):
        check_network(network)
        session = onnxruntime.InferenceSession(
            network, options, providers=[PROVIDERS[runtime.provider]]
        )
    _check_listed(runtime.provider, session.get_providers())  # it falls back to the CPU silently
    return session


def _check_available(provider: str) -> None:
    onnxruntime = import_onnxruntime()
    if provider == "cuda" and hasattr(onnxruntime, "preload_dlls"):  # since 1.21
        with redirect_stdout(sys.stderr):
            onnxruntime.preload_dlls()  # finds CUDA where pip has installed it
    _check_listed(provider, onnxruntime.get_available_providers())


def _check_listed(provider: str, names: Sequence[str]) -> None:
    if PROVIDERS[provider] not in names:
        raise InputError(
            f"onnxruntime cannot use the execution provider {provider!r} here: {REMEDIES[provider]}"
        )


class OnnxNetwork:
    """A network of a bundle; safe from many threads."""

    def __init__(
        self,
        network: bytes,
        folder: Path,
        runtime: Runtime = CPU,
        *,
        name: str = NETWORK,
        inputs: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        """Open a network; `inputs` are its names of our inputs where they differ."""
        self.name = name
        self._folder = folder
        self.session = open_session(network, folder, runtime, name=name)
        ours = {theirs: name for name, theirs in inputs.items()}
        # A network may not read all of our inputs: token types, for instance.
        self._inputs = [
            (ours.get(item.name, item.name), item.name, CASTS.get(item.type))
            for item in self.session.get_inputs()
        ]
        with refuse_corrupt(folder, name):
            self.output = _find_output(self.session)
        self._threads = (runtime.threads or count_cores()) if runtime.is_cpu else 1
        self._batch = runtime.batch or (1 if runtime.is_cpu else BATCH)
        self._pool = ThreadPoolExecutor(self._threads, "onnx")

    def run(self, feed: Feed) -> Any:
        """Return the network's first output for one text or pair."""
        return self._run(feed)[0]

    def run_all(self, feeds: Sequence[Feed]) -> list[Any]:
        """Return the first output for each text or pair, in their order.

        In a batch an output along the tokens has as many rows as the longest text.
        """
        # Longest first: no thread is left alone with a long text at the end, and the texts of a
        # batch are of similar length.
        order = sorted(range(len(feeds)), key=lambda place: -_measure(feeds[place]))
        batches = [order[at : at + self._batch] for at in range(0, len(order), self._batch)]

        def run(batch: Sequence[int]) -> Sequence[Any]:
            return self._run(pad([feeds[at] for at in batch]))

        is_alone = self._threads == 1 or len(batches) < 2
        return gather(batches, map(run, batches) if is_alone else self._pool.map(run, batches))

    def _run(self, feed: Feed) -> Sequence[Any]:
        named = {
            theirs: feed[ours] if kind is None else feed[ours].astype(kind)
            for ours, theirs, kind in self._inputs
            if ours in feed
        }
        with refuse_corrupt(self._folder, self.name):
            outputs: Sequence[Any] = self.session.run([self.output], named)[0]
            rows = len(next(iter(feed.values())))
            if np.ndim(outputs) == 0 or len(outputs) != rows:
                raise ValueError(f"its output {self.output!r:.60} has no row for each text")
        return outputs


def _find_output(session: Any) -> str:
    outputs = session.get_outputs()
    if not outputs or outputs[0].type not in NUMBERS:
        raise ValueError("its first output is no tensor of numbers")
    return str(outputs[0].name)


def _measure(feed: Feed) -> int:
    return max(value.shape[1] for value in feed.values())


@cache
def overflows() -> bool:
    """Whether int8 products overflow here: processors without VNNI add two of them in 16 bits.

    onnxruntime does not say, so one product of the largest bytes is tried.
    """
    onnxruntime = import_onnxruntime()
    session = onnxruntime.InferenceSession(PRODUCT, providers=["CPUExecutionProvider"])
    given = {"a": np.full((1, 64), 255, np.uint8), "b": np.full((64, 16), 127, np.int8)}
    (product,) = session.run(None, given)
    return bool((product != 64 * 255 * 127).any())


@contextmanager
def refuse_corrupt(folder: Path, name: str = NETWORK) -> Iterator[None]:
    """Raise a BundleError for any error of onnxruntime about a network of the bundle."""
    try:
        yield
    except _list_errors() as error:
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        message = f"{folder}: {name} cannot be run: {reason}; export the bundle again"
        raise BundleError(message) from error


def _list_errors() -> tuple[type[Exception], ...]:
    """Return the errors of a network; onnxruntime's own, if it is in use, share no base class."""
    if "onnxruntime" not in sys.modules:
        return (ValueError,)
    errors = import_onnxruntime().capi.onnxruntime_pybind11_state
    return (
        errors.EPFail,
        errors.Fail,
        errors.InvalidArgument,
        errors.InvalidGraph,
        errors.InvalidProtobuf,
        errors.NotImplemented,
        errors.RuntimeException,
        ValueError,
    )


def to_feed(ids: ArrayLike, kinds: ArrayLike | None = None) -> Feed:
    """Return the tokens of a text or pair as a network's inputs; all are of kind 0 by default."""
    row = np.asarray(ids, dtype=np.int64)[None]
    own = np.zeros_like(row) if kinds is None else np.asarray(kinds, dtype=np.int64)[None]
    return {"ids": row, "mask": np.ones_like(row), "kinds": own}


def pad(feeds: Sequence[Feed]) -> Feed:
    """Return texts or pairs as one input, padded with zeros."""
    if len(feeds) == 1:
        return feeds[0]
    padded = {}
    for name, first in feeds[0].items():
        longest = max(feed[name].shape[1] for feed in feeds)
        joined = np.zeros((len(feeds), longest, *first.shape[2:]), dtype=first.dtype)
        for row, feed in enumerate(feeds):
            joined[row, : feed[name].shape[1]] = feed[name][0]
        padded[name] = joined
    return padded
