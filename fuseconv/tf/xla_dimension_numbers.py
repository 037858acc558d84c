"""Dimension numbers of XLA's operations: the dimensions that a product, a convolution and a gather go along.

The dimension numbers are messages of xla_data.proto, whose fields here are all numbers, single or repeated.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

_VARINT, _BYTES = 0, 2
_MOST_BITS = 70


class Dot(NamedTuple):
    """DotDimensionNumbers: the dimensions of each side that are summed over, and those of a batch."""

    lhs_contracting: tuple[int, ...]
    rhs_contracting: tuple[int, ...]
    lhs_batch: tuple[int, ...]
    rhs_batch: tuple[int, ...]

    @staticmethod
    def parse(message: str | bytes) -> Dot:
        fields = _fields(message)
        return Dot(*(tuple(fields.get(number, ())) for number in (1, 2, 3, 4)))

    def free(self, rank: int, rhs: bool) -> list[int]:
        """Return the free dimensions of a side: neither batched nor contracted."""
        taken = self.rhs_contracting + self.rhs_batch if rhs else self.lhs_contracting + self.lhs_batch
        return [axis for axis in range(rank) if axis not in taken]


class Convolution(NamedTuple):
    """ConvolutionDimensionNumbers: batch, spatial dimensions and features of the input and of the output; spatial
    dimensions, input features and output features of the kernel."""

    input: tuple[int, ...]
    kernel: tuple[int, ...]
    output: tuple[int, ...]

    @staticmethod
    def parse(message: str | bytes) -> Convolution:
        fields = _fields(message)
        # A number that is 0 is not written.
        numbers = {key: fields.get(key, [0])[0] for key in (3, 4, 7, 8, 9, 10)}
        return Convolution(
            (numbers[7], *fields.get(11, ()), numbers[8]),
            (*fields.get(6, ()), numbers[3], numbers[4]),
            (numbers[9], *fields.get(12, ()), numbers[10]),
        )


class Gather(NamedTuple):
    """GatherDimensionNumbers."""

    # Where the dimensions of a slice are in the result, and which of them are left out.
    offset: tuple[int, ...]
    collapsed: tuple[int, ...]
    # The operand's dimension that each number of an index is for, and the indices' dimension that an index goes along.
    index_map: tuple[int, ...]
    index_vector: int
    # The dimensions of the operand that go together with dimensions of the indices.
    operand_batching: tuple[int, ...]

    @staticmethod
    def parse(message: str | bytes) -> Gather:
        fields = _fields(message)
        offset, collapsed, index_map, operand = (tuple(fields.get(number, ())) for number in (1, 2, 3, 5))
        return Gather(offset, collapsed, index_map, fields.get(4, [0])[0], operand)


def _fields(message: str | bytes) -> dict[int, list[int]]:
    """Return the numbers of each field of a message, by the field's number."""
    data = message.encode() if isinstance(message, str) else message
    fields: dict[int, list[int]] = {}
    numbers = _varints(data)
    for place, key in numbers:
        field, kind = fields.setdefault(key >> 3, []), key & 7
        if kind == _BYTES:
            place, length = _next(numbers)
            end = place + length
            while place < end:
                place, number = _next(numbers)
                field.append(number)
        elif kind == _VARINT:
            field.append(_next(numbers)[1])
        else:
            raise ValueError(f"a dimension number of the wire type {kind}")
    return fields


def _next(numbers: Iterator[tuple[int, int]]) -> tuple[int, int]:
    for found in numbers:
        return found
    raise ValueError("dimension numbers end within a field")


def _varints(data: bytes) -> Iterator[tuple[int, int]]:
    """Yield the numbers of seven bits a byte, each with the place behind it."""
    number = shift = 0
    for place, byte in enumerate(data):
        number |= (byte & 0x7F) << shift
        shift += 7
        if shift > _MOST_BITS:
            raise ValueError(f"a dimension number of more than {_MOST_BITS} bits")
        if byte < 0x80:
            yield place + 1, number
            number = shift = 0
