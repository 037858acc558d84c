"""Let inputs and outputs of a quantized file be integers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from fuseconv.errors import InputError, suggestion_or_all
from fuseconv.facts import TFL_ONLY
from fuseconv.ir import types
from fuseconv.ir.graph import Graph, Module, Op, Quantization, Signature, Value, replace_uses
from fuseconv.ir.rewriter import erase_ops
from fuseconv.ir.types import DType
from fuseconv.pass_manager import module_pass
from fuseconv.quantize.activations import is_for_cpu
from fuseconv.quantize.affine import Range, parameters
from fuseconv.quantize.calibrate import Calibration
from fuseconv.report.records import Report
from fuseconv.tfl.builder import Builder
from fuseconv.tfl.integer import INT8, READS_SHAPE

if TYPE_CHECKING:
    from fuseconv.targets.target import Target

FLOAT = "float"
TYPES = {FLOAT: types.FLOAT32, "int8": types.INT8, "uint8": types.UINT8, "int16": types.INT16}


def parse_io_types(text: str) -> tuple[str, dict[str, str]]:
    """Parse the type of all inputs and outputs, and those of some by name: "int8,x=float" -> ("int8", {"x": "float"}).

    Raises InputError for what is no type."""
    default = FLOAT
    named: dict[str, str] = {}
    for number, part in enumerate(text.split(",")):
        name, equals, kind = part.rpartition("=")
        if kind not in TYPES or bool(equals) != bool(name) or (not equals and number):
            raise InputError(f"--io-types {text}: write one of {', '.join(TYPES)}, then NAME=TYPE for others")
        if named.get(name, kind) != kind:
            raise InputError(f"--io-types {text}: {name} is {named[name]} or {kind}; name it once")
        if equals:
            named[name] = kind
        else:
            default = kind
    return default, named


@module_pass("set-io-types", requires=(TFL_ONLY,))
def set_io_types(
    module: Module, io_types: str, calibration: Calibration, report: Report, target: Target | None
) -> bool:  # fmt: skip
    """Let inputs and outputs be integers: f(QUANTIZE(x)) -> f(x), and DEQUANTIZE(y) -> y.

    Those that ops of floats read or make are converted, which a warning tells: f(x) -> f(DEQUANTIZE(x)). Raises
    InputError for a name that is no input or output of floats, and for one of these of which no range is known. For a
    CPU int16 is made of floats, as TensorFlow 2.21 makes none of int8: DEQUANTIZE(x), QUANTIZE."""
    default, named = parse_io_types(io_types)
    _check_names(module, named)
    changed, on_cpu = False, is_for_cpu(report, target)
    for signature in module.signatures:
        for name, value in zip(signature.inputs, signature.graph.inputs):
            kind = named.get(name, default)
            if kind != FLOAT and value.dtype is types.FLOAT32 and value.uses:
                _set_input(signature.graph, name, value, TYPES[kind], calibration.ranges.get(value), report, on_cpu)
                changed = True
        for index, name in enumerate(signature.outputs):
            kind, value = named.get(name, default), signature.graph.outputs[index]
            if kind != FLOAT and value.dtype is types.FLOAT32:
                _set_output(signature, index, TYPES[kind], calibration.ranges.get(value), report)
                changed = True
        erase_ops(signature.graph, {op for op in _conversions(signature.graph) if not op.result.uses})
    return changed


def _check_names(module: Module, named: Mapping[str, str]) -> None:
    known: dict[str, set[DType]] = {}
    for signature in module.signatures:
        ends = [*zip(signature.inputs, signature.graph.inputs), *zip(signature.outputs, signature.graph.outputs)]
        for name, value in ends:
            known.setdefault(name, set()).add(value.dtype)
    for name, kind in named.items():
        if name not in known:
            raise InputError(f"--io-types: no input or output is called {name}{suggestion_or_all(name, known)}")
        if kind != FLOAT and types.FLOAT32 not in known[name]:
            (held, *_) = sorted(dtype.name for dtype in known[name])
            raise InputError(f"--io-types: {name} holds {held} in the model, and stays so: leave {name}={kind} out")


def _conversions(graph: Graph) -> Iterator[Op]:
    return (op for op in graph.ops if op.kind in ("tfl.QUANTIZE", "tfl.DEQUANTIZE"))


def _set_input(
    graph: Graph, name: str, value: Value, dtype: DType, found: Range | None, report: Report, on_cpu: bool
) -> None:  # fmt: skip
    readers = [op for op in value.uses if op.type not in READS_SHAPE]
    floats = [op for op in readers if op.kind != "tfl.QUANTIZE"]
    narrow = [op.result for op in readers if op.kind == "tfl.QUANTIZE"]
    reads = f"{floats[0].type} reads" if floats else "only its shape is read of"
    how = narrow[0].quantization if narrow else _of_range(found, f"{reads} the input {name} as floats", name)
    assert how is not None
    of = narrow[0].dtype if narrow else types.INT8
    value.dtype, value.quantization = dtype, _as(how, of, dtype)
    for each in narrow:
        if each.dtype is dtype and each.quantization == value.quantization:
            replace_uses(each, value)
    if floats:
        report.warnings.append(f"the input {name} is converted to floats, as {floats[0].type} reads it")
    if on_cpu and dtype is types.INT8:
        floats += [each.op for each in narrow if each.dtype is types.INT16 and each.op is not None]
    if floats:
        front: list[Op] = []
        wide = Builder(front, name, ()).dequantize(value)
        graph.ops = front + graph.ops
        for op in floats:
            op.set_operands([wide if operand is value else operand for operand in op.operands])


def _set_output(signature: Signature, index: int, dtype: DType, found: Range | None, report: Report) -> None:
    graph, name = signature.graph, signature.outputs[index]
    wide = graph.outputs[index]
    made = wide.op
    narrow = made.operands[0] if made is not None and made.kind == "tfl.DEQUANTIZE" else None
    sources = () if made is None else made.sources
    if narrow is None or narrow.quantization is None:
        maker = "the input" if made is None else made.type
        fixed = None if made is None else INT8.fixed_scale.get(made.type)
        how = fixed or _of_range(found, f"{maker} makes the output {name} as floats", name)
        report.warnings.append(f"the output {name} is converted from floats, as {maker} makes it")
        narrow, how = wide, _as(how, types.INT8, dtype)
    else:
        how = _as(narrow.quantization, narrow.dtype, dtype)
    # An output has a tensor of its own.
    if narrow.dtype is not dtype or narrow in graph.inputs or narrow in graph.outputs:
        narrow = Builder(graph.ops, wide.name, sources).quantize(narrow, results=[(dtype, wide.shape)])
        narrow.quantization = how
    graph.terminator.set_operand(index, narrow)


def _of_range(found: Range | None, why: str, name: str) -> Quantization:
    """Return the scale of int8 that holds a range. Raises InputError if there is none."""
    if found is None or not found.is_usual:
        raise InputError(f"--io-types: {why}, and no range of it is known; leave that so by {name}=float")
    return parameters(found, types.INT8)


def _as(how: Quantization, of: DType, dtype: DType) -> Quantization:
    """Return parameters of a type that hold what those of another one do."""
    (scale,), (zero,) = how.scale, how.zero_point
    if of is dtype:
        return how
    if (of, dtype) == (types.INT8, types.UINT8):
        return Quantization((scale,), (zero + 128,))
    if dtype is types.INT16:
        return Quantization((scale * max(128 + zero, 127 - zero) / 32767,), (0,))
    if dtype is types.UINT8:
        raise InputError("--io-types uint8 is for files that compute in int8")
    return Quantization((scale * 32767 / 127,), (0,))
