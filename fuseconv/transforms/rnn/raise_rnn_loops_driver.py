"""Raise each loop that is an RNN; apart from the pass, as it takes longer to import than many a model to convert."""

from __future__ import annotations

from fuseconv.ir.dims import substitute_dim
from fuseconv.ir.graph import Graph, Module, Op, Value
from fuseconv.ir.rewriter import Speculative, erase_ops, rewrite_ops
from fuseconv.report.records import Report
from fuseconv.tf.traits import CONVOLUTIONS, LOOPS, PRODUCTS
from fuseconv.transforms.rnn.loop_fission import split_loop
from fuseconv.transforms.rnn.masking import strip_mask
from fuseconv.transforms.rnn.match_cell import NoCell, recognize
from fuseconv.transforms.rnn.outline import Outline
from fuseconv.transforms.rnn.recurrence import NotALoop, classify
from fuseconv.transforms.rnn.reroll import reroll_loops

_RULE = "raise-rnn-loops"


def raise_loops(module: Module, report: Report) -> None:
    """Do what the pass raise-rnn-loops does."""
    batches: dict[str, int] = {}
    for graph in list(module.graphs()):
        _roll(graph, module)
        dead: set[Op] = set()

        def rewrite(op: Op, out: list[Op], dead: set[Op] = dead) -> list[Value] | None:
            raised = _raised(op, module, report)
            if raised is None:
                return None
            if isinstance(raised, Outline):
                batches.update(raised.fixed_batch())
                raised.build(out, dead)
            else:
                out += raised
            return []

        rewrite_ops(graph, LOOPS, rewrite, revisit=True)
        erase_ops(graph, dead)
    _fix(module, batches, report)


def _fix(module: Module, sizes: dict[str, int], report: Report) -> None:
    """Give unknown sizes of inputs these values."""
    for signature in module.signatures:
        for name, value in zip(signature.inputs, signature.graph.inputs):
            fixed = None if value.shape is None else tuple(substitute_dim(dim, sizes) for dim in value.shape)
            if fixed != value.shape:
                value.shape = fixed
                report.warnings.append(f"the input {name} has the shape {fixed}: the state of a layer has a fixed size")


def _roll(graph: Graph, module: Module) -> None:
    """Make loops of unrolled cells, all of which will be raised."""
    for rolled in reroll_loops(graph, module):
        if _is_cell(rolled.loop, module) or _are_cells(rolled.loop, module):
            rolled.accept(graph)


def _is_cell(op: Op, module: Module) -> bool:
    try:
        _recognized(op, module)
    except (NotALoop, NoCell):
        return False
    return True


def _are_cells(op: Op, module: Module) -> bool:
    """Return whether a loop can be split up into those of cells, and nothing else."""
    with Speculative(module.functions) as trial:
        try:
            fission = split_loop(op, module, trial)
        except NotALoop:
            return False
        return fission is not None and all(_is_cell(part, module) for part in fission.parts)


def _split(op: Op, module: Module) -> list[Op] | None:
    """Split a loop into one for each cell, where a loop runs several or computes more than a cell, any of which will be
    raised."""
    with Speculative(module.functions) as trial:
        try:
            fission = split_loop(op, module, trial)
        except NotALoop:
            return None
        if fission is None or not any(_is_cell(part, module) for part in fission.parts):
            return None
        trial.keep()
    fission.replace_loop()
    return trial.ops


def _raised(op: Op, module: Module, report: Report) -> Outline | list[Op] | None:
    """Return what a loop becomes that is an RNN, or the parts of it that are to be looked at; None of any other."""
    try:
        return _recognized(op, module)
    except (NotALoop, NoCell) as no:
        parts = _split(op, module)
        if parts is None and _is_recurrent(op, module):
            report.refused(_RULE, op.sources, str(no), expected=True)
        return parts


def _recognized(op: Op, module: Module) -> Outline:
    loop, masked = strip_mask(classify(op, module))
    return Outline(loop, recognize(loop), masked, module)


def _is_recurrent(op: Op, module: Module) -> bool:
    """Return whether a user may take a loop for an RNN: it multiplies matrices at each step and carries what it
    makes."""
    body = module.functions[op.attrs["body"].name]
    multiplies = any(inner.kind in PRODUCTS | CONVOLUTIONS for inner in body.ops)
    carried = (made for value, made in zip(body.inputs, body.outputs) if made is not value)
    return multiplies and any(value.dtype.is_float for value in carried)
