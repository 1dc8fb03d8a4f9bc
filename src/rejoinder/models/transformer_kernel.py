"""BERT's encoder in int8, in the compiled kernel (transformer.c).

Axes: T tokens of all texts, E width, F inner width.
"""

import ctypes
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from rejoinder.models.kernel import Ids, Matrix, bind_function

LINE = 64
"""Bytes of a line of the cache; everything that the kernel reads begins with a whole one."""
MULTIPLE = 64
"""Widths must be multiples of it: the columns of the widest panel."""
MAX_WIDTH, MAX_HEAD_WIDTH = 1024, 128
ZERO_POINT, LOWEST_GELU = 128, -0.17
"""States are bytes above the first number; states after GELU are steps above the second."""


Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class LinearWeights:
    """A linear layer: int8 weights (depth, columns), a scale per column, and the bias."""

    whole: NDArray[np.int8]
    scales: Matrix
    bias: Matrix


@dataclass(frozen=True, slots=True)
class LayerWeights:
    """A layer of an encoder; norms are weight and bias, (2, E)."""

    projections: LinearWeights
    """Of queries, keys and values, in this order."""
    joined: LinearWeights
    inner: LinearWeights
    outer: LinearWeights
    joined_norm: Matrix
    outer_norm: Matrix


@dataclass(frozen=True, slots=True)
class EncoderWeights:
    """An encoder: embeddings of word pieces, token types and positions, and layers."""

    pieces: NDArray[np.int8]
    piece_scales: Matrix
    types: Matrix
    positions: Matrix
    norm: Matrix
    layers: Sequence[LayerWeights]
    heads: int
    epsilon: float

    def __post_init__(self) -> None:
        """Check what the kernel does not: it reads memory by these shapes.

        Raises:
            ValueError: shapes do not fit each other, or are not supported.
        """
        width = self.pieces.shape[-1]
        inner = self.layers[0].inner.whole.shape[-1] if self.layers else 0
        rows = (self.types, self.positions)
        linear = {"projections": 3 * width, "joined": width, "inner": inner, "outer": width}
        is_right = (
            self.pieces.ndim == 2
            and self.layers
            and 0 < width <= MAX_WIDTH
            and not width % MULTIPLE
            and not inner % MULTIPLE
            and self.heads > 0
            and not width % self.heads
            and not width // self.heads % 16
            and width // self.heads <= MAX_HEAD_WIDTH
            and self.piece_scales.size == len(self.pieces)
            and all(table.ndim == 2 and table.shape[1] == width for table in rows)
            and self.norm.shape == (2, width)
            and all(
                layer.joined_norm.shape == layer.outer_norm.shape == (2, width)
                and all(
                    own.whole.shape == (inner if name == "outer" else width, columns)
                    and own.scales.shape == own.bias.shape == (columns,)
                    for name, columns in linear.items()
                    for own in [getattr(layer, name)]
                )
                for layer in self.layers
            )
        )
        if not is_right:
            raise ValueError("the kernel does not support the shapes of this encoder")


class _Product(ctypes.Structure):
    _fields_ = [(name, ctypes.c_void_p) for name in ("weights", "start", "scales", "bias")]


class _Layer(ctypes.Structure):
    _fields_ = [
        *((name, _Product) for name in ("projections", "joined", "inner", "outer")),
        *((name, ctypes.c_void_p) for name in ("joined_norm", "outer_norm")),
    ]


class _Encoder(ctypes.Structure):
    _fields_ = [
        *((name, ctypes.c_int64) for name in ("width", "inner", "heads", "depth")),
        *((name, ctypes.c_void_p) for name in ("pieces", "piece_scales", "types", "positions")),
        ("norm", ctypes.c_void_p),
        ("layers", ctypes.POINTER(_Layer)),
        ("epsilon", ctypes.c_float),
    ]


@dataclass(frozen=True, slots=True)
class JoinedTexts:
    """The tokens of several texts, one after another."""

    ids: Ids
    kinds: Ids
    lengths: Ids

    @property
    def starts(self) -> Ids:
        """The place of each text's first token."""
        return np.cumsum(self.lengths) - self.lengths


def has_transformer(library: ctypes.CDLL) -> bool:
    """Return whether this processor can run encoders in the kernel: it has AVX-512 VNNI."""
    return bool(bind_function(library, "has_transformer", "")())


class KernelEncoder:
    """An encoder with its weights packed for this processor; safe from many threads."""

    def __init__(self, library: ctypes.CDLL, weights: EncoderWeights) -> None:
        """Pack the weights; the library must have a transformer (`has_transformer`)."""
        self.width = weights.pieces.shape[1]
        self.max_tokens = len(weights.positions)
        self._encode = bind_function(library, "encode_texts", "ppppipp")
        self._measure = bind_function(library, "measure_room", "pii")
        self._average = bind_function(library, "average_states", "pippiip")
        self._pack = bind_function(library, "pack_weights", "piipp")
        self._limits = (len(weights.pieces), len(weights.types))
        self._kept: list[NDArray[Any]] = []
        self._workspaces: deque[NDArray[np.uint8]] = deque()
        self._layers = (_Layer * len(weights.layers))(*map(self._build_layer, weights.layers))
        self._model = _Encoder(
            self.width,
            weights.layers[0].inner.whole.shape[1],
            weights.heads,
            len(weights.layers),
            self._keep(weights.pieces),
            self._keep(weights.piece_scales),
            self._keep(weights.types),
            self._keep(weights.positions),
            self._keep(weights.norm),
            self._layers,
            weights.epsilon,
        )

    def encode(self, texts: JoinedTexts, read: Callable[[Matrix], Result]) -> Result:
        """Encode texts, and return what `read` makes of the last states of all tokens, (T, E).

        The states are part of a workspace that later calls use again, because the system clears
        new memory page by page.  No text's states depend on the others.

        Raises:
            ValueError: a text is too long, an id or kind is out of range, or there are more or
                fewer of them than the lengths say.
        """
        pieces, kinds = self._limits
        tokens, longest = len(texts.ids), int(texts.lengths.max())
        if longest > self.max_tokens or texts.lengths.min() < 1:
            raise ValueError(f"a text has {longest} tokens; it may have 1 to {self.max_tokens}")
        if not (total := int(texts.lengths.sum())) == tokens == len(texts.kinds):
            found = f"{tokens} ids and {len(texts.kinds)} kinds"
            raise ValueError(f"the texts have {total} tokens together, but {found}")
        if texts.ids.min() < 0 or texts.ids.max() >= pieces:
            raise ValueError(f"a token's id is not below {pieces}")
        if kinds > 1 and (texts.kinds.min() < 0 or texts.kinds.max() >= kinds):
            raise ValueError(f"a token's kind is not below {kinds}")
        model = ctypes.addressof(self._model)
        size = 4 * tokens * self.width
        workspace = self._borrow(size + self._measure(model, tokens, longest))
        states = workspace[:size].view(np.float32).reshape(tokens, self.width)
        own = texts.kinds if kinds > 1 else np.zeros_like(texts.kinds)
        lengths = texts.lengths
        self._encode(model, texts.ids, own, lengths, len(lengths), workspace[size:], states)
        result = read(states)
        self._workspaces.append(workspace)
        return result

    def average(self, states: Matrix, texts: JoinedTexts, kind: int | None = None) -> Matrix:
        """Return the mean state of each text's tokens of a kind, or of all, (texts, E)."""
        means = np.empty((len(texts.lengths), self.width), dtype=np.float32)
        wanted = -1 if kind is None else kind
        lengths = texts.lengths
        self._average(states, self.width, texts.kinds, lengths, len(lengths), wanted, means)
        return means

    def _borrow(self, size: int) -> NDArray[np.uint8]:
        """Return a workspace that no other call uses."""
        try:
            workspace = self._workspaces.pop()
        except IndexError:
            return _allocate(size)
        return workspace if len(workspace) >= size else _allocate(size)

    def _build_layer(self, layer: LayerWeights) -> _Layer:
        return _Layer(
            self._build_product(layer.projections),
            self._build_product(layer.joined),
            self._build_product(layer.inner),
            self._build_product(layer.outer, is_activated=True),
            self._keep(layer.joined_norm),
            self._keep(layer.outer_norm),
        )

    def _build_product(self, weights: LinearWeights, *, is_activated: bool = False) -> _Product:
        depth, columns = weights.whole.shape
        panels = _allocate(depth * columns)
        totals = np.empty(columns, dtype=np.int32)
        self._pack(np.ascontiguousarray(weights.whole), depth, columns, panels, totals)
        self._kept.append(panels)
        start, bias = -ZERO_POINT * totals, weights.bias
        if is_activated:
            start, bias = np.zeros_like(totals), bias + LOWEST_GELU * totals * weights.scales
        return _Product(
            panels.ctypes.data,
            self._keep(start.astype(np.int32)),
            self._keep(weights.scales),
            self._keep(bias.astype(np.float32)),
        )

    def _keep(self, array: NDArray[Any]) -> int:
        """Copy an array to the start of a line; return its address."""
        copied = _allocate(array.nbytes)
        copied[:] = np.ascontiguousarray(array).view(np.uint8).reshape(-1)
        self._kept.append(copied)
        return copied.ctypes.data


def _allocate(size: int) -> NDArray[np.uint8]:
    room = np.empty(size + LINE, dtype=np.uint8)
    first = -room.ctypes.data % LINE
    return room[first : first + size]
