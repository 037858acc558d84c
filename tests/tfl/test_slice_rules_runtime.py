"""A part of a result is what the op makes of the parts of its operands that its rule tells of."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from fuseconv.ir import types
from fuseconv.ir.graph import Value
from fuseconv.tfl.builder import Builder
from fuseconv.tfl.slice_rules import _RULES, Part, needs
from fuseconv.write.flatbuffer_export import to_bytes
from tests.tfl import cases
from tests.tfl.cases import case, f, i32, scalar
from tests.tfl.interpret import module_of, run_file

MORE = [
    case("add", f(2, 3, 4), f(3, 1)),
    case("pad", f(2, 3, 4), i32([0, 0], [1, 0], [0, 0])),
    case("padv2", f(3, 2), i32([0, 0], [1, 0]), scalar(5, np.float32)),
    case("mirror_pad", f(3, 3), i32([0, 0], [0, 2]), mode="SYMMETRIC"),
    case("reshape", f(2, 3, 4), i32(2, 12)),
    case("reshape", f(2, 6), i32(2, 2, 3)),
    case("batch_matmul", f(2, 5, 4), f(2, 5, 3), adj_x=True),
    case("batch_matmul", f(3, 2, 4, 5), f(2, 3, 5), adj_y=True),
    case("resize_bilinear", f(2, 2, 3, 4), i32(5, 7), half_pixel_centers=True),
    case("resize_nearest_neighbor", f(2, 2, 3, 4), i32(5, 7)),
    case("reduce_max", f(2, 3, 4), i32(-2)),
]
TRIALS = [trial for trial in (*cases.ALL, *MORE) if trial.kind.upper() in _RULES and trial.inputs]


def _part(array: np.ndarray, part: Part) -> np.ndarray:
    index = [slice(None)] * array.ndim
    index[part.axis] = slice(part.begin, part.end)
    return array[tuple(index)]


@pytest.mark.parametrize("trial", TRIALS, ids=str)
def test_parts(trial: cases.Case) -> None:
    """All but the first elements of each dimension that the op keeps apart."""
    fed = [at for at, operand in enumerate(trial.operands) if isinstance(operand, cases.Input)]
    given = [operand.array if isinstance(operand, cases.Input) else operand for operand in trial.operands]

    def run_on(operands: Sequence[Any]) -> tuple[Value, np.ndarray]:
        def build(tfl: Builder, *inputs: Value) -> Value:
            values = dict(zip(fed, inputs))
            return getattr(tfl, trial.kind)(
                *(values.get(at, operand) for at, operand in enumerate(operands)), **trial.options
            )

        arrays = [operands[at] for at in fed]
        module = module_of(build, *((types.of_array(array), array.shape) for array in arrays))
        return module.signatures[0].graph.outputs[0], run_file(to_bytes(module), *arrays)[0]

    whole, result = run_on(given)
    for axis, size in enumerate(result.shape):
        part = Part(axis, 1, size)
        wanted = needs(whole.op, part) if size > 1 else None  # type: ignore[arg-type]
        if wanted is not None:
            assert any(wanted)
            operands = [array if inner is None else _part(array, inner) for array, inner in zip(given, wanted)]
            if trial.kind == "reshape":
                operands[1] = np.array(_part(result, part).shape, np.int32)
            np.testing.assert_allclose(run_on(operands)[1], _part(result, part), rtol=1e-5, atol=1e-6)


def test_every_rule_is_tried() -> None:
    assert {trial.kind.upper() for trial in TRIALS} == set(_RULES)
