"""Products of recurrent layers, which take floats and quantize each row of them as it comes (hybrid kernels).

What a step of a loop multiplies, it makes of the products of the step before. With scales from samples, each step
rounds input, state and both products to 8 bits of the range of all that was ever met there. A row alone spans less, and
sums of its products stay floats, as the gates that read them are. On a CPU that takes no longer.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Sequence, Set

from fuseconv.ir import types
from fuseconv.ir.graph import Graph, Module, Op, Value
from fuseconv.quantize.copies import FEWEST_STEPS, kinds_of
from fuseconv.quantize.loops import loops
from fuseconv.tfl.hybrid import hybrid_weights
from fuseconv.tfl.traits import CONTROL_FLOW, ELEMENTWISE

_Predicate = Callable[[Op], bool]


def is_product(op: Op) -> bool:
    """Return whether an op of floats may become one whose kernel quantizes each row."""
    return op.type == "FULLY_CONNECTED" and hybrid_weights(op) is not None


def recurrent_products(module: Module, integer: Set[Op], moves: _Predicate) -> tuple[set[Op], set[Value]]:
    """Return the products that a step makes of those of the step before, element by element in between, and the tensors
    that carry them. integer: the ops that would compute in integers. moves: whether an op only hands on numbers."""
    found = {op for graph in module.graphs() for op in _between_steps(graph, integer, moves)}
    states: set[Value] = set()
    for op, condition, body in loops(module):
        for index, (given, made) in enumerate(zip(body.inputs, body.outputs)):
            between = _between(given, made, body, integer, moves)
            if between:
                found.update(between)
                states.update((given, condition.inputs[index], op.results[index]))
    return found, states


def _between(given: Value, made: Value, body: Graph, integer: Set[Op], moves: _Predicate) -> list[Op]:
    """Return the products on the way from what a step is given to what it hands to the next."""
    reached, wanted, forward = {given}, {made}, []
    for op in body.ops:
        if _hands_on(op, moves) and not reached.isdisjoint(op.operands):
            reached.update(op.results)
            forward.append(op)
    products = []
    for op in reversed(forward):
        if not wanted.isdisjoint(op.results):
            wanted.update(value for value in op.operands if value in reached)
            products += [op] if is_product(op) and op in integer else []
    return products


def _between_steps(graph: Graph, integer: Set[Op], moves: _Predicate) -> list[Op]:
    """Return the products of unrolled loops that their own copies in other steps lead to, or that lead to these."""
    products = [op for op in graph.ops if is_product(op) and op in integer and op.sources]
    kinds = _kinds(graph, products)
    counts = Counter(kinds.values())
    copies = {op for op in products if counts[kinds[op]] >= FEWEST_STEPS}
    if not copies:
        return []
    leading: dict[Value | None, frozenset[Hashable]] = {}
    none: frozenset[Hashable] = frozenset()
    recurrent: set[Hashable] = set()
    for op in graph.ops:
        if not _hands_on(op, moves):
            continue
        found = none.union(*(leading.get(value, none) for value in op.operands))
        if op in copies:
            recurrent |= found & {kinds[op]}
            found |= {kinds[op]}
        if found:
            leading.update(dict.fromkeys(op.results, found))
    return [op for op in products if op in copies and kinds[op] in recurrent]


def _kinds(graph: Graph, products: Sequence[Op]) -> dict[Op, Hashable]:
    """Return the kinds of products; those of one node may have weights of several shapes."""
    kinds = kinds_of(graph)
    return {op: (kinds[op], None if op.operands[1] is None else op.operands[1].shape) for op in products}


def _hands_on(op: Op, moves: _Predicate) -> bool:
    return is_product(op) or op.type in ELEMENTWISE or moves(op)


def products_for(
    gates: Set[Op], module: Module, integer: Set[Op], moves: _Predicate
) -> tuple[set[Op], set[Op]]:  # fmt: skip
    """Return the products that gates of floats read, and no op of integers, as those of the inputs of all steps at
    once, and the ops that move numbers between them."""
    readers = _Readers(module, _float_ops(module, integer - gates, moves), moves)
    found: set[Op] = set()
    moved: set[Op] = set()
    for op in (op for graph in module.graphs() for op in graph.ops if is_product(op) and op in integer):
        met: set[Op] = set()
        if readers.are_floats(op.result, met) and not met.isdisjoint(gates):
            found.add(op)
            moved |= set(filter(moves, met))
    return found, moved


def _float_ops(module: Module, integer: Set[Op], moves: _Predicate) -> set[Op]:
    """Return the ops that compute on floats, and what returns floats from the model."""
    ops = {op for graph in module.graphs() for op in graph.ops if op.type not in CONTROL_FLOW and not moves(op)}
    return (ops - integer) | {signature.graph.terminator for signature in module.signatures}


def between_floats(graph: Graph, floats: Set[Op], integer: Set[Op], moves: _Predicate) -> set[Op]:
    """Return the gates and products between ops of floats, for such alone: those of a first step, which differ from
    those of others. Numbers would be converted to and fro."""
    reached = {value for op in graph.ops if op in floats for value in op.results}
    near = []
    for op in graph.ops:
        if op in integer and _hands_on(op, moves) and not reached.isdisjoint(op.operands):
            reached.update(op.results)
            near.append(op)
    found = set(floats)
    for op in reversed(near):
        if all(reader in found for value in op.results for reader in value.uses):
            found.add(op)
    return {op for op in found - floats if not moves(op)}


def moves_of_floats(module: Module, integer: Set[Op], moves: _Predicate) -> set[Op]:
    """Return the ops by which loops take in what floats make for the floats of each step, and collect what these make
    for floats: GATHER and DYNAMIC_UPDATE_SLICE. With integers, each would be rounded once more."""
    readers = _Readers(module, _float_ops(module, integer, moves), moves)
    inputs = {value for signature in module.signatures for value in signature.graph.inputs}
    found: set[Op] = set()
    for op, condition, body in loops(module):
        for index, (given, made) in enumerate(zip(body.inputs, body.outputs)):
            if given.dtype is not types.FLOAT32 or condition.inputs[index].uses:
                continue
            first, last = (op.operands[index], given) if made is given else (made, op.results[index])
            origins = inputs if made is given else {given}
            assert first is not None
            making: set[Op] = set()
            met: set[Op] = set()
            if not _is_moved(first, origins, integer, moves, making) or not readers.are_floats(last, met):
                continue
            if not op.results[index].uses if made is given else making.issuperset(given.uses):
                found |= making | set(filter(moves, met))
    return found


def _is_moved(value: Value, origins: Set[Value], integer: Set[Op], moves: _Predicate, between: set[Op]) -> bool:
    """Return whether origins and floats alone are moved to make a tensor: `between` gets the ops that do it."""
    op = value.op
    if op is None or value.dtype is not types.FLOAT32:
        return value in origins or value.is_const or value.dtype is not types.FLOAT32
    if op in between or not moves(op):
        return op in between or op not in integer
    between.add(op)
    return all(_is_moved(each, origins, integer, moves, between) for each in op.operands if each is not None)


class _Readers:
    """The ops that read a tensor, in loops that hand it on from step to step, too."""

    def __init__(self, module: Module, floats: Set[Op], moves: _Predicate) -> None:
        self.floats, self.moves = floats, moves
        self.parts = {op: (condition, body) for op, condition, body in loops(module)}
        self.kept = {
            given for _, body in self.parts.values() for given, made in zip(body.inputs, body.outputs) if given is made
        }  # fmt: skip

    def are_floats(self, value: Value, met: set[Op]) -> bool:
        """Return whether ops of floats alone read a tensor, behind such as move numbers: `met` gets both."""
        for reader in value.uses:
            if reader in met or (value in self.kept and reader.kind == "ir.return"):
                continue
            if reader in self.floats:
                met.add(reader)
                continue
            if self.moves(reader):
                met.add(reader)
            following = reader.results if self.moves(reader) else self._kept_as(value, reader)
            if following is None or not all(self.are_floats(each, met) for each in following):
                return False
        return True

    def _kept_as(self, value: Value, loop: Op) -> list[Value] | None:
        """Return a tensor as the body of a loop reads it; None if this is no loop, or makes another of it, or if
        its condition reads it, or what is behind it."""
        if loop not in self.parts:
            return None
        condition, body = self.parts[loop]
        places = [index for index, operand in enumerate(loop.operands) if operand is value]
        given = [body.inputs[index] for index in places]
        others = any(condition.inputs[index].uses or loop.results[index].uses for index in places)
        return None if others or not self.kept.issuperset(given) else given
