"""An op on tensors in a form computes what it does on the tensors, in the form."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from fuseconv.ir import types
from fuseconv.ir.graph import Value
from fuseconv.tfl.builder import Builder
from fuseconv.tfl.layout_rules import Form, arranged
from fuseconv.write.flatbuffer_export import to_bytes
from tests.tfl import cases
from tests.tfl.cases import case, f, i32, scalar
from tests.tfl.interpret import module_of, run_file

_GAMMA = np.arange(1, 4, dtype=np.float32)
TRIALS = [
    case("add", f(2, 4, 3), _GAMMA), case("sub", scalar(5, np.float32), f(2, 4, 3)), case("mul", f(2, 3), f(2, 3)),
    case("add", f(2, 1, 3), f(2, 4, 3)), case("maximum", f(2, 3), f(2, 1)), case("tanh", f(2, 4, 3)),
    case("exp", f(2, 1, 1, 2, 1, 3)), case("select_v2", cases.flags(2, 3), f(2, 3), f(2, 3)),
    case("pad", f(2, 4, 3), i32([1, 0], [0, 2], [0, 0])), case("pad", f(2, 1, 3), i32([0, 0], [1, 2], [0, 0])),
    case("padv2", f(2, 3), i32([0, 1], [2, 0]), scalar(5, np.float32)),
    case("mirror_pad", f(3, 4), i32([1, 0], [0, 2]), mode="SYMMETRIC"),
    case("sum", f(2, 4, 3), i32(1)), case("mean", f(2, 4, 3), i32(0, -1)), case("reduce_max", f(2, 4, 3), i32(2)),
    case("sum", f(2, 4, 3), i32(1), keep_dims=True), case("mean", f(2, 1, 3), i32(1, 2), keep_dims=True),
    case("concatenation", f(2, 3, 4), f(2, 5, 4), axis=1), case("concatenation", f(2, 4), f(3, 4)),
    case("softmax", f(2, 4, 3), beta=1.0), case("l2_normalization", f(2, 4, 3)),
    case("fully_connected", f(2, 4, 5), f(3, 5).array, _GAMMA, keep_num_dims=True),
]  # fmt: skip


def _forms(shape: tuple[int, ...]) -> Iterator[Form]:
    places = tuple(range(len(shape)))
    if len(shape) <= 4:
        yield from map(Form, itertools.permutations(places))
    for place in (*places, len(shape)):
        yield Form((*places[:place], None, *places[place:]))
    for place, size in enumerate(shape):
        if size == 1:
            yield Form((*places[:place], *places[place + 1 :]), place)


@pytest.mark.parametrize("trial", TRIALS, ids=str)
def test_forms(trial: cases.Case) -> None:
    given: list[Any] = [operand.array if isinstance(operand, cases.Input) else operand for operand in trial.operands]
    fed = [at for at, operand in enumerate(trial.operands) if isinstance(operand, cases.Input)]

    def run_on(operands: list[Any], options: dict[str, Any]) -> tuple[Value, np.ndarray]:
        def build(tfl: Builder, *inputs: Value) -> Value:
            values = dict(zip(fed, inputs))
            return getattr(tfl, trial.kind)(*(values.get(at, each) for at, each in enumerate(operands)), **options)

        arrays = [operands[at] for at in fed]
        module = module_of(build, *((types.of_array(array), array.shape) for array in arrays))
        return module.signatures[0].graph.outputs[0], run_file(to_bytes(module), *arrays)[0]

    value, expected = run_on(given, trial.options)
    tried = 0
    for form in _forms(given[fed[0]].shape):
        found = arranged(value.op, form)  # type: ignore[arg-type]
        if found is not None:
            tried += 1
            operands = [
                form.array(array) if taken is True else taken.data if isinstance(taken, Value) else array
                for array, taken in zip(given, found.operands, strict=True)
            ]
            made = run_on(operands, trial.options | found.attrs)[1]
            np.testing.assert_allclose(made, expected if found.plain else form.array(expected), rtol=1e-5, atol=1e-6)
    assert tried

