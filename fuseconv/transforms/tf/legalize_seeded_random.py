"""Legalize random numbers from a seed that the model keeps and moves on -> random numbers of a generator that does this
itself.

Keras 3's SeedGenerator is a variable that gives a new seed on every run: what is drawn from it is drawn anew each time,
like the numbers of TensorFlow's stateful ops, which TFLite's generators stand for. What is drawn from a seed that the
model is given or always has is a function of it, and stays.
"""

from __future__ import annotations

from fuseconv.facts import READ_ONLY_VARIABLES_ARE_CONSTANTS
from fuseconv.ir.graph import Module, Op, Value
from fuseconv.ir.rewriter import has_kind, rewrite_ops
from fuseconv.pass_manager import module_pass
from fuseconv.report.records import Report
from fuseconv.tf.builder import TfBuilder

# op -> the op that draws the same distribution, where the seed's operands stand, and those that it takes besides shape
_DRAWS = {
    "tf.StatelessRandomUniform": ("RandomUniform", 1, ()),
    "tf.StatelessRandomUniformV2": ("RandomUniform", 1, ()),
    "tf.StatelessRandomNormal": ("RandomStandardNormal", 1, ()),
    "tf.StatelessRandomNormalV2": ("RandomStandardNormal", 1, ()),
    "tf.StatelessTruncatedNormal": ("TruncatedNormal", 1, ()),
    "tf.StatelessTruncatedNormalV2": ("TruncatedNormal", 1, ()),
    "tf.StatelessRandomUniformInt": ("RandomUniformInt", 1, (2, 3)),
    "tf.StatelessRandomUniformIntV2": ("RandomUniformInt", 1, (4, 5)),
    "tf.StatelessMultinomial": ("Multinomial", 2, (1,)),
}


@module_pass("legalize-seeded-random", requires=(READ_ONLY_VARIABLES_ARE_CONSTANTS,))
def legalize_seeded_random(module: Module, report: Report) -> None:
    """Draw from a generator of its own what a seed variable drives: StatelessRandomUniform(seed) -> RandomUniform().

    Requires frozen variables.

    Equal draws from one seed are made one; different ones, whose numbers have to do with each other, stay."""
    moved = _moved(module)

    def rewrite(op: Op, out: list[Op]) -> list[Value] | None:
        kind, seed, others = _DRAWS[op.kind]
        if not _is_moved(op.operands[seed], moved) or _is_shared(op.operands[seed]):
            return None
        operands = [op.operands[0], *(op.operands[index] for index in others)]
        report.warnings.append(f"{op.name} draws other numbers than in TensorFlow, of the same distribution")
        return [TfBuilder(out, op).add(kind, operands, {}, op.result.dtype)]

    for graph in module.graphs():
        rewrite_ops(graph, _DRAWS, rewrite)


def draws_from_variables(module: Module) -> bool:
    """Return whether a model draws random numbers and writes variables, from which their seeds may come."""
    return any(has_kind(graph, _DRAWS) for graph in module.graphs()) and bool(_moved(module))


def _moved(module: Module) -> set[str]:
    """Return the names of the variables that the model writes."""
    return {name for graph in module.graphs() for op in graph.ops if (name := _assigned(op))}


def _assigned(op: Op) -> str:
    """Return the name of the variable that an op writes, "" if it writes none."""
    handle = op.operands[0] if op.kind == "tf.AssignVariableOp" else None
    return "" if handle is None or handle.op is None else str(handle.op.attrs.get("shared_name", ""))


def _is_shared(seed: Value | None) -> bool:
    return seed is not None and sum(reader.kind in _DRAWS for reader in seed.uses) > 1


def _is_moved(seed: Value | None, moved: set[str]) -> bool:
    """Return whether a seed is computed from one of these variables, and from constants."""
    found = False
    pending, seen = [seed], set()
    while pending:
        value = pending.pop()
        if value is None or value.is_const or value in seen:
            continue
        seen.add(value)
        if value.op is None or value.dtype.is_float:
            return False
        if value.op.kind == "tf.ReadVariableOp":
            handle = value.op.operands[0]
            if handle is None or handle.op is None or handle.op.attrs.get("shared_name") not in moved:
                return False
            found = True
        else:
            pending += value.op.operands
    return found
