"""Legalize random numbers from a seed that the model keeps and moves on -> random numbers of a generator that does this
itself.

Keras 3's SeedGenerator is a variable that gives a new seed on every run, and so is the state of a tf.random.Generator.
Some models draw the seed itself (RandomUniformInt), as the sampling of Hugging Face's transformers does. Numbers that
are drawn from such a seed are drawn anew each time, as those of TensorFlow's stateful ops are. TFLite's generators do
the same. What is drawn from a seed that the model is given or always has is a function of it, and stays.
"""

from __future__ import annotations

from fuseconv.facts import READ_ONLY_VARIABLES_ARE_CONSTANTS
from fuseconv.ir.graph import Module, Op, Rejection, Value
from fuseconv.ir.rewriter import has_kind, ops_of_kinds, rewrite_ops
from fuseconv.pass_manager import module_pass
from fuseconv.report.records import Report
from fuseconv.tf.builder import TfBuilder
from fuseconv.tf.resource_alias import aliases
from fuseconv.tf.traits import VARIABLES

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

# Move the state of a generator on; the first one also reads it.
_READS_STATE = "tf.RngReadAndSkip"
_WRITE = "tf.AssignVariableOp"
_GENERATORS = (_READS_STATE, "tf.RngSkip")
# What gives another seed each time that it runs.
_GIVES_SEEDS = (_READS_STATE, "tf.RandomUniformInt")
_OBSERVED = Rejection(
    "it reads the state of a random number generator, which TFLite's generators keep to themselves; "
    "draw from a seed that is a variable, or is fed"
)


@module_pass("legalize-seeded-random", requires=(READ_ONLY_VARIABLES_ARE_CONSTANTS,), kinds=(*_DRAWS, *_GENERATORS))
def legalize_seeded_random(module: Module, report: Report) -> None:
    """Draw from a generator of its own what a seed variable drives: StatelessRandomUniform(seed) -> RandomUniform().

    Requires frozen variables.

    Equal draws from one seed are made one; different ones, whose numbers have to do with each other, stay."""
    moved = _moved(module)
    _reject_observers(module)

    def rewrite(op: Op, out: list[Op]) -> list[Value] | None:
        kind, seed, others = _DRAWS[op.kind]
        if not _is_moved(op.operands[seed], moved) or _is_shared(op.operands[seed]):
            return None
        operands = [op.operands[0], *(op.operands[index] for index in others)]
        report.warnings.append(f"{op.name} draws other numbers than in TensorFlow, of the same distribution")
        return [TfBuilder(out, op).add(kind, operands, {}, op.result.dtype)]

    for graph in module.graphs():
        rewrite_ops(graph, _DRAWS, rewrite)


def _reject_observers(module: Module) -> None:
    """Reject what reads the state of a generator, which no op of TFLite moves on."""
    if not any(has_kind(graph, _GENERATORS) for graph in module.graphs()):
        return
    names = aliases(module, VARIABLES)
    generators = {
        name for handle, known in names.items() for name in known if any(op.kind in _GENERATORS for op in handle.uses)
    }
    for handle, known in names.items():
        for op in handle.uses if generators & set(known) else ():
            if op.kind == "tf.ReadVariableOp":
                op.rejection = _OBSERVED


def draws_from_moved_seeds(module: Module) -> bool:
    """Return whether a model draws random numbers, and has what their seeds may come from: it writes variables, or has
    a generator."""
    draws = any(has_kind(graph, _DRAWS) for graph in module.graphs())
    kinds = (*_GENERATORS, *_GIVES_SEEDS)
    return draws and (bool(_moved(module)) or any(has_kind(graph, kinds) for graph in module.graphs()))


def _moved(module: Module) -> set[str]:
    """Return the names of the variables that the model writes."""
    return {name for graph in module.graphs() for op in ops_of_kinds(graph, (_WRITE,)) if (name := _assigned(op))}


def _assigned(op: Op) -> str:
    """Return the name of the variable that an op writes, "" if it writes none."""
    handle = op.operands[0] if op.kind == _WRITE else None
    return "" if handle is None or handle.op is None else str(handle.op.attrs.get("shared_name", ""))


def _is_shared(seed: Value | None) -> bool:
    return seed is not None and sum(reader.kind in _DRAWS for reader in seed.uses) > 1


def _is_moved(seed: Value | None, moved: set[str]) -> bool:
    """Return whether a seed is computed from one of these variables or from a generator, and from constants."""
    found = False
    pending, seen = [seed], set()
    while pending:
        value = pending.pop()
        if value is None or value.is_const or value in seen:
            continue
        seen.add(value)
        if value.op is None or value.dtype.is_float:
            return False
        if value.op.kind in _GIVES_SEEDS:
            found = True
        elif value.op.kind == "tf.ReadVariableOp":
            handle = value.op.operands[0]
            if handle is None or handle.op is None or handle.op.attrs.get("shared_name") not in moved:
                return False
            found = True
        else:
            pending += value.op.operands
    return found
