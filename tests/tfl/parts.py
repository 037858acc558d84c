"""Holds a rule, which tells of the parts of operands that an op needs for a part of its result, to the runtime."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from fuseconv.ir import types
from fuseconv.ir.graph import Op, Value
from fuseconv.tfl.builder import Builder
from fuseconv.tfl.slice_rules import Needs, Part
from fuseconv.write.flatbuffer_export import to_bytes
from tests.tfl import cases
from tests.tfl.interpret import module_of, run_file

# The operand that tells the shape of the result.
_SHAPE = {"reshape": 1, "transpose_conv": 0}


def check_parts(trial: cases.Case, rule: Callable[[Op, Part], Needs], begin: Callable[[int], int]) -> None:
    """Make the elements behind `begin` of each dimension that the op keeps apart of the parts of its operands."""
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
        part = Part(axis, begin(size), size)
        wanted = rule(whole.op, part) if size > 1 else None  # type: ignore[arg-type]
        if wanted is not None:
            assert any(wanted)
            operands = [_part(array, inner) for array, inner in zip(given, wanted)]
            if trial.kind in _SHAPE:
                operands[_SHAPE[trial.kind]] = np.array(_part(result, part).shape, np.int32)
            np.testing.assert_allclose(run_on(operands)[1], _part(result, part), rtol=1e-5, atol=1e-6)


def _part(array: Any, part: Part | None) -> Any:
    if part is None:
        return array
    index = [slice(None)] * array.ndim
    index[part.axis] = slice(part.begin, part.end)
    return array[tuple(index)]
