"""Function annotated as `tfl_fusable_op` -> the custom op of its name.

The contract is TensorFlow Lite's (guide "TensorFlow operation fusion"; ConvertTflFusableOp of TFLiteConverter): the
annotation's name is the op's, its attributes but `tfl_fusable_op` are the op's options, in a flexbuffer map with sorted
keys. Integers, floats, strings, booleans and lists of them can be options.
"""

from __future__ import annotations

from typing import Any

from fuseconv.fuse.match import Fusion, Match, composite
from fuseconv.ir.graph import Value
from fuseconv.tfl.builder import Builder

FUSABLE = composite("*", "inputs* -> results*", attrs=None, only_if="tfl_fusable_op")
_OPTIONS = (bool, int, float, str, bytes)


def check(m: Match) -> None:
    for name, value in m.attrs.items():
        items = value if isinstance(value, list) else [value]
        m.require(
            all(isinstance(item, _OPTIONS) for item in items),
            f"the annotation's attribute {name} is neither a number nor a string, nor a list of them: {value!r}",
        )


def rewrite(tfl: Builder, m: Match) -> list[Value]:
    results: list[Any] = [(result.dtype, result.shape) for result in m.results.values()]
    return tfl.custom(m.composite, m.inputs, results, m.attrs)


FUSIONS = [Fusion("tfl_fusable_op", "CUSTOM", FUSABLE, rewrite, check)]
