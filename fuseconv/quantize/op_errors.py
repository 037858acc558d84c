"""What quantization made of each op: its type, its bytes, and its error against the file of floats."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterable

from fuseconv.errors import InputError
from fuseconv.ir import types
from fuseconv.ir.graph import Module, Op
from fuseconv.quantize.floats import Floats, constant_bytes, constants_of
from fuseconv.quantize.samples import Samples
from fuseconv.quantize.tensor_errors import TensorError, compare_tensors
from fuseconv.report.records import Compared, ComparedOp, Report
from fuseconv.write.flatbuffer_export import to_named_bytes


def compare_ops(module: Module, floats: Floats, samples: Iterable | None, report: Report) -> Compared:
    """Return what became of the ops of the first signature, and of its loops and branches. samples: to run; None for no
    errors.

    Raises InputError where LiteRT does not run the files on them."""
    data, names = to_named_bytes(module)
    chosen, held_back = samples.to_compare() if isinstance(samples, Samples) else ([], False)
    try:
        inputs = module.signatures[0].inputs
        errors = compare_tensors(floats.data, data, floats.pairs(names), chosen, inputs, floats.guards)
    except (RuntimeError, ValueError) as error:
        raise InputError(f"LiteRT cannot run the files to compare: {' '.join(str(error).split())[:200]}") from error
    whys = _whys(report)
    rows = [_row(op, before, floats, errors, whys) for op, before in floats.ops.items() if op.results]
    return Compared(len(chosen), held_back, rows)


def _whys(report: Report) -> dict[tuple, deque[str]]:
    """Return why ops, and constants that they read, stayed float, in the order of the ops."""
    found: dict[tuple, deque[str]] = defaultdict(deque)
    for item in report.quantized:
        if item.why:
            found[item.op, item.sources].append(item.why)
    return found


def _row(
    op: Op, before: int, floats: Floats, errors: dict[str, TensorError], whys: dict[tuple, deque[str]]
) -> ComparedOp:
    name = floats.names.get(op.result, op.result.name)
    reasons = whys.get((op.type, op.sources))
    kind, error = _type(op), errors.get(name)
    why = reasons.popleft() if reasons and kind == types.FLOAT32.name else ""
    return ComparedOp(
        op.type, name, kind, before, constant_bytes(op), why, None if error is None else error.to_json(), op.sources
    )


def _type(op: Op) -> str:
    """Return what an op computes on; of one that computes on floats, the type of its weights."""
    if op.result.quantization is not None:
        return op.result.dtype.name
    stored = [value.dtype for value in constants_of(op)]
    narrow = [dtype.name for dtype in stored if dtype in (types.INT4, types.INT8, types.FLOAT16)]
    return f"{op.result.dtype.name}, weights {narrow[0]}" if narrow else op.result.dtype.name
