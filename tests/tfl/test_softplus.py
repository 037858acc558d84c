"""The ops of a softplus; tests/lower/ops/math/test_math_precision.py compares its numbers."""

from __future__ import annotations

import pytest

from fuseconv.tfl.builder import Builder
from fuseconv.tfl.softplus import softplus
from tests.tf.text_cases import kinds, module_of

BELOW = ["EXP", "ADD", "LOG", "DIV", "NEG", "ELU", "ADD", "ADD"]


@pytest.mark.parametrize(
    ("positive", "made"), [(True, ["ABS", "NEG", *BELOW, "RELU", "ADD"]), (False, BELOW)], ids=["any", "below zero"]
)
def test_only_what_may_be_positive_takes_its_size(positive: bool, made: list[str]) -> None:
    module, _ = module_of("main {\n input %x: float32[n,3]\n return %x\n}")
    graph = module.signatures[0].graph
    value = softplus(Builder(graph.ops), graph.inputs[0], positive=positive)
    assert value.shape == graph.inputs[0].shape and kinds(module) == made
