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


Bytes = NDArray[np.uint8]
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

    @property
    def products(self) -> tuple[LinearWeights, ...]:
        """The linear layers, in the order of the kernel."""
        return self.projections, self.joined, self.inner, self.outer

    @property
    def norms(self) -> tuple[Matrix, ...]:
        """The norms, in the order of the kernel."""
        return self.joined_norm, self.outer_norm


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

    @property
    def tables(self) -> tuple[NDArray[Any], ...]:
        """The arrays beside the layers, in the order of the kernel."""
        return self.pieces, self.piece_scales, self.types, self.positions, self.norm

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

    def __init__(
        self, library: ctypes.CDLL, weights: EncoderWeights, packed: Bytes | None = None
    ) -> None:
        """Take packed weights, or pack them; the library must have a transformer.

        Args:
            packed: what `pack_encoder` has returned for the same weights.
        """
        self.width = weights.pieces.shape[1]
        self.max_tokens = len(weights.positions)
        self._encode = bind_function(library, "encode_texts", "ppppipp")
        self._measure = bind_function(library, "measure_room", "pii")
        self._average = bind_function(library, "average_states", "pippiip")
        self._limits = (len(weights.pieces), len(weights.types))
        self._workspaces: deque[Bytes] = deque()
        self._packed = pack_encoder(library, weights) if packed is None else packed
        if len(self._packed) != measure_packed(weights) or self._packed.ctypes.data % LINE:
            raise ValueError("the packed weights are those of another encoder")
        lines = _Lines(self._packed)
        tables = [lines.take(table.nbytes).ctypes.data for table in weights.tables]
        layers = [_locate_layer(layer, lines) for layer in weights.layers]
        self._layers = (_Layer * len(layers))(*layers)
        self._model = _Encoder(
            self.width,
            weights.layers[0].inner.whole.shape[1],
            weights.heads,
            len(weights.layers),
            *tables,
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

    def _borrow(self, size: int) -> Bytes:
        """Return a workspace that no other call uses."""
        try:
            workspace = self._workspaces.pop()
        except IndexError:
            return _allocate(size)
        return workspace if len(workspace) >= size else _allocate(size)


def pack_encoder(library: ctypes.CDLL, weights: EncoderWeights) -> Bytes:
    """Return the weights of an encoder as the kernel reads them, which any process may map.

    One array after another, each from the start of a line: tables, then the layers.
    """
    pack = bind_function(library, "pack_weights", "piipp")
    packed = _allocate(measure_packed(weights))
    lines = _Lines(packed)
    for table in weights.tables:
        lines.put(table)
    for layer in weights.layers:
        for product in layer.products:
            _pack_product(pack, product, lines, is_activated=product is layer.outer)
        for norm in layer.norms:
            lines.put(norm)
    return packed


def measure_packed(weights: EncoderWeights) -> int:
    """Return the bytes of the packed weights."""
    sizes = [table.nbytes for table in weights.tables]
    for layer in weights.layers:
        sizes += [size for product in layer.products for size in _list_sizes(product)]
        sizes += [norm.nbytes for norm in layer.norms]
    return sum(map(_to_lines, sizes))


class _Lines:
    """Divides memory into arrays that begin with a line."""

    def __init__(self, room: Bytes) -> None:
        self._room = room
        self._at = 0

    def take(self, size: int) -> Bytes:
        """Return the next so many bytes."""
        first, self._at = self._at, self._at + _to_lines(size)
        return self._room[first : first + size]

    def put(self, array: NDArray[Any]) -> None:
        """Copy an array into the next bytes."""
        self.take(array.nbytes)[:] = np.ascontiguousarray(array).view(np.uint8).reshape(-1)


def _pack_product(
    pack: Callable[..., int], weights: LinearWeights, lines: _Lines, *, is_activated: bool
) -> None:
    depth, columns = weights.whole.shape
    totals = np.empty(columns, dtype=np.int32)
    panels = lines.take(depth * columns)
    pack(np.ascontiguousarray(weights.whole), depth, columns, panels, totals)
    start, bias = -ZERO_POINT * totals, weights.bias
    if is_activated:
        start, bias = np.zeros_like(totals), bias + LOWEST_GELU * totals * weights.scales
    lines.put(start.astype(np.int32))
    lines.put(weights.scales)
    lines.put(bias.astype(np.float32))


def _list_sizes(weights: LinearWeights) -> list[int]:
    """Return the bytes of the arrays of a packed product: panels, start, scales and bias."""
    columns = weights.whole.shape[1]
    return [weights.whole.size, 4 * columns, 4 * columns, 4 * columns]


def _locate_layer(layer: LayerWeights, lines: _Lines) -> _Layer:
    def locate(size: int) -> int:
        return lines.take(size).ctypes.data

    products = [_Product(*map(locate, _list_sizes(product))) for product in layer.products]
    return _Layer(*products, *(locate(norm.nbytes) for norm in layer.norms))


def _to_lines(size: int) -> int:
    """Return a number of bytes in whole lines."""
    return -(-size // LINE) * LINE


def _allocate(size: int) -> Bytes:
    room = np.empty(size + LINE, dtype=np.uint8)
    first = -room.ctypes.data % LINE
    return room[first : first + size]
