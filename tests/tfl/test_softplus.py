"""The ops of a softplus; tests/lower/ops/math/test_math_precision.py compares its numbers."""

from __future__ import annotations

from collections.abc import Callable

from fuseconv.ir.graph import Value
from fuseconv.tfl.builder import Builder
from fuseconv.tfl.softplus import coarse_softplus, softplus, softplus_of_negative
from tests.tf.text_cases import kinds, module_of

FRACTION = ["LOGISTIC", "ADD", "MUL", "ADD", "MUL", "ADD", "DIV", "ADD", "MUL"]


def test_what_may_be_positive_takes_its_size() -> None:
    assert _made(softplus) == ["RELU", "LEAKY_RELU", "NEG", *FRACTION, "SUB"]


def test_what_is_negative_is_told_by_its_size() -> None:
    assert _made(softplus_of_negative) == ["NEG", *FRACTION, "NEG"]


def test_a_coarse_one_is_a_logarithm() -> None:
    assert _made(coarse_softplus) == ["RELU", "LEAKY_RELU", "LOGISTIC", "LOG", "SUB"]


def _made(function: Callable[[Builder, Value], Value]) -> list[str]:
    module, _ = module_of("main {\n input %x: float32[n,3]\n return %x\n}")
    graph = module.signatures[0].graph
    assert function(Builder(graph.ops), graph.inputs[0]).shape == graph.inputs[0].shape
    return kinds(module)
