"""Forms of slices and paddings: without masks, and of 3 or 4 dimensions."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from fuseconv.ir.graph import Op, Value
from fuseconv.ir.slice_spec import Pick, SliceSpec, Take
from fuseconv.targets.forms.shapes import known_shape
from fuseconv.tfl.builder import Builder

_FEWEST, _MOST = 3, 4
_Span = tuple[int, int, int]  # begin, end and step of a dimension


def strided_slice(tfl: Builder, op: Op, fewest: int = _FEWEST) -> list[Value] | None:
    """STRIDED_SLICE(x) with masks, or of another rank -> RESHAPE(STRIDED_SLICE(RESHAPE(x))) of 3 or 4 dimensions."""
    found = _packed_spans(op, fewest)
    if found is None:
        return None
    x, sizes, bounds = found
    begin, end, step = (list(items) for items in zip(*bounds))
    part = tfl.strided_slice(tfl.reshape(x, sizes), begin, end, step)
    return [tfl.reshape(part, known_shape(op.result))]


def strided_slice_of_four(tfl: Builder, op: Op) -> list[Value] | None:
    """STRIDED_SLICE(x[2,5,3]) -> RESHAPE(STRIDED_SLICE(RESHAPE(x, [1,2,5,3]))): of an image."""
    return strided_slice(tfl, op, _MOST)


def pad_of_four(tfl: Builder, op: Op) -> list[Value] | None:
    """PAD(x[2,5,3]) -> RESHAPE(PAD(RESHAPE(x, [1,2,5,3]))): of an image."""
    return pad(tfl, op, _MOST)


def padded_before(tfl: Builder, op: Op) -> list[Value] | None:
    """SPACE_TO_BATCH_ND(x, block, paddings) -> SPACE_TO_BATCH_ND(PAD(x, paddings), block, zeros)."""
    x, block, paddings = op.operands
    if x is None or x.rank is None or paddings is None or paddings.data is None or op.result.quantization:
        return None
    amounts = np.zeros((x.rank, 2), np.int32)
    amounts[1 : 1 + len(paddings.data)] = paddings.data
    return tfl.op(op.type, (tfl.pad(x, amounts), block, np.zeros_like(paddings.data)), dict(op.attrs))


def slice_of_ones(tfl: Builder, op: Op) -> list[Value] | None:
    """SLICE(x) or STRIDED_SLICE(x) in steps of one -> RESHAPE(SLICE(RESHAPE(x))) of 3 or 4 dimensions."""
    found = _packed_spans(op)
    if found is None or any(step != 1 for _, _, step in found[2]):
        return None
    x, sizes, bounds = found
    part = tfl.slice_(tfl.reshape(x, sizes), [low for low, _, _ in bounds], [high - low for low, high, _ in bounds])
    return [tfl.reshape(part, known_shape(op.result))]


def _packed_spans(op: Op, fewest: int = _FEWEST) -> tuple[Value, list[int], list[tuple]] | None:
    """Return what a slice reads, and in 3 or 4 dimensions its sizes and what is taken of each."""
    found = _spans(op)
    if found is None:
        return None
    x, before, spans = found
    sizes, bounds = _packed(before, spans, lambda size, span: span == (0, size, 1), (0, 1, 1), fewest)
    return (x, sizes, bounds) if len(sizes) <= _MOST else None


def _spans(op: Op) -> tuple[Value, list[int], list[_Span]] | None:
    """Return what a slice reads, its sizes, and what is taken of each dimension in steps of one or more."""
    x, spec = op.operands[0], SliceSpec.of(op)
    before = None if x is None else known_shape(x)
    if x is None or before is None or spec is None or known_shape(op.result) is None or 0 in op.result.shape:  # type: ignore[operator]
        return None
    entries = spec.unfold(len(before))
    taken = [entry for entry in entries or () if isinstance(entry, (Take, Pick))]
    spans: list[_Span] = []
    for size, entry in zip(before, taken):
        bounds = (entry.index,) if isinstance(entry, Pick) else (entry.begin, entry.end)
        if not all(bound is None or isinstance(bound, int) for bound in (*bounds, entry.stride)) or entry.stride < 1:
            return None
        if isinstance(entry, Pick):
            spans.append((entry.index % size, entry.index % size + 1, 1))
        else:
            spans.append(slice(entry.begin, entry.end, entry.stride).indices(size))
    return (x, before, spans) if len(spans) == len(before) else None


def pad(tfl: Builder, op: Op, fewest: int = _FEWEST) -> list[Value] | None:
    """PAD, PADV2 or MIRROR_PAD(x) of another rank -> RESHAPE(PAD(RESHAPE(x))) of 3 or 4 dimensions."""
    x, paddings = op.operands[:2]
    before, after = (None if value is None else known_shape(value) for value in (x, op.result))
    if x is None or before is None or after is None or paddings is None or paddings.data is None:
        return None
    amounts = [(int(low), int(high)) for low, high in paddings.data]
    sizes, packed = _packed(before, amounts, lambda size, amount: amount == (0, 0), (0, 0), fewest)
    if len(sizes) > _MOST or len(sizes) == len(before):
        return None
    operands = tfl.reshape(x, sizes), np.array(packed, np.int32), *op.operands[2:]
    return [tfl.reshape(tfl.op(op.type, operands, dict(op.attrs))[0], after)]


def _packed(
    sizes: Sequence[int], items: Sequence[tuple], is_whole: Callable[[int, tuple], bool], one: tuple, fewest: int
) -> tuple[list[int], list[tuple]]:
    """Return sizes and what is done along them: neighbors that are left whole merged where there are too many, and
    dimensions of one in front where there are too few. one: what is done along these."""
    shape, done = list(sizes), list(items)
    index = len(shape) - 2
    while index >= 0 and len(shape) > _MOST:
        if is_whole(shape[index], done[index]) and is_whole(shape[index + 1], done[index + 1]):
            shape[index : index + 2] = [shape[index] * shape[index + 1]]
            done[index : index + 2] = [(0, shape[index], 1) if len(one) == 3 else one]
        index -= 1
    missing = max(fewest - len(shape), 0)
    return [1] * missing + shape, [one] * missing + done


FORMS = {
    "STRIDED_SLICE": (strided_slice, slice_of_ones, strided_slice_of_four), "SLICE": (slice_of_ones,),
    "SPACE_TO_BATCH_ND": (padded_before,), **dict.fromkeys(("PAD", "PADV2", "MIRROR_PAD"), (pad, pad_of_four)),
}  # fmt: skip
