"""Numeric check of a fusion against the body of its composite. A name is no proof of what a function computes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from fuseconv.fuse import sampling
from fuseconv.fuse.match import Fusion, Match, Refused
from fuseconv.fuse.numeric_check import (
    FEW_ELEMENTS,
    Claim,
    NumericCheck,
    Pair,
    functions_of,
    require_drawable,
    rows,
)  # fmt: skip
from fuseconv.fuse.output_difference import Unverifiable
from fuseconv.ir.dims import substitute_dim
from fuseconv.ir.graph import Graph, Module, Op, Signature, Value
from fuseconv.tf.annotated_functions import original
from fuseconv.tf.side_effects import bodies

FuseAlone = Callable[[Fusion, Op, Graph, Module], Match]


class BodyCheck:
    """The check of composites in one conversion."""

    def __init__(self, numeric: NumericCheck) -> None:
        self.numeric = numeric

    def __call__(self, fusion: Fusion, op: Op, callee: Graph, module: Module, fuse_alone: FuseAlone) -> str:
        """Run a fusion against the body that it replaces, and return a sentence on what was found, for the report.
        Raises Refused if body and fusion differ.

        op: the call of a composite, callee: the function that it calls; both stay as they are. Each function of the
        model is checked once for each fusion, however often it is called. Calls are checked apart if they differ in
        what a check sees: results that are read, shapes, an operand that stands twice or is a constant."""
        if self.numeric.mode == "never":
            return ""
        name = original(callee)
        return self.numeric(Claim(
            (fusion.name, name, _call_key(op)), f"{fusion.name} of {name}", "the body",
            [partial(_pair, fusion, op, callee, module, fuse_alone, sizes) for sizes in sampling.sizes(op.operands)],
            _constants(op, callee, module), rows(op.operands), sum(1 for _ in _ops(callee, module)),
        ))  # fmt: skip


def _pair(
    fusion: Fusion, op: Op, callee: Graph, module: Module, fuse_alone: FuseAlone, sizes: dict[str, int]
) -> Pair:
    """Return the call alone, fused and not. Raises Unverifiable."""
    alone, body = _alone(op, module, sizes), _alone(op, module, sizes)
    try:
        match = fuse_alone(fusion, alone.signatures[0].graph.ops[0], callee, alone)
    except Refused as refusal:
        raise Unverifiable(f"with small sizes for the unknown ones it is not made: {refusal}") from refusal
    draw = None if fusion.draw is None else lambda rng: sampling.draw_special(fusion, rng, match)
    return Pair(alone, body, draw)


def _call_key(op: Op) -> tuple:
    """Return the key of a call: of calls with equal keys one is checked. Of large constants, which are weights, it is
    only whether they are zero: they hide what the body does with them."""
    operands: list[Any] = []
    for value in op.operands:
        if value is None or value.shape is None:
            operands.append(None)
            continue
        constant: Any = op.operands.index(value)
        if value.data is not None:
            small = value.data.size <= FEW_ELEMENTS
            constant = value.data.tolist() if small else bool(value.data.any())
        shape = tuple(dim if isinstance(dim, int) else None for dim in value.shape)
        operands.append((shape, value.is_const, repr(constant)))
    return tuple(operands), tuple(bool(result.uses) for result in op.results)


def _alone(op: Op, module: Module, sizes: dict[str, int]) -> Module:
    """Return a model that holds only this call, on inputs of static shapes, with the results that the original model
    reads."""
    graph = Graph("body_check")
    inputs: dict[Value, Value] = {}
    for value in op.operands:
        if value is None or value.is_const or value in inputs:
            continue
        require_drawable(value)
        shape = tuple(substitute_dim(dim, sizes) for dim in value.shape or ())
        inputs[value] = graph.add_input(value.dtype, shape, f"x{len(inputs)}")
    call = Op(op.kind, [inputs.get(v, v) if v is not None else None for v in op.operands], dict(op.attrs), op.name)
    for result in op.results:
        call.add_result(result.dtype, result.shape if result.is_static else None)
    graph.ops = [call]
    graph.outputs = [new for old, new in zip(op.results, call.results) if old.uses]
    names = [f"x{number}" for number in range(len(graph.inputs))], [f"y{n}" for n in range(len(graph.outputs))]
    if not graph.outputs:
        raise Unverifiable("nothing reads its results")
    return Module([Signature(["check"], graph, *names)], functions_of([op], module), module.variables, module.tables)


def _constants(op: Op, callee: Graph, module: Module) -> set[Value]:
    """Return the constants that a call takes, and those of the function that it calls."""
    inner = list(_ops(callee, module))
    ends = [body.terminator for part in inner for body, _ in bodies(part, module)]
    parts = (op, callee.terminator, *inner, *ends)
    return {value for part in parts for value in part.operands if value is not None and value.is_const}


def _ops(graph: Graph, module: Module) -> Iterator[Op]:
    for op in graph.ops:
        yield op
        for body, _ in bodies(op, module):
            yield from _ops(body, module)
