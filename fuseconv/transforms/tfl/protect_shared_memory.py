"""Copies of what LiteRT's kernels would write over before all have read it.

The runtime lets a RESHAPE, and what else only renames elements, share its operand's memory, and an ADD and its like
write over an operand that nobody else reads. It counts the readers of the operand, and of the tensor whose memory that
is (`IdentifyInPlaceTensors` of arena_planner.cc), but not those of the tensors between the two. So it is wrong on

    a = MUL(x, y)       # written over x, if nobody else reads that
    b = RESHAPE(a)      # shares the memory of a, which is that of x
    c = ADD(b, z)       # written over x once more, for one op each reads b and x: but a is read below
    d = SUM(a)

where no delegate runs these ops. A delegate may also run what reads `a` later than the order of the ops says.
"""

from __future__ import annotations

from fuseconv.facts import TFL_ONLY
from fuseconv.ir import types
from fuseconv.ir.dims import product
from fuseconv.ir.graph import Graph, Module, Op, Value
from fuseconv.pass_manager import module_pass
from fuseconv.tfl.builder import Builder
from fuseconv.tfl.traits import SHARE_MEMORY, WRITE_IN_PLACE
from fuseconv.transforms.tfl.legalize_outputs import copied
from fuseconv.transforms.tfl.pretranspose_matmul import has_moving_states

_SHARING = frozenset(f"tfl.{name}" for name in SHARE_MEMORY)
# Smaller tensors are not written over.
_LEAST_BYTES = 5


@module_pass("protect-shared-memory", requires=(TFL_ONLY,), kinds=_SHARING)
def protect_shared_memory(module: Module) -> None:
    """Copy what would be written over while others still read it: ADD(RESHAPE(x), y) -> ADD(SLICE(RESHAPE(x)), y)."""
    for graph in module.graphs():
        if not graph.kinds.isdisjoint(_SHARING):
            _protect(graph, module)


def _protect(graph: Graph, module: Module) -> None:
    """Copy operands, in the order of the ops, where the memory that an op writes over is read by others."""
    out: list[Op] = []
    sharing: set[Value] = set()  # tensors whose memory may be another's
    exposed: set[Value] = set()  # and those of them whose memory others read, of which the runtime does not know
    for op in graph.ops:
        lenders = _lenders(graph, op)
        if lenders and op.type in WRITE_IN_PLACE and not exposed.isdisjoint(lenders):
            tfl = Builder(out, op.name, op.sources)
            # States have a size before a run, unless what comes before them has none (`presize_states`).
            ahead = any(has_moving_states(signature.graph) for signature in module.signatures)
            copies = {value: _copy(tfl, value, ahead) for value in lenders if value in exposed}
            op.set_operands([copies.get(value, value) if value is not None else None for value in op.operands])
            lenders = _lenders(graph, op)
        out.append(op)
        if not lenders:
            continue
        sharing.add(op.result)
        # The readers of the tensor whose memory it is the runtime counts, if those are several.
        uncounted = any(_readers(value) == 1 or value in sharing for value in lenders)
        if (_readers(op.result) > 1 and uncounted) or not exposed.isdisjoint(lenders):
            exposed.add(op.result)
    graph.ops = out


def _lenders(graph: Graph, op: Op) -> list[Value]:
    """Return the operands in one of whose memory the runtime may put an op's result."""
    shares = op.type in SHARE_MEMORY
    count = 1 if shares else WRITE_IN_PLACE.get(op.type, 0)
    # Neither what graphs take and return nor constants.
    if not count or graph.terminator in op.result.uses:
        return []
    made = [value for value in op.operands[:count] if value is not None and value.op is not None]
    return made if shares else [value for value in made if _may_be_overwritten(value, op.result)]


def _may_be_overwritten(operand: Value, result: Value) -> bool:
    if _readers(operand) > 1:
        return False
    if not (operand.is_static and result.is_static):
        return True
    size, made = (value.dtype.numpy.itemsize * product(value.shape or ()) for value in (operand, result))
    return size == made and isinstance(size, int) and size >= _LEAST_BYTES


def _readers(value: Value) -> int:
    return sum(value.uses.values())


def _copy(tfl: Builder, value: Value, ahead: bool) -> Value:
    if not value.dtype.is_complex:
        copy = copied(tfl, value, ahead)
        copy.quantization = value.quantization
        return copy
    # SLICE knows no complex numbers.
    pairs = tfl.bitcast(value, results=[(types.FLOAT32, (*(value.shape or ()), 2))])
    return tfl.bitcast(copied(tfl, pairs, ahead), results=[(value.dtype, value.shape)])
