"""Ops in another form compute the same, in LiteRT, and the target takes them."""

from __future__ import annotations

import numpy as np

from fuseconv.fuse.registry import Registry
from fuseconv.ir.graph import Module
from fuseconv.ir.verifier import check
from fuseconv.report.records import Report
from fuseconv.targets.signature import signature_of
from fuseconv.targets.target import Target
from fuseconv.transforms.tfl.legalize_for_target import legalize_for_target
from fuseconv.write.flatbuffer_export import to_bytes
from tests.tf.text_cases import kinds, module_of
from tests.tfl.interpret import run_file


def without(*types: str) -> Target:
    """A target that takes every op but these."""
    return Target("most", "a test", refused=frozenset(types), others=True)


def target_of(name: str) -> Target:
    return Registry().target(name)


def forms_of(target: Target, operands: str, op: str, low: float = -4, high: float = 4) -> list[str]:
    """Return the types of ops that one op becomes for a target that refuses it and takes these; they compute the same.

    operands: types of inputs, as "float32[2,3] int32[4]"; op: as "float32[2,3] = tfl.GELU(%0)", several results as
    "float32[2,1], int32[2,1] = ...". low, high: between which numbers the inputs are."""
    inputs = operands.split()
    module, before = _module(inputs, op), _module(inputs, op)
    (refused,) = before.signatures[0].graph.ops
    assert target.refusal(signature_of(refused)) is not None
    legalize_for_target(module, target, Report())
    check(module)
    ops = module.signatures[0].graph.ops
    assert not [made for made in ops if target.refusal(signature_of(made)) is not None]
    rng = np.random.default_rng(7)
    fed = [_drawn(rng, module.signatures[0].graph.inputs[i], low, high) for i in range(len(inputs))]
    expected, found = ([*run_file(to_bytes(m), *fed, signature="serving_default")] for m in (before, module))
    for old, new in zip(expected, found, strict=True):
        assert old.shape == new.shape and old.dtype == new.dtype
        np.testing.assert_allclose(new, old, rtol=1e-6, atol=5e-7 * max(abs(low), abs(high)))
    return kinds(module)


def _module(inputs: list[str], op: str) -> Module:
    types, _, made = op.partition(" = ")
    results = types.split(", ") if "], " in types else [types]
    for index in range(len(inputs)):
        made = made.replace(f"%{index}", f"%i{index}")
    lines = ["main {", *(f"input %i{index}: {type}" for index, type in enumerate(inputs))]
    names = ", ".join(f"%y{index}" for index in range(len(results)))
    declared = "; ".join(f"%y{index}: {type}" for index, type in enumerate(results))
    module, _ = module_of("\n".join([*lines, f"{declared} = {made}", f"return {names}", "}"]))
    signature = module.signatures[0]
    signature.inputs = [f"x{index}" for index in range(len(signature.inputs))]
    signature.outputs = [f"y{index}" for index in range(len(signature.outputs))]
    return module


def _drawn(rng: np.random.Generator, value, low: float, high: float) -> np.ndarray:
    dtype, shape = value.dtype.numpy, value.shape
    if dtype == np.bool_:
        return rng.random(shape) < 0.5
    drawn = rng.uniform(low, high, shape)
    return (drawn if dtype.kind == "f" else np.floor(drawn)).astype(dtype)
