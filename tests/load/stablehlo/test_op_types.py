"""Ops are held to what StableHLO says that they take and make."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

import fuseconv
from fuseconv.errors import InputError
from fuseconv.ir import types
from fuseconv.load.stablehlo.attributes import TensorType
from fuseconv.load.stablehlo.bytecode import Module, Operation, Region, Var, read_bytecode
from fuseconv.load.stablehlo.cursor import DamagedError
from fuseconv.load.stablehlo.op_shapes import SHAPES
from fuseconv.load.stablehlo.op_types import refuse_ill_typed, type_rules
from fuseconv.load.stablehlo.ops import TABLE
from tests.load.stablehlo.modules import archived, cases, operation, tensor, walk

# What an op makes of its operands does not tell: another element type, and another rank, are as good.
_ANY_ELEMENTS = {"bitcast_convert", "convert", "iota", "dynamic_iota", "get_dimension_size", "abs"}
_ANY_RANK = {"broadcast_in_dim", "dynamic_reshape", "iota", "get_dimension_size", "select_and_scatter"}
# Ops of which each device has its own part, and calls of what is not known here.
_UNKNOWN = {"all_reduce", "custom_call"}


def modules() -> Iterator[tuple[str, Module]]:
    for archive in ("ops.tar.xz", "models.tar.xz", "versions.tar.xz", "referee.tar.xz"):
        for name, data in archived(archive).items():
            if name.endswith(".mlirbc"):
                yield name, read_bytecode(data, name)


def judged(op: Operation) -> None:
    """Hold one op to what it is."""
    function = operation("func ->", [Region([], [op])], function_type=None)
    refuse_ill_typed(Module(op.module.attributes, "", {"main": function}))


def test_each_op_that_is_read_has_its_types() -> None:
    assert type_rules().keys() == TABLE.keys() - {"constant"}  # its importer holds its elements to its type
    assert type_rules().keys() >= SHAPES.keys()


def test_what_jax_and_stablehlo_write_is_taken() -> None:
    count = 0
    for _, module in modules():
        refuse_ill_typed(module)
        count += 1
    assert count > 400


def test_each_other_type_is_refused() -> None:
    """Of each op the elements, and the rank, of each operand and result in turn."""
    tried: dict[tuple[str, ...], int] = {}
    for name, module in modules():
        for op in (op for function in module.functions.values() for op in walk(function)):
            key = (op.name, *(f"{var.type}" for var in (*op.operands, *op.results)))
            if op.name not in type_rules() or op.name in _UNKNOWN or key in tried:
                continue
            places = [(op.operands, index) for index in range(len(op.operands))]
            if op.name != "rng_bit_generator":  # any elements of any shape are random
                places += [(op.results, index) for index in range(len(op.results))]
            tried[key] = sum(_refused(op, *place, f"{name}: {op.name}") for place in places)
    assert sum(tried.values()) > 1000


def _refused(op: Operation, vars: list[Var], index: int, where: str) -> int:
    var, kind = vars[index], vars[index].type
    other = types.COMPLEX64 if kind.dtype is not types.COMPLEX64 else types.INT32
    changes = [] if op.name in _ANY_RANK else [TensorType(kind.dtype, (*kind.shape, 3, 3))]
    changes += [] if op.name in _ANY_ELEMENTS else [TensorType(other, kind.shape)]
    for change in changes:
        vars[index] = Var(change)
        try:
            judged(op)
        except DamagedError:
            continue
        else:
            raise AssertionError(f"{where}: {index} may be {change}")
        finally:
            vars[index] = var
    return len(changes)


def test_a_select_by_floats_is_one_sentence(tmp_path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "select.mlirbc"
    path.write_bytes(cases()["elementwise/select"].data)
    fuseconv.convert(path)

    def by_floats(data: bytes, name: str) -> Module:
        module = read_bytecode(data, name)
        (op,) = (op for function in module.functions.values() for op in walk(function) if op.name == "select")
        op.operands[0] = op.operands[1]
        return module

    monkeypatch.setattr("fuseconv.load.stablehlo.bytecode.read_bytecode", by_floats)
    kind = re.escape("float32[3,5]")
    why = rf"select_n \(select\) is of the types {kind}, {kind}, {kind} -> {kind}, as no select is"
    with pytest.raises(InputError, match=rf"^select.mlirbc is a damaged StableHLO module: {why}$"):
        fuseconv.convert(path)


@pytest.mark.parametrize(
    "text",
    [
        "select bool[] float32[2,?] float32[?,3] -> float32[2,3]",
        "clamp float32[] float32[2] float32[2] -> float32[2]",
        "abs complex64[2] -> float32[2]",
        "complex float64[2] float64[?] -> complex128[2]",
        "logistic float16[2] -> float16[2]",
        "compare int8[3] int8[3] -> bool[3]",
        "imag float32[3] -> float32[3]",
    ],
)
def test_types_that_ops_have(text: str) -> None:
    judged(operation(text))


@pytest.mark.parametrize(
    "text",
    [
        "select int32[2] float32[2] float32[2] -> float32[2]",
        "select bool[3] float32[2] float32[2] -> float32[2]",
        "add float32[2] float32[2] -> float32[3]",
        "add float32[2] -> float32[2]",
        "add float32[2] float32[2] float32[2] -> float32[2]",
        "add -> float32[2]",
        "add float32[2] float32[2] ->",
        "abs complex64[2] -> complex64[2]",
        "abs bool[2] -> bool[2]",
        "complex float16[2] float16[2] -> complex64[2]",
        "logistic int32[2] -> int32[2]",
        "compare int8[3] int8[3] -> int8[3]",
        "and float32[3] float32[3] -> float32[3]",
        "is_finite int32[3] -> bool[3]",
        "shift_left float32[3] float32[3] -> float32[3]",
        "clamp float32[3] float32[2] float32[2] -> float32[2]",
    ],
)
def test_types_that_no_op_has(text: str) -> None:
    with pytest.raises(DamagedError, match=rf"^{text.split()[0]} is of the types .* as no {text.split()[0]} is$"):
        judged(operation(text))


def test_what_has_other_types_than_tensors_is_left_to_who_needs_it() -> None:
    op = operation("add float32[2] float32[2] -> float32[2]")
    op.operands[0] = Var(None)
    judged(op)
    assert tensor("float32[2,?]") == TensorType(types.FLOAT32, (2, None))
