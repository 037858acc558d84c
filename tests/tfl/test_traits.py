"""Traits name ops of TFLite, by kind."""

from __future__ import annotations

import fuseconv.tfl.ops  # noqa: F401  fills the table
from fuseconv.ir.graph import Op
from fuseconv.tfl import traits
from fuseconv.tfl.opdef import TABLE


def test_every_trait_names_ops_of_tflite() -> None:
    tables = {name: value for name, value in vars(traits).items() if isinstance(value, frozenset)}
    assert tables
    for name, kinds in tables.items():
        assert {kind.removeprefix("tfl.") for kind in kinds} <= TABLE.keys(), name


def test_the_activation_of_an_op() -> None:
    assert traits.activation_of(Op("tfl.ADD", [], {"fused_activation_function": "RELU"})) == "RELU"
    assert traits.activation_of(Op("tfl.ADD")) == "NONE"
