"""The rows of `fuseconv fusions` and `fuseconv ops`."""

from __future__ import annotations

import functools
from types import SimpleNamespace
from typing import Any

from fuseconv.ir.op_function import op_function
from fuseconv.report.listing import builds, fusion_rows, rule_rows
from tests.random_weights import randomize


def relu(tfl, x):
    """max(x, 0)"""
    return tfl.maximum(x, tfl.shape)


def _pool(pool, x):
    return pool(x)


def pooled(tfl, x):
    return _pool(tfl.max_pool_2d, x)


def _moved(tfl, kind, x):
    return tfl.op(kind, (x,), {})


def blocks(tfl, x):
    return _moved(tfl, "SPACE_TO_BATCH_ND", tfl.reshape(x, []))


def _binary(name):
    def rule(tfl, x, y):
        return getattr(tfl, name)(x, y)

    return rule


add = _binary("add")


def elsewhere(tfl, x):
    return randomize(tfl, x)


def _wrapped(rule):
    @functools.wraps(rule)
    def wrapped(tfl, *operands):
        return tfl.cast(rule(tfl, *operands))

    return wrapped


@_wrapped
def logical(tfl, x, y):
    return _logical(tfl, x, y)


def _logical(tfl, x, y):
    return tfl.logical_and(x, y) if y else logical(tfl, y, x)


KERNELS = {"Less": "LESS", "Greater": "GREATER"}


def looked_up(tfl: Any, x: Any, y: Any) -> Any:
    return tfl.op(KERNELS[tfl.source.type], (x, y), {})


def test_the_ops_that_a_rule_builds() -> None:
    assert builds(relu) == ["MAXIMUM"]
    assert builds(pooled) == ["MAX_POOL_2D"]
    assert builds(blocks) == ["RESHAPE", "SPACE_TO_BATCH_ND"]
    assert builds(add) == ["ADD"]
    assert builds(elsewhere) == []
    assert [builds(looked_up, op) for op in ("Less", "Greater", "Add")] == [["LESS"], ["GREATER"], []]


def custom(tfl, x):
    return tfl.custom("AcmeNorm", [x], [(x.dtype, x.shape)])


def test_a_rule_that_builds_a_custom_op() -> None:
    assert builds(custom) == ["CUSTOM"]


def test_helpers_are_followed_and_decorators_are_not() -> None:
    assert builds(logical.__wrapped__) == ["LOGICAL_AND"]


def test_rows() -> None:
    registry: Any = SimpleNamespace(
        fusions=[
            SimpleNamespace(name="keras_lstm", annotations=("lstm_*",), emits="LSTM", summary="A loop -> one op."),
            SimpleNamespace(name="gelu", annotations=(), emits="GELU", summary="x * Phi(x) -> GELU"),
        ],
        rules={"Relu": op_function(relu, "Relu"), "And": op_function(logical, "And")},
        origin=lambda name: f"a.{name.removeprefix('keras_')}",
    )
    first, second = fusion_rows(registry)
    assert first == {
        "name": "keras_lstm", "matches": "lstm_*", "emits": "LSTM", "summary": "A loop -> one op.",
        "origin": "a.lstm",
    }  # fmt: skip
    assert second["matches"] == ""
    assert rule_rows(registry) == [
        {"op": "And", "emits": ["LOGICAL_AND"], "attributes": [], "summary": "", "origin": "a.And"},
        {"op": "Relu", "emits": ["MAXIMUM"], "attributes": [], "summary": "max(x, 0)", "origin": "a.Relu"},
    ]
