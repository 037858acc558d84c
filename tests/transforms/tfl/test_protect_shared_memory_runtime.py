"""Which kernels write over an operand, and which share its memory: the tables are those of the installed LiteRT."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from ai_edge_litert.interpreter import Interpreter, OpResolverType

from fuseconv.ir import types
from fuseconv.ir.graph import Op, Value
from fuseconv.tfl.builder import Builder
from fuseconv.tfl.traits import SHARE_MEMORY, WRITE_IN_PLACE
from fuseconv.transforms.tfl.legalize_outputs import copied
from fuseconv.transforms.tfl.protect_shared_memory import _LEAST_BYTES
from fuseconv.write.flatbuffer_export import to_bytes
from tests.tfl import cases
from tests.tfl.interpret import module_of

POSITIONS = [(kind, position) for kind, count in WRITE_IN_PLACE.items() for position in range(count)]


def shared_operands(case: cases.Case) -> list[int]:
    """Return which operands lie where a result of the op does, without delegates. The op stands between copies: what a
    graph takes and returns has memory of its own."""
    tested: list[Op] = []

    def graph_of(tfl: Builder, *values: Value) -> Sequence[Value]:
        rest = iter([copied(tfl, value) if value.rank else value for value in values])
        operands = [next(rest) if isinstance(operand, cases.Input) else operand for operand in case.operands]
        made = getattr(tfl, case.kind)(*operands, **case.options)
        results = [made] if isinstance(made, Value) else made
        tested.extend(value.op for value in results[:1] if value.op is not None)
        return [copied(tfl, value) if value.rank else value for value in results]

    module = module_of(graph_of, *((types.of_array(array), array.shape) for array in case.inputs))
    interpreter = Interpreter(
        model_content=to_bytes(module), experimental_op_resolver_type=OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES
    )
    interpreter.allocate_tensors()
    for detail, array in zip(interpreter.get_input_details(), case.inputs):
        interpreter.set_tensor(detail["index"], array)
    interpreter.invoke()
    def address(index: int) -> int:
        return interpreter.tensor(index)().__array_interface__["data"][0]

    op = interpreter._get_ops_details()[module.signatures[0].graph.ops.index(tested[0])]
    made = {address(index) for index in op["outputs"]}
    return [
        number for number, (operand, index) in enumerate(zip(case.operands, op["inputs"]))
        if isinstance(operand, cases.Input) and address(index) in made
    ]  # fmt: skip


@pytest.mark.parametrize("case", [case for case in cases.ALL if case.inputs], ids=str)
def test_no_other_kernel_shares_memory(case: cases.Case) -> None:
    kind = case.kind.upper().rstrip("_")
    may_share = range(1 if kind in SHARE_MEMORY else WRITE_IN_PLACE.get(kind, 0))
    assert {*shared_operands(case)} <= {*may_share}


@pytest.mark.parametrize(("kind", "position"), POSITIONS)
def test_an_operand_is_written_over(kind: str, position: int) -> None:
    case = next(case for case in cases.ALL if case.kind == kind.lower() and case.inputs)
    x, other = cases.f(2, 3), cases.weights(2, 3)
    operands: tuple[cases.Input | np.ndarray, ...] = (x, other) if position == 0 else (other, x)
    if kind == "SOFTMAX":
        operands = (x,)
    elif kind == "DYNAMIC_UPDATE_SLICE":
        operands = (x, other[:1], cases.i32(0, 0))
    assert shared_operands(cases.Case(case.kind, operands, case.options)) == [position]


@pytest.mark.parametrize("kind", sorted(SHARE_MEMORY))
def test_memory_is_shared(kind: str) -> None:
    x = cases.f(2, 1, 3)
    more = {"RESHAPE": [cases.i32(6)], "EXPAND_DIMS": [cases.scalar(0)]}.get(kind, [])
    options = {"results": [(types.INT32, (2, 1, 3))]} if kind == "BITCAST" else {}
    assert shared_operands(cases.Case(kind.lower(), (x, *more), options)) == [0]


def test_few_bytes_are_not_written_over() -> None:
    lengths = range(1, 2 * _LEAST_BYTES)
    update, start = np.array([7], np.int8), cases.i32(0)
    data = [cases.Input(np.arange(length, dtype=np.int8)) for length in lengths]
    shared = [bool(shared_operands(cases.case("dynamic_update_slice", x, update, start))) for x in data]
    assert shared == [length >= _LEAST_BYTES for length in lengths]
