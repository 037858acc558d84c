"""Traits name ops of TensorFlow, by kind."""

from __future__ import annotations

from fuseconv.load.op_defs import op_names
from fuseconv.tf import traits


def test_every_trait_names_ops_of_tensorflow() -> None:
    known = {f"tf.{name}" for name in op_names()}
    tables = {name: value for name, value in vars(traits).items() if isinstance(value, frozenset)}
    assert tables
    for name, kinds in tables.items():
        assert {kind if kind.startswith("tf.") else f"tf.{kind}" for kind in kinds} <= known, name
