"""Canonicalize TF ops in one walk in order of execution: shapes, constant folding, common subexpressions, and ops that
only forward."""

from __future__ import annotations

import functools
import itertools
import math
from typing import Any, NamedTuple

import numpy as np

from fuseconv.errors import InputError
from fuseconv.ir import budget, dims
from fuseconv.ir.dims import Shape, more_known
from fuseconv.ir.graph import Graph, Module, Op, Value, constant, detach, empty_constants, replace_uses
from fuseconv.ir.terms import operand_of
from fuseconv.pass_manager import module_pass
from fuseconv.report.records import Report
from fuseconv.tf import shape_functions
from fuseconv.tf.folders import evaluate
from fuseconv.tf.folders.cost import numpy_cost, tensorflow_cost
from fuseconv.tf.folders.tensorflow import evaluate_with_tensorflow
from fuseconv.tf.operands import content_of
from fuseconv.tf.resource_alias import aliases
from fuseconv.tf.side_effects import bodies, is_repeatable
from fuseconv.tf.symbolic_content import FOLLOWED, content
from fuseconv.tf.traits import CALLS, FORWARDS, LOOPS, RUNNERS, VARIABLES
from fuseconv.tfl.kernel_limits import LARGEST_RANK
from fuseconv.transforms.tf.common_subexpression_elimination import CommonSubexpressions
from fuseconv.transforms.tf.dead_code_elimination import remove_dead_code

# A fold that would make a constant much larger than what it is made from is left to the runtime.
_GROWTH_BYTES = 1 << 20
# To move so many bytes takes less time than to look at the op.
_NO_WORK = 1 << 14
# Up to this size it is made all the same, for the time that it takes to fold what reads it.
_POSTPONED_BYTES = 1 << 28
# A cast forwards what is of its type already.
_FORWARDING = FORWARDS | {"tf.Cast"}
# Ops whose results are no larger than their operands. Others, if their size is not known, might fill the memory.
_NEVER_LARGER = frozenset({
    "tf.DynamicPartition", "tf.ListDiff", "tf.NonMaxSuppression", "tf.NonMaxSuppressionV2", "tf.NonMaxSuppressionV3",
    "tf.StringSplit", "tf.StringSplitV2", "tf.Unique", "tf.UniqueV2", "tf.UniqueWithCounts", "tf.UniqueWithCountsV2",
    "tf.Where",
})  # fmt: skip


@module_pass("canonicalize", after_changes=True)
def canonicalize(module: Module, report: Report) -> None:
    """Infer shapes, fold constants, merge equal ops, drop ops that only forward, and eliminate dead code.

    The body of a loop, branch or call is walked where the op that runs it stands: that is where its operands are known.
    Raises InputError for a node of a model just loaded that cannot run, though no more than its shape is asked for."""
    walk = _Walk(module, report)
    for signature in module.signatures:
        walk.walk_graph(signature.graph)
    if not module.is_held:
        module.is_held = True
        for signature in module.signatures:
            _hold_dead_code(signature.graph)
    remove_dead_code(module, report)


def _hold_dead_code(graph: Graph) -> None:
    """Raise InputError for an op that cannot run and that no output needs any more, now that shapes are known.
    TensorFlow runs it. Lowering tells of those with readers, and of those in branches, which may not be taken."""
    dead: set[Op] = set()
    for op in reversed(graph.ops):
        if op.results and all(reader in dead for result in op.results for reader in result.uses):
            dead.add(op)
            if op.dialect == "tf" and (why := shape_functions.contradiction(op)):
                raise InputError(f"the node '{op.name}' ({op.type}) cannot run: {why}.")


def infer_shapes(module: Module) -> None:
    """Infer the shapes of all tensors as `canonicalize` does, and change nothing else."""
    changed = _read_tensors(module)
    walk = _Walk(module, Report())
    walk.only_infer = True
    for signature in module.signatures:
        walk.walk_graph(signature.graph)
    for op, kind, attrs, operands in changed:
        op.set_kind(kind)
        op.attrs = attrs
        op.set_operands(operands)


def _read_tensors(module: Module) -> list[tuple[Op, str, dict[str, Any], list[Value | None]]]:
    """Let ops that gather from variables, whose handles tell no shape, gather from tensors of their shapes; return what
    these ops were. What reads a variable gets its shape."""
    changed = []
    for handle, names in aliases(module, VARIABLES).items():
        variable = module.variables.get(next(iter(names))) if len(names) == 1 else None
        if variable is None:
            continue
        for op in list(handle.uses):
            tensor = Value(variable.dtype, variable.shape)
            if op.kind == "tf.ReadVariableOp":
                op.result.shape = variable.shape
            elif op.kind in ("tf.ResourceGather", "tf.ResourceGatherNd"):
                changed.append((op, op.kind, op.attrs, op.operands))
                axis = constant(np.array(op.attrs.get("batch_dims", 0), np.int32))
                operands = [tensor, *op.operands[1:]]
                op.set_operands([*operands, axis] if op.kind == "tf.ResourceGather" else operands)
                op.set_kind("tf.GatherV2" if op.kind == "tf.ResourceGather" else "tf.GatherNd")
    return changed


class _Walk:
    """A walk over the ops of graphs, in order, into the bodies of loops, branches and calls where these stand."""

    def __init__(self, module: Module, report: Report) -> None:
        self.module = module
        self.report = report
        self.only_infer = False
        # How many bodies the walk is inside of.
        self.depth = 0
        self.subexpressions = CommonSubexpressions()
        # Ops that are not folded because their results are large; what is made of those may be folded yet.
        self.postponed: dict[Op, _Postponed] = {}
        # Sizes of loops' variables that change on the way, by their axes. A loop in a loop is walked as often as that
        # one: what was found of it is not looked for again, which would double the work with each that it is in.
        self.changing: dict[Op, list[dict[int, dims.Sym]]] = {}
        self.places = itertools.count()

    def walk_graph(self, graph: Graph) -> None:
        """Infer the results of each op in turn; take out what only forwards, can be folded, or equals an earlier op."""
        seen: dict[Any, Op] = {}
        kept: list[Op] = []
        for op in graph.ops:
            if self.only_infer:
                if op.dialect == "tf":
                    self.infer(op)
                kept.append(op)
                continue
            if op.kind in VARIABLES and not op.result.uses:
                # The handle of a variable that is frozen.
                kept.append(op)
                continue
            if op.dialect == "tfl":
                for body, _ in bodies(op, self.module):
                    self.walk_graph(body)
            else:
                if op.kind in _FORWARDING and self.drop_forwarding(op):
                    continue
                self.infer(op)
                if self.fold(op):
                    continue
            first = self.subexpressions.find(op, seen)
            if first is not None:
                first.sources += op.sources
                self.replace(op, first.results, "removed", "common subexpression", f"it equals {first.name}")
                continue
            kept.append(op)
        graph.ops = kept

    def replace(self, op: Op, values: list[Value], kind: str, rule: str, why: str) -> bool:
        """Let the readers of an op read these values, and record why; return True: the op is gone."""
        for old, new in zip(op.results, values):
            replace_uses(old, new)
        if op.sources:
            self.report.record(kind, rule, op.sources, why=why)
        detach(op)
        return True

    def drop_forwarding(self, op: Op) -> bool:
        """Drop an op of a forwarding kind, if it hands its operands on: Identity(x) -> x. Return whether it is gone.

        So does a cast back from a type that holds the numbers: Cast(Cast(x, int64), int32) -> x."""
        operands = [value for value in op.operands if value is not None]
        if op.kind == "tf.Cast" and operands[0].dtype is not op.result.dtype:
            source = operand_of(operands[0], "tf.Cast")
            if source is None or source.dtype is not op.result.dtype or not operands[0].dtype.holds(source.dtype):
                return False
            operands = [source]
        if "shape" in op.attrs and shape_functions.contradiction(op):
            return False
        if op.kind == "tf.EnsureShape" and (self.depth or operands[0].op is not None):
            self.infer(op)
            if op.result.shape != operands[0].shape:
                return False  # it tells what cannot be inferred
        for operand, result in zip(operands, op.results):
            operand.shape = more_known(operand.shape, result.shape)
        return self.replace(op, operands, "removed", "forward", "it hands its operand on")

    def infer(self, op: Op) -> None:
        """Infer the shapes of an op's results, and the elements of small integer ones."""
        made = self.run(op) if op.kind in RUNNERS and bodies(op, self.module) else None
        shapes = shape_functions.infer(op) if made is None else [each.shape for each in made]
        op.fits = shapes is not None and None not in shapes
        results = op.results
        for result, shape in zip(results, shapes or [None] * len(results)):
            if self.only_infer:
                result.shape = shape
            elif shape != result.shape:
                result.shape = more_known(shape, result.shape)
        # The shapes tell first whether the elements are few enough to be computed.
        if made is None and len(results) == 1 and results[0].dtype not in FOLLOWED:
            results[0].content = None
            return
        contents = content(op) if made is None else [each.content for each in made]
        for result, elements in zip(results, contents):
            result.content = elements

    def run(self, op: Op) -> list[_Known]:
        """Walk the bodies of an op that runs functions; return what is known of its results."""
        if op.kind not in LOOPS:
            # A composite may be held against its fusion on other operands: its body is right for every content.
            operands = [_known(value, op.kind not in CALLS) for value in op.operands]
            first, *others = self.walk_bodies(op, operands)
            for other in others:
                first = [_Known(_join([a.shape, b.shape], {}), _common(a, b)) for a, b in zip(first, other)]
            return first
        # Nothing may be folded in a loop's body before the shapes hold for every iteration.
        outer, self.only_infer = self.only_infer, True
        carried = self.invariants(op)
        self.only_infer = outer
        if not outer:
            self.walk_bodies(op, carried)
        return carried

    def invariants(self, op: Op) -> list[_Known]:
        """Return what holds of a loop's variables before each iteration and after the last. The elements of one that is
        handed on unchanged are those before the loop."""
        carried = [_known(value, self.is_handed_on(op, index)) for index, value in enumerate(op.operands)]
        # A size that changes on the way has one symbol of its own, whatever it is at first.
        changing = self.changing.setdefault(op, [{} for _ in carried])
        carried = [_Known(_with_sizes(each.shape, own), each.content) for each, own in zip(carried, changing)]
        made = self.module.functions[op.attrs["body"].name].outputs
        while True:
            self.walk_bodies(op, carried)
            before = [each.shape for each in carried]
            shapes = [_join([_widened(a, b.shape), b.shape], own) for a, b, own in zip(before, made, changing)]
            if shapes == before:
                return carried
            carried = [_Known(shape, each.content) for shape, each in zip(shapes, carried)]

    def is_handed_on(self, loop: Op, index: int) -> bool:
        """Return whether the body of a loop hands a variable on unchanged, perhaps through loops of its own."""
        body = self.module.functions[loop.attrs["body"].name]
        value: Value | None = body.outputs[index]
        while value is not None and value.op is not None:
            op = value.op
            if op.kind not in FORWARDS and (op.kind not in LOOPS or not self.is_handed_on(op, value.index)):
                return False
            value = op.operands[value.index]
        return value is body.inputs[index]

    def walk_bodies(self, op: Op, operands: list[_Known]) -> list[list[_Known]]:
        """Walk the bodies of an op on these operands; return what is known of the outputs of each."""
        made: list[list[_Known]] = []
        for body, offset in bodies(op, self.module):
            for value, known in zip(body.inputs, operands[offset:]):
                value.shape, value.content = known
            self.depth += 1
            self.walk_graph(body)
            self.depth -= 1
            made.append([_known(value) for value in body.outputs])
        return made

    def fold(self, op: Op) -> bool:
        """Replace an op by constants if its results are empty or can be computed. Return whether it is gone."""
        results = op.results
        if op.fits and results and 0 in results[0].shape and is_repeatable(op):  # type: ignore[operator]
            empty = empty_constants([(result.dtype, result.shape) for result in results])
            if empty and not shape_functions.contradiction(op):
                return self.replace(op, empty, "folded", "empty tensor", "it has no elements")
        arrays = _contents(op) if results and results[0].content is not None else None
        # Lowering tells that an op cannot run, unless it never does.
        if arrays is not None and shape_functions.contradiction(op):
            return False
        if arrays is None and self.may_fold(op):
            arrays = self.compute(op)
        if arrays is None:
            return False
        if not _has_room(sum([array.nbytes for array in arrays])):
            return False
        _hold_to_shapes(op, arrays)
        values = [constant(array, r.dtype, r.name) for array, r in zip(arrays, results)]
        return self.replace(op, values, "folded", "constant folding", "all that it needs is known")

    def may_fold(self, op: Op) -> bool:
        """Return whether an op may be computed: from constants, with the same result each time, which is not too large.

        One whose result is large beside what it is made from is postponed: a smaller one may be made of it."""
        for value in op.operands:
            if value is None or not (value.is_const if value.op is None else value.op in self.postponed):
                return False
        if not op.operands or not op.results or not is_repeatable(op):
            return False
        for result in op.results:
            if result.dtype.is_handle or len(result.shape or ()) > LARGEST_RANK:  # lowering refuses such a rank
                return False
        made = _size(op)
        if not _has_room(made):
            return False
        if made > _GROWTH_BYTES and made > 4 * (read := self.read(op)):
            if made <= _POSTPONED_BYTES:
                self.postponed[op] = _Postponed(next(self.places), read)
            return False
        return True

    def read(self, op: Op) -> int:
        """Return the bytes of the constants that an op is made from."""
        total = 0
        for value in op.operands:
            if value is not None and value.data is not None:
                total += value.data.nbytes
            elif value is not None and value.op is not None:
                total += self.postponed[value.op].read
        return total

    def compute(self, op: Op) -> list[np.ndarray] | None:
        """Return the results of an op whose operands are constants, or made by ops that are postponed."""
        if not self.postponed:
            return _computed(op, {})
        needed = {op}
        pending = [op]
        while pending:
            makers = {value.op for value in pending.pop().operands if value is not None and value.op is not None}
            pending += makers - needed
            needed |= makers
        made: dict[Value, np.ndarray] = {}
        for maker in sorted(needed - {op}, key=lambda maker: self.postponed[maker].place):
            arrays = _computed(maker, made)
            if arrays is None:
                return None
            made.update(zip(maker.results, arrays))
        return _computed(op, made)


class _Known(NamedTuple):
    """What is known of a value: its shape, and the elements of a small integer tensor."""

    shape: Shape | None
    content: np.ndarray | None


class _Postponed(NamedTuple):
    """The place of an op in the walk, and the bytes of the constants that it is made from."""

    place: int
    read: int


def _size(op: Op) -> int:
    """Return the bytes of an op's results, as far as they are known."""
    return sum([result.dtype.numpy.itemsize * _elements(result.shape) for result in op.results])


@functools.lru_cache(maxsize=4096)
def _elements(shape: Shape | None) -> int:
    """Return how many elements a tensor has; 0 if that is not known."""
    return math.prod(shape or ()) if shape is None or dims.is_static(shape) else 0  # type: ignore[arg-type]


def _has_room(size: int) -> bool:
    """Return whether constants of so many bytes may be made; of few, it is told when they are."""
    return size <= _GROWTH_BYTES or budget.has_room(size)


def _computed(op: Op, made: dict[Value, np.ndarray]) -> list[np.ndarray] | None:
    """Return the results of an op whose operands are constants, or among those that are made."""
    if shape_functions.contradiction(op):  # which numpy may compute; lowering tells, unless the op is never run
        return None
    operands: list[np.ndarray] = [made[v] if v.data is None else v.data for v in op.operands]  # type: ignore[index,union-attr]
    try:
        work = numpy_cost(op, operands, _size(op))
        if work > _NO_WORK:
            budget.spend_work(work)
        arrays = evaluate(op, operands)
        if arrays is None and (op.kind in _NEVER_LARGER or all(dims.is_static(r.shape) for r in op.results)):
            budget.spend_work(tensorflow_cost(op, operands, _size(op)))
            arrays = evaluate_with_tensorflow(op, operands)
    except budget.Exhausted:
        return None
    return arrays


def _hold_to_shapes(op: Op, arrays: list[np.ndarray]) -> None:
    """Raise TypeError if a folder made another shape than the op makes of its operands. What a model says of shapes may
    be wrong, and is not held against a folder."""
    if all(dims.admits(result.shape, array.shape) for result, array in zip(op.results, arrays)):
        return
    for shape, array in zip(shape_functions.infer(op) or (), arrays):
        if not dims.admits(shape, array.shape):
            raise TypeError(f"the kernel of {op.type} made {list(array.shape)} where the op makes {list(shape or ())}")


def _known(value: Value | None, elements: bool = True) -> _Known:
    """Return what is known of a value. elements: those of its content too."""
    return _Known(None, None) if value is None else _Known(value.shape, content_of(value) if elements else None)


def _common(a: _Known, b: _Known) -> np.ndarray | None:
    """Return the elements that a value has either way; None if they may differ."""
    both = a.content is not None and b.content is not None
    return a.content if both and np.array_equal(a.content, b.content) else None  # type: ignore[arg-type]


def _with_sizes(shape: Shape | None, sizes: dict[int, dims.Sym]) -> Shape | None:
    """Return a shape with the sizes of some axes."""
    return shape if shape is None or not sizes else tuple(sizes.get(axis, dim) for axis, dim in enumerate(shape))


def _widened(carried: Shape | None, made: Shape | None) -> Shape | None:
    """Return what a loop carries: of the size that it broadcasts to in a step, from the first step on.

    Only sizes of the model's inputs count. One that depends on data is another in each walk, and would grow for ever.
    """
    if carried is None or made is None or len(carried) != len(made):
        return carried
    names = [(dims.plain_names(a), dims.plain_names(b)) for a, b in zip(carried, made)]
    wider = [bool(a) and a < b and not any(name.startswith("?") for name in b) for a, b in names]
    return tuple(b if grows else a for a, b, grows in zip(carried, made, wider))


def _join(alternatives: list[Shape | None], changing: dict[int, dims.Sym]) -> Shape | None:
    """Return the shape that covers all alternatives: where they differ it is unknown, with a symbol for each axis that
    `changing` keeps from one call to the next."""
    first, *others = alternatives
    for other in others:
        if first is None or other is None or len(first) != len(other):
            return None
        pairs = enumerate(zip(first, other))
        first = tuple(x if x == y else changing.setdefault(axis, dims.fresh()) for axis, (x, y) in pairs)
    return first


def _contents(op: Op) -> list[np.ndarray] | None:
    """Return the results of an op of which all elements are known."""
    arrays = []
    for result in op.results:
        known = result.content
        if known is None or dims.Sym in map(type, known.flat):
            return None
        try:
            arrays.append(known.astype(result.dtype.numpy))
        except OverflowError:  # a size beyond the type, which the lowering refuses
            return None
    return arrays or None
