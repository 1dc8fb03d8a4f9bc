"""Networks over encoders at run time: in the compiled kernel if it can run them, or onnxruntime.

The kernel computes BERT's encoder in int8, with the weights of the bundle's ONNX file.  It must be
one that onnx_graph.py wrote: its weights have the names that are looked up here, and no others.

The tokens of several texts are computed together, without padding, and each text's result is the
same in any company.
"""

import logging
import os
import re
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from ctypes import CDLL
from dataclasses import dataclass
from functools import cache
from mmap import ACCESS_READ, mmap
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from rejoinder.bundle.folder import Bundle
from rejoinder.models.encoders.onnx_weights import Array, read_weights
from rejoinder.models.kernel import Matrix, load_library
from rejoinder.models.onnx_session import (
    CPU,
    FOREIGN,
    NETWORK,
    PLACE,
    Feed,
    OnnxNetwork,
    Runtime,
)
from rejoinder.models.parallel import count_cores, gather
from rejoinder.models.transformer_kernel import (
    Bytes,
    EncoderWeights,
    JoinedTexts,
    KernelEncoder,
    LayerWeights,
    LinearWeights,
    has_transformer,
)

MAX_TOKENS = 512
"""Tokens of one call: enough to read weights rarely, few enough for short lists on two threads."""
TABLE = "embeddings.word_embeddings.int8"
SHARED = "REJOINDER_WORKER_WEIGHTS"
"""The environment variable that has the file descriptor of the memory with shared weights."""
SMALLEST = 1e-12
"""The smallest length that a vector is divided by."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Encoded:
    """The last states of texts, which are valid only while they are read."""

    texts: JoinedTexts
    states: Matrix
    encoder: KernelEncoder

    def average(self, kind: int | None = None) -> Matrix:
        """Return the mean state of each text's tokens of a kind, or of all, (texts, E)."""
        return self.encoder.average(self.states, self.texts, kind)

    def get_first(self) -> Matrix:
        """Return each text's first state, (texts, E)."""
        return self.states[self.texts.starts]


Outputs: TypeAlias = Array | list[Array]
"""The output of a network for each text."""
Readout = Callable[[Encoded], Outputs]
"""Computes the outputs from the last states."""
MakeReadout = Callable[[Mapping[str, Array]], Readout | None]
"""Makes a readout from the weights beside the encoder; None if they are not those it reads."""


class CompiledNetwork:
    """A network of a bundle in the compiled kernel; safe from many threads."""

    name, output = NETWORK, "output"

    def __init__(self, encoder: KernelEncoder, readout: Readout, threads: int | None) -> None:
        self._encoder = encoder
        self._readout = readout
        self._threads = threads or count_cores()
        self._pool = ThreadPoolExecutor(self._threads, "encoder")

    def run(self, feed: Feed) -> Any:
        """Return the network's output for one text or pair, as a batch of one."""
        return self._run([feed])

    def run_all(self, feeds: Sequence[Feed]) -> list[Any]:
        """Return the network's output for each text or pair, in their order."""
        groups = self._divide([feed["ids"].shape[1] for feed in feeds])

        def run(group: Sequence[int]) -> Outputs:
            return self._run([feeds[place] for place in group])

        is_alone = self._threads == 1 or len(groups) < 2
        return gather(groups, map(run, groups) if is_alone else self._pool.map(run, groups))

    def _run(self, feeds: Sequence[Feed]) -> Outputs:
        texts = JoinedTexts(
            np.concatenate([feed["ids"][0] for feed in feeds]),
            np.concatenate([feed["kinds"][0] for feed in feeds]),
            np.array([feed["ids"].shape[1] for feed in feeds], dtype=np.int64),
        )
        encoder = self._encoder
        return encoder.encode(texts, lambda states: self._readout(Encoded(texts, states, encoder)))

    def _divide(self, lengths: Sequence[int]) -> list[list[int]]:
        """Divide texts into groups with about as many tokens, the same number for each thread."""
        if not lengths:
            return []
        rounds = -(-sum(lengths) // (MAX_TOKENS * self._threads))
        groups: list[list[int]] = [[] for _ in range(min(rounds * self._threads, len(lengths)))]
        totals = [0] * len(groups)
        for place in sorted(range(len(lengths)), key=lambda place: -lengths[place]):
            least = totals.index(min(totals))
            groups[least].append(place)
            totals[least] += lengths[place]
        return groups


def open_network(
    bundle: Bundle, runtime: Runtime = CPU, make_readout: MakeReadout | None = None
) -> CompiledNetwork | OnnxNetwork:
    """Return the network of a bundle: in the compiled kernel if that can run it, or onnxruntime.

    Args:
        make_readout: how the kernel computes the output from the encoder's last states.

    Raises:
        BundleError: it is missing or corrupt.
        InputError: onnxruntime does not have the execution provider here.
    """
    settings = bundle.manifest.config
    name = str(settings.get(PLACE, NETWORK))
    try:
        inputs = {str(ours): str(name) for ours, name in dict(settings.get(FOREIGN, {})).items()}
        if name not in bundle.manifest.files:  # only those were verified
            raise FileNotFoundError(name)
        if make_readout is not None and not inputs:
            content = _map(bundle.folder / name)
            checksum = bundle.manifest.files[name]
            compiled = open_compiled(content, settings, runtime, make_readout, checksum=checksum)
            if compiled is not None:
                return compiled
        network = (bundle.folder / name).read_bytes()
    except (OSError, TypeError, ValueError) as error:
        raise bundle.refuse(f"file or setting is missing: {error}") from error
    return OnnxNetwork(network, bundle.folder, runtime, name=Path(name).name, inputs=inputs)


def _map(path: Path) -> mmap | bytes:
    """Return a file's content without reading it: the kernel copies what it needs."""
    with path.open("rb") as file:
        return mmap(file.fileno(), 0, access=ACCESS_READ) if path.stat().st_size else b""


def open_compiled(
    content: bytes | mmap,
    config: Mapping[str, Any],
    runtime: Runtime,
    make_readout: MakeReadout,
    *,
    checksum: str | None = None,
) -> CompiledNetwork | None:
    """Return the network of an ONNX file in the kernel; None if the kernel cannot run it.

    Args:
        config: the settings of its bundle, with those of its encoder.
        checksum: of the content, by which several processes share the packed weights.
    """
    if not runtime.is_cpu or runtime.batch is not None:
        return None
    library = _find_transformer()
    if library is None:
        return None
    try:
        weights = read_weights(content)
        encoder, rest = _read_encoder(weights, config)
        readout = make_readout({name: value.copy() for name, value in rest.items()})
        if readout is None:
            return None
        compiled = KernelEncoder(library, encoder, _share(checksum, library, encoder))
        return CompiledNetwork(compiled, readout, runtime.threads)
    except (KeyError, TypeError, ValueError):  # another network, which onnxruntime may know
        return None


def _share(checksum: str | None, library: CDLL, encoder: EncoderWeights) -> Bytes | None:
    """Return the packed weights that this process shares with others; None if it shares none."""
    memory = os.environ.get(SHARED)
    if not checksum or not memory:
        return None
    from rejoinder.models.encoders.shared_weights import share_packed  # only workers need it

    return share_packed(int(memory), checksum, library, encoder)


@cache
def _find_transformer() -> CDLL | None:
    """Return the library if it can run encoders here; else say once what runs them instead."""
    library = load_library()
    if library is not None and has_transformer(library):
        return library
    _log.info("%s; slower, with scores within the tolerance of each manifest", describe_runtime())
    return None


def describe_runtime() -> str:
    """Return a sentence about what runs int8 transformers here, and why."""
    library = load_library()
    if library is None:
        return "int8 transformers run in onnxruntime: the compiled kernel was not built"
    if not has_transformer(library):
        return "int8 transformers run in onnxruntime: this processor has no AVX-512 VNNI"
    return "int8 transformers run in the compiled kernel, with AVX-512 VNNI"


def read_states(rest: Mapping[str, Array]) -> Readout | None:
    """Return a readout of all states of a text, (tokens, E)."""
    if rest:
        return None
    return lambda encoded: np.split(encoded.states.copy(), encoded.texts.starts[1:])


def read_pooled(pooling: str, rest: Mapping[str, Array]) -> Readout | None:
    """Return a readout of vectors of length 1: the `mean` state of a text, or its `first`."""
    if rest or pooling not in ("mean", "first"):
        return None
    return lambda encoded: to_length_1(
        encoded.average() if pooling == "mean" else encoded.get_first()
    )


def to_length_1(vectors: Matrix) -> Matrix:
    """Scale vectors (texts, E) to length 1."""
    lengths = np.sqrt((vectors * vectors).sum(axis=1, keepdims=True))
    return np.asarray(vectors / np.maximum(lengths, np.float32(SMALLEST)), dtype=np.float32)


def _read_encoder(
    weights: Mapping[str, Array], config: Mapping[str, Any]
) -> tuple[EncoderWeights, dict[str, Array]]:
    """Return the weights of an encoder, and those beside it, by name.

    Raises:
        KeyError, ValueError: the weights are not those of one such encoder in int8.
    """
    # Unnamed constants are numbers and shapes, which follow from the settings.
    left = {name: value for name, value in weights.items() if not re.fullmatch(r"c\d+", name)}
    settings = config.get("architecture") or config["bert"]
    (scope,) = (name.removesuffix(TABLE) for name in left if name.endswith(TABLE))

    def take(name: str) -> Array:
        return left.pop(f"{scope}{name}")

    def take_norm(name: str) -> Matrix:
        return np.stack([take(f"{name}.weight"), take(f"{name}.bias")])

    def take_linear(*names: str) -> LinearWeights:
        name = "+".join([names[0], *(f"{scope}{other}" for other in names[1:])])
        return LinearWeights(take(f"{name}.int8"), take(f"{name}.scale"), take(f"{name}.bias"))

    def take_layer(number: int) -> LayerWeights:
        layer = f"encoder.layer.{number}."
        return LayerWeights(
            take_linear(*(f"{layer}attention.self.{name}" for name in ("query", "key", "value"))),
            take_linear(f"{layer}attention.output.dense"),
            take_linear(f"{layer}intermediate.dense"),
            take_linear(f"{layer}output.dense"),
            take_norm(f"{layer}attention.output.LayerNorm"),
            take_norm(f"{layer}output.LayerNorm"),
        )

    positions = take("embeddings.position_embeddings.weight")
    offset = len(positions) - int(config["max_tokens"])
    if offset < 0:
        raise ValueError("the encoder has fewer positions than its bundle says")
    encoder = EncoderWeights(
        pieces=take(TABLE),
        piece_scales=take("embeddings.word_embeddings.scale"),
        types=take("embeddings.token_type_embeddings.weight"),
        # Some encoders begin to count positions at a number above 0.
        positions=positions[offset:],
        norm=take_norm("embeddings.LayerNorm"),
        layers=[take_layer(number) for number in range(int(settings["num_hidden_layers"]))],
        heads=int(settings["num_attention_heads"]),
        epsilon=float(settings["layer_norm_eps"]),
    )
    return encoder, left
