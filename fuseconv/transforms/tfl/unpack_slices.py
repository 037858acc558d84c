"""Slices that take the elements of one dimension, one each -> one UNPACK.

    x[..., 0], x[..., 1], x[..., 2]  ->  UNPACK(x, axis=-1)

Code that decodes boxes, coordinates or states writes such columns. No delegate takes the slices; UNPACK takes half of
their time, and a tensor of the file each instead of an op. It wants data that is not empty, hence known sizes. Integers
of 32 and 64 bits are left, as these may be sizes, of which LiteRT knows slices ahead.
"""

from __future__ import annotations

from fuseconv.facts import TFL_ONLY
from fuseconv.ir import types
from fuseconv.ir.graph import Graph, Module, Op, Value
from fuseconv.ir.rewriter import rewrite_ops
from fuseconv.pass_manager import module_pass
from fuseconv.tfl.builder import Builder
from fuseconv.transforms.tfl.bubble_up_slices import slice_part

_KINDS = frozenset({"tfl.STRIDED_SLICE"})
_TYPES = frozenset({types.FLOAT32, types.INT8, types.UINT8, types.INT16})
# A value and the axis of which elements are taken.
_Source = tuple[Value, int]


@module_pass("unpack-slices", requires=(TFL_ONLY,), kinds=_KINDS)
def unpack_slices(module: Module) -> None:
    """Take most elements of a dimension at once: x[:, 0], x[:, 1] -> UNPACK(x). Requires data of known sizes."""
    for graph in module.graphs():
        columns = _columns(graph)
        places: dict[_Source, set[int]] = {}
        for source, place in columns.values():
            places.setdefault(source, set()).add(place)
        columns = {op: at for op, at in columns.items() if 2 <= len(places[at[0]]) > _size(at[0]) / 2}
        if columns:
            _unpack(graph, columns)


def _size(source: _Source) -> int:
    value, axis = source
    return int(value.shape[axis])  # type: ignore[index, arg-type]


def _columns(graph: Graph) -> dict[Op, tuple[_Source, int]]:
    """Return the slices that take one element of one dimension, what of, and its place there."""
    found: dict[Op, tuple[_Source, int]] = {}
    for op in graph.ops:
        x = op.operands[0] if op.kind in _KINDS else None
        if x is None or x.is_const or x.dtype not in _TYPES or not x.is_static or 0 in x.shape:  # type: ignore[operator]
            continue
        part = slice_part(op)
        if part is not None and op.result.shape == x.shape[: part.axis] + x.shape[part.axis + 1 :]:  # type: ignore[index]
            found[op] = (x, part.axis), part.begin
    return found


def _unpack(graph: Graph, columns: dict[Op, tuple[_Source, int]]) -> None:
    unpacked: dict[_Source, list[Value]] = {}
    names: dict[_Source, dict[str, None]] = {}
    for op, (source, _) in columns.items():
        names.setdefault(source, {}).update(dict.fromkeys(op.sources))

    def element(op: Op, out: list[Op]) -> list[Value] | None:
        if op not in columns:
            return None
        source, place = columns[op]
        if source not in unpacked:
            x, axis = source
            tfl = Builder(out, op.name, tuple(names[source]))
            unpacked[source] = tfl.op("UNPACK", (x,), {"num": _size(source), "axis": axis})
        made = unpacked[source][place]
        made.quantization = op.result.quantization
        return [made]

    rewrite_ops(graph, _KINDS, element)
