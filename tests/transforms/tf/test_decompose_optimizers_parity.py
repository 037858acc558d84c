"""Parity of training with TensorFlow's optimizers that have an op for each step, state and several steps included."""

from __future__ import annotations

import functools
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf
from ai_edge_litert.interpreter import Interpreter

from fuseconv.api import convert
from fuseconv.errors import UnsupportedError

raw = tf.raw_ops
SHAPE = (4, 3)
FLOAT = tf.TensorSpec(SHAPE, tf.float32)
B1, B2, LR, EPS, RHO, MOM = 0.9, 0.99, 0.1, 1e-3, 0.8, 0.7
# op -> how many variables it writes, and its operands in their order; "grad" is the gradient
STEPS = {
    "ResourceApplyGradientDescent": (1, {"alpha": LR, "delta": "grad"}),
    "ResourceApplyMomentum": (2, {"lr": LR, "grad": "grad", "momentum": MOM}),
    "ResourceApplyKerasMomentum": (2, {"lr": LR, "grad": "grad", "momentum": MOM}),
    "ResourceApplyAdam": (
        3, {"beta1_power": B1, "beta2_power": B2, "lr": LR, "beta1": B1, "beta2": B2, "epsilon": EPS, "grad": "grad"},
    ),
    "ResourceApplyAdamWithAmsgrad": (
        4, {"beta1_power": B1, "beta2_power": B2, "lr": LR, "beta1": B1, "beta2": B2, "epsilon": EPS, "grad": "grad"},
    ),
    "ResourceApplyAdaMax": (
        3, {"beta1_power": B1, "lr": LR, "beta1": B1, "beta2": B2, "epsilon": EPS, "grad": "grad"},
    ),
    "ResourceApplyAdagrad": (2, {"lr": LR, "grad": "grad"}),
    "ResourceApplyAdagradV2": (2, {"lr": LR, "epsilon": EPS, "grad": "grad"}),
    "ResourceApplyAdadelta": (3, {"lr": LR, "rho": RHO, "epsilon": EPS, "grad": "grad"}),
    "ResourceApplyRMSProp": (3, {"lr": LR, "rho": RHO, "momentum": MOM, "epsilon": EPS, "grad": "grad"}),
    "ResourceApplyCenteredRMSProp": (4, {"lr": LR, "rho": RHO, "momentum": MOM, "epsilon": EPS, "grad": "grad"}),
    "ResourceApplyFtrl": (3, {"grad": "grad", "lr": LR, "l1": 0.2, "l2": 0.1, "lr_power": -0.5}),
    "ResourceApplyFtrlV2": (
        3, {"grad": "grad", "lr": LR, "l1": 0.2, "l2": 0.1, "l2_shrinkage": 0.3, "lr_power": -0.4},
    ),
}  # fmt: skip
OF_ROWS = {
    "ResourceSparseApplyAdadelta": (
        3, {"lr": LR, "rho": RHO, "epsilon": EPS, "grad": "grad", "indices": "rows"},
    ),
    "ResourceSparseApplyRMSProp": (
        3, {"lr": LR, "rho": RHO, "momentum": MOM, "epsilon": EPS, "grad": "grad", "indices": "rows"},
    ),
    "ResourceSparseApplyFtrl": (
        3, {"grad": "grad", "indices": "rows", "lr": LR, "l1": 0.2, "l2": 0.1, "lr_power": -0.5},
    ),
    "ResourceSparseApplyFtrlV2": (
        3, {"grad": "grad", "indices": "rows", "lr": LR, "l1": 0.2, "l2": 0.1, "l2_shrinkage": 0.3, "lr_power": -0.5},
    ),
    "ResourceSparseApplyMomentum": (2, {"lr": LR, "grad": "grad", "indices": "rows", "momentum": MOM}),
    "ResourceSparseApplyKerasMomentum": (2, {"lr": LR, "grad": "grad", "indices": "rows", "momentum": MOM}),
    "ResourceSparseApplyAdagrad": (2, {"lr": LR, "grad": "grad", "indices": "rows"}),
    "ResourceSparseApplyAdagradV2": (2, {"lr": LR, "epsilon": EPS, "grad": "grad", "indices": "rows"}),
}  # fmt: skip
HANDLES = {
    "Momentum": ["accum"], "KerasMomentum": ["accum"], "Adagrad": ["accum"], "AdagradV2": ["accum"],
    "Adam": ["m", "v"], "AdamWithAmsgrad": ["m", "v", "vhat"], "AdaMax": ["m", "v"],
    "Ftrl": ["accum", "linear"], "FtrlV2": ["accum", "linear"],
    "Adadelta": ["accum", "accum_update"], "RMSProp": ["ms", "mom"], "CenteredRMSProp": ["mg", "ms", "mom"],
}  # fmt: skip


def trained(op, operands, others, **flags):
    """Return a module whose function takes a step, and returns all variables."""
    module = tf.Module()
    names = ["var", *HANDLES.get(op.split("Apply")[1], [])]
    # A variance is never below what its mean squared is.
    first = {"var": 0.5, "ms": 2.0, "accum": 1.0, "v": 0.3, "vhat": 0.4, "accum_update": 0.2}
    module.variables_ = [tf.Variable(tf.fill(SHAPE, first.get(name, 0.1))) for name in names]

    def step(x, *rows):
        given = {"grad": x, "rows": tf.unique(rows[0])[0] if rows else None}
        if rows:
            given["grad"] = x[: tf.size(given["rows"])]
        fed = {name: given[value] if isinstance(value, str) else value for name, value in others.items()}
        handles = {name: variable.handle for name, variable in zip(names, module.variables_, strict=True)}
        getattr(raw, op)(**handles, **fed, **flags)
        return {name: variable.read_value() for name, variable in zip(names, module.variables_)}

    assert len(names) == operands
    module.step = tf.function(step)
    return module


def compare(module, path: Path, inputs):
    """Take three steps in both."""
    names = [f"a{n}" for n in range(len(inputs[0]))]
    specs = [tf.TensorSpec(array.shape, array.dtype, name) for name, array in zip(names, inputs[0])]
    tf.saved_model.save(module, str(path), signatures=module.step.get_concrete_function(*specs))
    data = convert(path).data
    interpreter = Interpreter(model_content=data)
    runner = interpreter.get_signature_runner()
    fed = list(runner.get_input_details())
    assert len(fed) == len(names)
    for arrays in inputs:
        expected = module.step(*map(tf.constant, arrays))
        actual = runner(**dict(zip(sorted(fed), arrays)))
        for name, value in expected.items():
            np.testing.assert_allclose(actual[name], value.numpy(), rtol=1e-5, atol=1e-6, err_msg=name)


def draws(*others):
    rng = np.random.default_rng(0)
    return [[rng.standard_normal(SHAPE).astype(np.float32), *(make(rng) for make in others)] for _ in range(3)]


@pytest.mark.parametrize("op", STEPS)
def test_steps(op, tmp_path):
    compare(trained(op, *STEPS[op]), tmp_path / "model", draws())


@pytest.mark.parametrize("op", ["ResourceApplyMomentum", "ResourceApplyKerasMomentum", "ResourceApplyAdam"])
def test_nesterov(op, tmp_path):
    compare(trained(op, *STEPS[op], use_nesterov=True), tmp_path / "model", draws())


@pytest.mark.parametrize("op", ["ResourceApplyAdagrad", "ResourceApplyAdagradV2", "ResourceSparseApplyAdagrad"])
def test_slots_that_stay(op, tmp_path):
    rows = [functools.partial(lambda rng: rng.integers(0, 4, 4).astype(np.int32))] if "Sparse" in op else []
    step = trained(op, *(STEPS | OF_ROWS)[op], update_slots=False)
    compare(step, tmp_path / "model", draws(*rows))


@pytest.mark.parametrize("op", OF_ROWS)
def test_rows(op, tmp_path):
    compare(trained(op, *OF_ROWS[op]), tmp_path / "model", draws(lambda rng: rng.integers(0, 4, 4).astype(np.int32)))


def test_a_product_with_the_learning_rate_is_refused(tmp_path):
    op = "ResourceApplyFtrl"
    with pytest.raises(UnsupportedError, match=op):
        compare(trained(op, *STEPS[op], multiply_linear_by_lr=True), tmp_path / "model", draws())


def test_rows_that_may_be_equal_are_refused(tmp_path):
    module = tf.Module()
    module.var, module.accum = tf.Variable(tf.ones(SHAPE)), tf.Variable(tf.ones(SHAPE))

    @tf.function(input_signature=[FLOAT, tf.TensorSpec([4], tf.int32)])
    def step(grad, rows):
        handles = {"var": module.var.handle, "accum": module.accum.handle}
        raw.ResourceSparseApplyAdagrad(**handles, lr=LR, grad=grad, indices=rows)
        return {"var": module.var.read_value()}

    module.step = step
    tf.saved_model.save(module, str(tmp_path / "model"), signatures=step)
    with pytest.raises(UnsupportedError, match="ResourceSparseApplyAdagrad"):
        convert(tmp_path / "model")
