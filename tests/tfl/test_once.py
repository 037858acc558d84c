"""What the runtime computes once is told apart from what it computes on every invoke."""

from __future__ import annotations

import numpy as np
import pytest
from ai_edge_litert.interpreter import Interpreter

from fuseconv.ir import types
from fuseconv.ir.dims import symbol
from fuseconv.ir.graph import Value
from fuseconv.tfl.builder import Builder
from fuseconv.tfl.once import computed_on_every_invoke, is_computed_once
from fuseconv.write.flatbuffer_export import to_bytes
from tests.tfl.interpret import module_of

# ops on the sizes [2, 3] of the input -> what they compute
_ONCE = {
    "SHAPE": (lambda tfl, s: s, [2, 3]),
    "RANK": (lambda tfl, s: tfl.reshape(tfl.rank(s), [1]), [1]),
    "CONCATENATION": (lambda tfl, s: tfl.concatenation(s, tfl.ints([4]), axis=0), [2, 3, 4]),
    "GATHER": (lambda tfl, s: tfl.gather(s, tfl.ints([1])), [3]),
    "MUL": (lambda tfl, s: tfl.mul(s, tfl.ints([5, 7])), [10, 21]),
    "RANGE": (lambda tfl, s: tfl.range(tfl.reduce_prod(s, tfl.ints([0])), tfl.const(8, types.INT32),
                                       tfl.const(1, types.INT32)), [6, 7]),
    "STRIDED_SLICE": (lambda tfl, s: tfl.strided_slice(s, [1], [2], [1]), [3]),
    "TILE": (lambda tfl, s: tfl.tile(s, tfl.ints([2])), [2, 3, 2, 3]),
}  # fmt: skip
_EVERY_INVOKE = {
    "ADD": lambda tfl, s: tfl.add(s, tfl.ints([5, 7])),
    "an input": lambda tfl, s: tfl.reshape(s.op.operands[0], [-1]),
    "FILL": lambda tfl, s: tfl.typed_op("FILL", [s, tfl.const(1, types.INT32)], [(types.INT32, (2, 3))], {})[0],
    "a copy": computed_on_every_invoke,
}


@pytest.mark.parametrize("kind", _ONCE)
def test_what_is_computed_as_tensors_are_allocated(kind: str) -> None:
    build, expected = _ONCE[kind]
    data, once = _built(build)
    assert once
    interpreter = Interpreter(model_content=data)
    interpreter.resize_tensor_input(0, [2, 3])
    interpreter.allocate_tensors()
    (output,) = interpreter.get_output_details()
    np.testing.assert_array_equal(interpreter.get_tensor(output["index"]), expected)  # without an invoke


@pytest.mark.parametrize("kind", _EVERY_INVOKE)
def test_what_is_computed_on_every_invoke(kind: str) -> None:
    assert not _built(_EVERY_INVOKE[kind])[1]


def _built(build) -> tuple[bytes, bool]:
    once = []

    def of_sizes(tfl: Builder, x: Value) -> Value:
        value = build(tfl, tfl.shape(x))
        once.append(is_computed_once(value))
        return value

    module = module_of(of_sizes, (types.INT32, (symbol("n"), symbol("m"))))
    return to_bytes(module), once[0]
