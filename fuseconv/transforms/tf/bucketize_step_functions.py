"""Bucketize functions of whole numbers that round to whole numbers by way of float64 -> a table of their steps.

So buckets of relative positions are computed: `tf.cast(tf.math.log(n / 8) / math.log(16) * 8, tf.int32)`. TFLite has no
logarithm of float64, and one of float32 may fall on the other side of a step.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fuseconv.ir import types
from fuseconv.ir.graph import Module, Op, Value, constant
from fuseconv.ir.rewriter import rewrite_ops
from fuseconv.ir.terms import op_of
from fuseconv.pass_manager import module_pass
from fuseconv.report.records import Report
from fuseconv.tf.builder import TfBuilder
from fuseconv.tf.folders import evaluate
from fuseconv.tf.traits import ROUNDING, node_ops

_ROOTS = ROUNDING | {"tf.Cast"}
# Ops that never fall where an operand rises, with these operands. Those that scale do so by a positive constant.
_RISING = {
    **dict.fromkeys(("Cast", "Exp", "Log", "Log1p", "Sqrt", *node_ops(ROUNDING)), (0,)),
    **dict.fromkeys(("Add", "AddV2", "Maximum", "Minimum", "Mul"), (0, 1)),
    **dict.fromkeys(("Div", "RealDiv", "Sub"), (0,)),
}
_SCALING = ("Div", "Mul", "RealDiv")
_MOST_STEPS = 256
# Chains of more ops than this are no buckets; each rounding in one is followed to the chain's start.
_MOST_OPS = 64
# BUCKETIZE compares with float32, which holds whole numbers up to this one.
_END = 1 << 24


@module_pass("bucketize-step-functions", kinds=_ROOTS)
def bucketize_step_functions(module: Module, report: Report) -> bool:
    """Tabulate step functions of an integer: Cast(floor(log(Cast(n, float64))), int32) -> table[Bucketize(n)].

    This takes casts of floats to integers, and roundings, that a chain of rising functions with a float64 among them
    leads to from one integer. Returns whether anything changed.

    The table ends at 2**24: beyond, GATHER finds nothing, and the run fails. Expects folded constants."""
    made: list[str] = []
    doubtful: set[int] = set()

    def rewrite(op: Op, out: list[Op]) -> list[Value] | None:
        chain = _chain(op)
        steps = _steps(chain) if chain else None
        if steps is None:
            return None
        starts, values = steps
        number = chain[0].operands[0]
        assert number is not None
        tf = TfBuilder(out, op)
        boundaries = [float(start) for start in (*starts, _END)]
        step = tf.Bucketize(number, dtype=types.INT32, boundaries=boundaries)
        table = constant(values, op.result.dtype, op.name)
        made.append(op.name)
        doubtful.update(_doubtful(chain, starts))
        return [tf.GatherV2(table, step, 0)]

    for graph in module.graphs():
        rewrite_ops(graph, _ROOTS, rewrite)
    if made:
        what = made[0] if len(made) == 1 else f"{made[0]} and {len(made) - 1} more"
        report.warnings.append(f"{what}: a table of what whole numbers below {_END} become; a run with others fails")
    if doubtful:
        numbers = ", ".join(map(str, sorted(doubtful)[:5]))
        report.warnings.append(
            f"{what}: rounding errors decide what {numbers} become; TensorFlow itself finds one number or the other, "
            "as it runs the operations as they are or optimizes them first"
        )
    return bool(made)


def _chain(root: Op) -> list[Op]:
    """Return the ops from the Cast of an integer to `root`, if that rounds and a float64 is on the way; else none."""
    source = root.operands[0] if root.operands else None
    if root.result.dtype is types.FLOAT64:
        return []
    rounds = root.kind in ROUNDING
    if root.type == "Cast" and source is not None:
        whole = op_of(source, ROUNDING) is not None
        rounds = whole or root.result.dtype in (types.INT32, types.INT64)
    if not rounds or source is None or not source.dtype.is_float:
        return []
    chain = [root]
    while len(chain) <= _MOST_OPS:
        op = chain[-1]
        varying = [i for i, operand in enumerate(op.operands) if operand is None or operand.data is None]
        if len(varying) != 1 or varying[0] not in _RISING.get(op.type, ()) or not _constants_fit(op, varying[0]):
            return []
        value = op.operands[varying[0]]
        if value is None or value.dtype.is_integer:
            wide = any(result.dtype is types.FLOAT64 for op in chain[1:] for result in op.results)
            return chain[::-1] if value is not None and op.type == "Cast" and wide else []
        if value.op is None:
            return []
        chain.append(value.op)
    return []


def _constants_fit(op: Op, varying: int) -> bool:
    others = [operand.data for i, operand in enumerate(op.operands) if i != varying and operand is not None]
    scalars = [data for data in others if data is not None and data.shape == ()]
    return len(scalars) == len(op.operands) - 1 and (op.type not in _SCALING or all(data > 0 for data in scalars))


def _steps(chain: list[Op]) -> tuple[list[int], np.ndarray] | None:
    """Return the numbers at which the last op's result changes, and its values: before the first, between them, and
    from the last to 2**24. None if they are too many, or numpy does not compute them."""
    source = chain[0].operands[0]
    assert source is not None
    least, most = np.iinfo(source.dtype.numpy).min, np.iinfo(source.dtype.numpy).max
    first, last = max(least, -_END), min(most, _END - 1)
    ends = _values(chain, np.array([least, first, last]))
    if ends is None or _differ(*ends[:2]):
        return None
    low, high = np.array([first]), np.array([last])
    low, high = (low, high) if _differ(*ends[1:]) else (low[:0], high[:0])
    while (wide := high - low > 1).any():
        if len(low) > _MOST_STEPS:
            return None
        # Halves of the intervals in which there is a step.
        middle = np.where(wide, low + (high - low) // 2, high)
        lows, highs = np.concatenate([low, middle[wide]]), np.concatenate([middle, high[wide]])
        values = _values(chain, np.concatenate([lows, highs]))
        assert values is not None
        steps = _differ(*np.split(values, 2))
        low, high = lows[steps], highs[steps]
    starts = np.sort(high)
    if len(starts) > _MOST_STEPS:
        return None
    values = _values(chain, np.concatenate([[first], starts]))
    assert values is not None
    dtype = chain[-1].result.dtype
    if dtype.is_integer:
        # What does not fit an integer becomes the least one on the processors that are common.
        limits = np.iinfo(dtype.numpy)
        values = np.where(np.abs(values) <= limits.max, values, limits.min)
    return starts.tolist(), values.astype(dtype.numpy)


def _doubtful(chain: list[Op], starts: list[int]) -> list[int]:
    """Return the numbers for which, on one side or the other of a step, what is rounded is whole but for a rounding
    error."""
    near = np.unique([*starts, *(start - 1 for start in starts)]).astype(np.int64)
    exact = _run(chain[:-1], near)
    if exact is None or not len(near):
        return []
    tolerance = 8 * np.finfo(exact.dtype).eps * np.maximum(1, np.abs(exact))
    with np.errstate(invalid="ignore"):
        close = np.abs(exact - np.rint(exact)) <= tolerance
    # A logarithm of one and its multiples are exact.
    return [int(number) for number, doubt in zip(near, close & (exact != 0)) if doubt]


def _values(chain: list[Op], numbers: np.ndarray) -> np.ndarray | None:
    """Return what the chain makes of these numbers, as floats: a cast's whole numbers may not fit what it casts to."""
    if chain[-1].type != "Cast":
        return _run(chain, numbers)
    made = _run(chain[:-1], numbers)
    return None if made is None else np.trunc(made)


def _run(chain: list[Op], numbers: np.ndarray) -> np.ndarray | None:
    number = numbers.astype(chain[0].operands[0].dtype.numpy)  # type: ignore[union-attr]
    for op in chain:
        results = evaluate(op, [number if x is None or x.data is None else x.data for x in op.operands])
        if results is None:
            return None
        (number,) = results
    return number


def _differ(a: np.ndarray, b: np.ndarray) -> Any:
    return ~((a == b) | ((a != a) & (b != b)))
