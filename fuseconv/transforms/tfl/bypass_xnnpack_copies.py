"""Keep from XNNPACK the copies between LiteRT's memory and its own, which it may leave out.

LiteRT may move its tensors in a run with tensors of dynamic size, or as it allocates them anew. XNNPACK's parts of a
graph share memory; where it grows, XNNPACK sets the other parts up again, with the places that LiteRT's tensors had.
Where such a place happens to be that of the new memory, a copy from the one to the other counts as needless, and is
left out until the next resize (`xnn_setup_copy_nc_x32`, `runtime.c`). Up to one run in ten is wrong then.

XNNPACK copies for RESHAPE, for the first parts of CONCATENATION and SPLIT, and for FULLY_CONNECTED without
`keep_num_dims`, also where no dimension changes. What a SHAPE reads is LiteRT's, so that nothing is XNNPACK's own.
"""

from __future__ import annotations

from fuseconv.facts import TFL_ONLY
from fuseconv.ir import dims, types
from fuseconv.ir.graph import Graph, Module, Op, Value
from fuseconv.pass_manager import module_pass
from fuseconv.targets.signature import signature_of
from fuseconv.targets.xnnpack import TARGETS
from fuseconv.tfl.builder import Builder
from fuseconv.tfl.opdef import TABLE
from fuseconv.tfl.traits import CONTROL_FLOW
from fuseconv.transforms.tfl.legalize_outputs import INDEXED, SIZED_BY_DATA
from fuseconv.transforms.tfl.presize_states import are_known_ahead

_DENSE = "tfl.FULLY_CONNECTED"
# Ops that XNNPACK makes of copies, with the operand that it copies to the place of the first result.
_COPIES = {"tfl.RESHAPE": 0, "tfl.CONCATENATION": 0, "tfl.SPLIT": 1}
(_XNNPACK,) = TARGETS
# Ops of whose indices some tell places, and others sizes: the one that tells places.
_PLACES = dict.fromkeys(("ONE_HOT", "SCATTER_ND", "SPARSE_TO_DENSE"), 0) | {
    f"UNSORTED_SEGMENT_{name}": 1 for name in ("SUM", "PROD", "MAX", "MIN")
}


@module_pass("bypass-xnnpack-copies", requires=(TFL_ONLY,), kinds={_DENSE, *_COPIES})
def bypass_xnnpack_copies(module: Module) -> bool:
    """Spare XNNPACK copies of what LiteRT may move: FULLY_CONNECTED(x [n,4]) -> FULLY_CONNECTED(x) {keep_num_dims}.

    So it is where sizes are unknown. In runs with tensors of dynamic size, what is copied at the border of XNNPACK's
    parts becomes LiteRT's too: y = RESHAPE(x) -> y = RESHAPE(x); SHAPE(y). Returns whether there was such an op."""
    graphs = list(module.graphs())
    if all(result.is_static for graph in graphs for op in graph.ops for result in op.results):
        return False
    moves = any(_moves(graph) for graph in graphs)
    changed = False
    for graph in graphs:
        out: list[Op] = []
        border = _Border(graph)
        for op in graph.ops:
            changed |= op.kind == _DENSE and _keeps_dimensions(op, out, border if moves else None)
            out.append(op)
        if moves:
            border = _Border(graph)
            shapes = {op: shape for op in out if (shape := _shape_of_inner_end(op, border)) is not None}
            out = [each for op in out for each in (op, shapes.get(op)) if each is not None]
        changed |= len(out) > len(graph.ops)
        graph.ops = out
    return changed


class _Border:
    """Which values of a graph are LiteRT's, and which are XNNPACK's own: those that only ops make and read which it
    runs."""

    def __init__(self, graph: Graph) -> None:
        self._taken: dict[Op, bool] = {}
        self._inner: dict[Value, bool] = dict.fromkeys([*graph.inputs, *graph.outputs], False)

    def takes(self, op: Op) -> bool:
        """Return whether XNNPACK runs an op."""
        if op not in self._taken:
            self._taken[op] = op.dialect == "tfl" and _XNNPACK.refusal(signature_of(op)) is None
        return self._taken[op]

    def is_inner(self, value: Value) -> bool:
        if value not in self._inner:
            ends = [value.op, *value.uses]
            self._inner[value] = all(op is not None and self.takes(op) for op in ends)
        return self._inner[value]


def _keeps_dimensions(op: Op, out: list[Op], border: _Border | None) -> bool:
    """Let a dense layer's result have the dimensions of its data; return whether it does so now.

    border: where tensors move, RESHAPE merges the dimensions of data that is LiteRT's, if they are more."""
    x, y = op.operands[0], op.result
    if op.attrs.get("keep_num_dims") or x is None or x.shape is None or y.shape is None:
        return False
    if x.shape[:-1] != y.shape[:-1]:
        weights = op.operands[1]
        if border is None or weights is None or weights.shape is None or not border.takes(op) or border.is_inner(x):
            return False
        tfl = Builder(out, op.name, op.sources)
        depth = weights.shape[1]
        (rows,) = tfl.typed_op("RESHAPE", [x, tfl.ints([-1, depth])], [(x.dtype, (y.shape[0], depth))], {})  # type: ignore[list-item]
        rows.quantization = x.quantization
        op.set_operand(0, rows)
    op.attrs = op.attrs | {"keep_num_dims": True}
    return True


def _shape_of_inner_end(op: Op, border: _Border) -> Op | None:
    """Return a SHAPE of that end of a copy which is XNNPACK's own memory, if the other end is not."""
    if op.kind not in _COPIES or not border.takes(op):
        return None
    x, y = op.operands[_COPIES[op.kind]], op.results[0]
    if x is None or x.is_const or border.is_inner(x) is border.is_inner(y):
        return None
    inner = x if border.is_inner(x) else y
    shape = Op("tfl.SHAPE", [inner], {"out_type": "INT32"}, op.name, op.sources)
    shape.add_result(types.INT32, (dims.fresh() if inner.rank is None else inner.rank,))
    return shape


def _moves(graph: Graph) -> bool:
    """Return whether LiteRT learns sizes of a graph's tensors in the midst of a run, and allocates those behind."""
    known: set[Value] = set()
    return any(not are_known_ahead(_sizes(op), known) for op in graph.ops) or any(_tells_sizes(op) for op in graph.ops)


def _sizes(op: Op) -> list[Value | None]:
    """Return the operands that tell the sizes of an op's results, rather than places of elements."""
    if op.type not in TABLE or op.type in INDEXED:
        return []
    indices = TABLE[op.type].indices - {_PLACES.get(op.type)}
    return [op.operands[index] for index in indices if index < len(op.operands)]


def _tells_sizes(op: Op) -> bool:
    """Return whether the sizes of an op's results are known once it has run: by its data, or by what a branch or loop
    did."""
    if op.type == "RANGE":
        return not all(value is not None and value.is_const for value in op.operands)
    if op.type not in CONTROL_FLOW:
        return op.type in SIZED_BY_DATA or op.type == "SEGMENT_SUM"
    sizes = [size for result in op.results for size in result.shape or ()]
    return any(name.startswith("?") for size in sizes for name in dims.plain_names(size))
