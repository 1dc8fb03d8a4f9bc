"""Reads the weights of an ONNX file without onnx, whose package is not part of the core.

An ONNX file is a protocol buffer: fields, each with a number and a wire type.  Here only the path
to the weights is followed: the model's graph (field 7), its initializers (field 5), and of these
dimensions, element type, name and raw data.
"""

from collections.abc import Iterator
from mmap import mmap
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
GRAPH, INITIALIZER = 7, 5
DIMENSIONS, ELEMENT_TYPE, NAME, RAW_DATA = 1, 2, 8, 9
VARINT, EIGHT_BYTES, BYTES, FOUR_BYTES = 0, 1, 2, 5
"""The wire types of fields."""
ELEMENT_TYPES = {1: "<f4", 2: "u1", 3: "i1", 6: "<i4", 7: "<i8"}


def read_weights(content: bytes | mmap) -> dict[str, Array]:
    """Return the weights of an ONNX file by name, as views of its content.

    Tensors of other element types, or whose data are not raw bytes in the file, are left out.

    Raises:
        ValueError: the file is corrupt.
    """
    weights = {}
    try:
        for number, graph in list_fields(memoryview(content)):
            if number != GRAPH:
                continue
            for number_inside, tensor in list_fields(graph):
                if number_inside == INITIALIZER:
                    name, array = _read_tensor(tensor)
                    if array is not None:
                        weights[name] = array
    except (IndexError, OverflowError, TypeError, UnicodeDecodeError) as error:
        raise ValueError(f"the file is truncated or corrupt: {error}") from error
    return weights


def _read_tensor(content: memoryview) -> tuple[str, Array | None]:
    name, kind, shape, data = "", "", [], None
    for number, value in list_fields(content):
        if number == DIMENSIONS:
            shape += [value] if isinstance(value, int) else read_varints(value)
        elif number == ELEMENT_TYPE:
            kind = ELEMENT_TYPES.get(value, "")
        elif number == NAME:
            name = bytes(value).decode()
        elif number == RAW_DATA:
            data = value
    if data is None or not kind:
        return name, None
    return name, np.frombuffer(data, dtype=kind).reshape(shape)


def list_fields(content: memoryview) -> Iterator[tuple[int, Any]]:
    """Yield the number and the value of each field of a message: an integer or bytes.

    Raises:
        ValueError, IndexError: the message is corrupt.
    """
    at = 0
    while at < len(content):
        key, at = _read_varint(content, at)
        if key >> 32:  # other readers keep the lower bits, and find another field
            raise ValueError("a field has a number of more than 29 bits")
        number, wire_type = key >> 3, key & 7
        if wire_type == VARINT:
            value, at = _read_varint(content, at)
            yield number, value
            continue
        if wire_type == BYTES:
            size, at = _read_varint(content, at)
        elif wire_type in (EIGHT_BYTES, FOUR_BYTES):
            size = 8 if wire_type == EIGHT_BYTES else 4
        else:
            raise ValueError(f"unknown wire type {wire_type}")
        if at + size > len(content):
            raise ValueError("a field is longer than the file")
        yield number, content[at : at + size]
        at += size


def _read_varint(content: memoryview, at: int) -> tuple[int, int]:
    """Return a number in groups of seven bits, and where the next field begins."""
    value = shift = 0
    while True:
        byte = content[at]
        value |= (byte & 127) << shift
        at += 1
        if byte < 128:
            return value, at
        shift += 7
        if shift > 63:
            raise ValueError("a number has more than 64 bits")


def read_varints(content: memoryview) -> list[int]:
    """Return integers that are packed into one field."""
    numbers, at = [], 0
    while at < len(content):
        number, at = _read_varint(content, at)
        numbers.append(number)
    return numbers
