"""Decompose the updates of optimizers -> reads of variables, arithmetic, and assignments.

The contract is that of TensorFlow's kernels, `training_ops.cc`. Optimizers of TensorFlow 1, and Keras's older ones,
have an op of their own for each step; newer ones are arithmetic from the start.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from fuseconv.ir.graph import Op, Value, constant
from fuseconv.ir.terms import op_of
from fuseconv.pass_manager import rewrite_pass
from fuseconv.tf.builder import TfBuilder

# Makes the new values of the variables from a builder, their values, and the other operands.
_Step = Callable[..., Sequence[Value]]


def _are_unique(indices: Value) -> bool:
    """Return whether indices are a result that has each number once."""
    return op_of(indices, _UNIQUE) is not None and indices.index == 0


def _read(tf: TfBuilder, handle: Value, like: Value, rows: Value | None) -> Value:
    value = tf.add("ReadVariableOp", [handle], {"dtype": like.dtype}, like.dtype)
    return value if rows is None else tf.GatherV2(value, rows, 0)


def _one_less(tf: TfBuilder, x: Value) -> Value:
    """Return 1 - x."""
    return tf.Sub(constant(np.ones((), x.dtype.numpy), x.dtype), x)


def _toward(tf: TfBuilder, mean: Value, x: Value, decay: Value) -> Value:
    """Return a moving mean after x: mean + (x - mean) * (1 - decay)."""
    return tf.AddV2(mean, tf.Mul(tf.Sub(x, mean), _one_less(tf, decay)))


def _gradient_descent(tf: TfBuilder, var: Value, alpha: Value, delta: Value) -> Sequence[Value]:
    return [tf.Sub(var, tf.Mul(delta, alpha))]


def _momentum(
    tf: TfBuilder, var: Value, accum: Value, lr: Value, grad: Value, momentum: Value, *, use_nesterov: bool = False
) -> Sequence[Value]:
    accum = tf.AddV2(tf.Mul(accum, momentum), grad)
    step = tf.AddV2(grad, tf.Mul(accum, momentum)) if use_nesterov else accum
    return [tf.Sub(var, tf.Mul(step, lr)), accum]


def _keras_momentum(
    tf: TfBuilder, var: Value, accum: Value, lr: Value, grad: Value, momentum: Value, *, use_nesterov: bool = False
) -> Sequence[Value]:
    descent = tf.Mul(grad, lr)
    accum = tf.Sub(tf.Mul(accum, momentum), descent)
    step = tf.Sub(tf.Mul(accum, momentum), descent) if use_nesterov else accum
    return [tf.AddV2(var, step), accum]


def _adam(
    tf: TfBuilder, var: Value, m: Value, v: Value, beta1_power: Value, beta2_power: Value, lr: Value, beta1: Value,
    beta2: Value, epsilon: Value, grad: Value, *, use_nesterov: bool = False,
) -> Sequence[Value]:  # fmt: skip
    m, v = _toward(tf, m, grad, beta1), _toward(tf, v, tf.Square(grad), beta2)
    first = tf.AddV2(tf.Mul(grad, _one_less(tf, beta1)), tf.Mul(m, beta1)) if use_nesterov else m
    step = tf.Mul(first, _adam_rate(tf, beta1_power, beta2_power, lr))
    return [tf.Sub(var, tf.RealDiv(step, tf.AddV2(tf.Sqrt(v), epsilon))), m, v]


def _amsgrad(
    tf: TfBuilder, var: Value, m: Value, v: Value, vhat: Value, beta1_power: Value, beta2_power: Value, lr: Value,
    beta1: Value, beta2: Value, epsilon: Value, grad: Value,
) -> Sequence[Value]:  # fmt: skip
    m, v = _toward(tf, m, grad, beta1), _toward(tf, v, tf.Square(grad), beta2)
    vhat = tf.Maximum(vhat, v)
    step = tf.Mul(m, _adam_rate(tf, beta1_power, beta2_power, lr))
    return [tf.Sub(var, tf.RealDiv(step, tf.AddV2(tf.Sqrt(vhat), epsilon))), m, v, vhat]


def _adam_rate(tf: TfBuilder, beta1_power: Value, beta2_power: Value, lr: Value) -> Value:
    return tf.RealDiv(tf.Mul(lr, tf.Sqrt(_one_less(tf, beta2_power))), _one_less(tf, beta1_power))


def _adamax(
    tf: TfBuilder, var: Value, m: Value, v: Value, beta1_power: Value, lr: Value, beta1: Value, beta2: Value,
    epsilon: Value, grad: Value,
) -> Sequence[Value]:  # fmt: skip
    m, v = _toward(tf, m, grad, beta1), tf.Maximum(tf.Mul(beta2, v), tf.Abs(grad))
    rate = tf.RealDiv(lr, _one_less(tf, beta1_power))
    return [tf.Sub(var, tf.Mul(rate, tf.RealDiv(m, tf.AddV2(v, epsilon)))), m, v]


def _adagrad(
    tf: TfBuilder, var: Value, accum: Value, lr: Value, grad: Value, *, update_slots: bool = True
) -> Sequence[Value]:
    accum = tf.AddV2(accum, tf.Square(grad)) if update_slots else accum
    return [tf.Sub(var, tf.Mul(tf.Mul(grad, lr), tf.Rsqrt(accum))), accum]


def _adagrad_v2(
    tf: TfBuilder, var: Value, accum: Value, lr: Value, epsilon: Value, grad: Value, *, update_slots: bool = True
) -> Sequence[Value]:
    accum = tf.AddV2(accum, tf.Square(grad)) if update_slots else accum
    return [tf.Sub(var, tf.RealDiv(tf.Mul(grad, lr), tf.AddV2(tf.Sqrt(accum), epsilon))), accum]


def _adadelta(
    tf: TfBuilder, var: Value, accum: Value, accum_update: Value, lr: Value, rho: Value, epsilon: Value, grad: Value
) -> Sequence[Value]:
    accum = _toward(tf, accum, tf.Square(grad), rho)
    step = tf.Mul(tf.Mul(tf.Sqrt(tf.AddV2(accum_update, epsilon)), tf.Rsqrt(tf.AddV2(accum, epsilon))), grad)
    return [tf.Sub(var, tf.Mul(step, lr)), accum, _toward(tf, accum_update, tf.Square(step), rho)]


def _rmsprop(
    tf: TfBuilder, var: Value, ms: Value, mom: Value, lr: Value, rho: Value, momentum: Value, epsilon: Value,
    grad: Value,
) -> Sequence[Value]:  # fmt: skip
    ms = _toward(tf, ms, tf.Square(grad), rho)
    step = tf.Mul(tf.Mul(grad, lr), tf.Rsqrt(tf.AddV2(ms, epsilon)))
    mom = tf.AddV2(tf.Mul(mom, momentum), step)
    return [tf.Sub(var, mom), ms, mom]


def _centered_rmsprop(
    tf: TfBuilder, var: Value, mg: Value, ms: Value, mom: Value, lr: Value, rho: Value, momentum: Value,
    epsilon: Value, grad: Value,
) -> Sequence[Value]:  # fmt: skip
    ms, mg = _toward(tf, ms, tf.Square(grad), rho), _toward(tf, mg, grad, rho)
    spread = tf.AddV2(tf.Sub(ms, tf.Square(mg)), epsilon)
    mom = tf.AddV2(tf.Mul(mom, momentum), tf.Mul(tf.Mul(grad, lr), tf.Rsqrt(spread)))
    return [tf.Sub(var, mom), mg, ms, mom]


def _ftrl(
    tf: TfBuilder, var: Value, accum: Value, linear: Value, grad: Value, lr: Value, l1: Value, l2: Value,
    lr_power: Value,
) -> Sequence[Value]:  # fmt: skip
    return _ftrl_v2(tf, var, accum, linear, grad, lr, l1, l2, None, lr_power)


def _ftrl_v2(
    tf: TfBuilder, var: Value, accum: Value, linear: Value, grad: Value, lr: Value, l1: Value, l2: Value,
    l2_shrinkage: Value | None, lr_power: Value,
) -> Sequence[Value]:  # fmt: skip
    def rate(sums: Value) -> Value:
        half = lr_power.data is not None and float(lr_power.data) == -0.5
        return tf.RealDiv(tf.Sqrt(sums) if half else tf.Pow(sums, tf.Neg(lr_power)), lr)

    shrunk = grad
    if l2_shrinkage is not None:
        shrunk = tf.AddV2(grad, tf.Mul(tf.AddV2(l2_shrinkage, l2_shrinkage), var))
    old, accum = rate(accum), tf.AddV2(accum, tf.Square(grad))
    new = rate(accum)
    linear = tf.AddV2(linear, tf.Sub(shrunk, tf.Mul(tf.Sub(new, old), var)))
    inside = tf.Maximum(tf.Minimum(linear, l1), tf.Neg(l1))
    return [tf.RealDiv(tf.Sub(inside, linear), tf.AddV2(new, tf.AddV2(l2, l2))), accum, linear]


_STEPS: dict[str, _Step] = {
    "tf.ResourceApplyGradientDescent": _gradient_descent,
    "tf.ResourceApplyMomentum": _momentum,
    "tf.ResourceApplyKerasMomentum": _keras_momentum,
    "tf.ResourceApplyAdam": _adam,
    "tf.ResourceApplyAdamWithAmsgrad": _amsgrad,
    "tf.ResourceApplyAdaMax": _adamax,
    "tf.ResourceApplyAdagrad": _adagrad,
    "tf.ResourceApplyAdagradV2": _adagrad_v2,
    "tf.ResourceApplyAdadelta": _adadelta,
    "tf.ResourceApplyRMSProp": _rmsprop,
    "tf.ResourceApplyCenteredRMSProp": _centered_rmsprop,
    "tf.ResourceApplyFtrl": _ftrl,
    "tf.ResourceApplyFtrlV2": _ftrl_v2,
    "tf.ResourceSparseApplyFtrl": _ftrl,
    "tf.ResourceSparseApplyFtrlV2": _ftrl_v2,
    "tf.ResourceSparseApplyAdadelta": _adadelta,
    "tf.ResourceSparseApplyRMSProp": _rmsprop,
    "tf.ResourceSparseApplyMomentum": _momentum,
    "tf.ResourceSparseApplyKerasMomentum": _keras_momentum,
    "tf.ResourceSparseApplyAdagrad": _adagrad,
    "tf.ResourceSparseApplyAdagradV2": _adagrad_v2,
}
_OF_ROWS = frozenset(kind for kind in _STEPS if kind.startswith("tf.ResourceSparseApply"))
_UNIQUE = frozenset({"tf.Unique", "tf.UniqueV2"})


@rewrite_pass("decompose-optimizers", _STEPS)
def decompose_optimizers(op: Op, out: list[Op]) -> list[Value] | None:
    """Write updates of optimizers as arithmetic: ResourceApplyGradientDescent(v, a, d) -> v.assign(v - a * d).

    Updates of rows gather and scatter them. They stay, to be refused, if their indices may not be unique: the op takes
    equal ones in turn. So do those of Ftrl that keep a product with the learning rate."""
    given = [x for x in op.operands if x is not None]
    handles = [x for x in given if x.dtype.is_handle]
    indices = [x for x in given if x.dtype.is_integer] if op.kind in _OF_ROWS else []
    others = [x for x in given if x not in handles and x not in indices]
    if len(given) != len(op.operands) or not others or not all(map(_are_unique, indices)):
        return None
    if op.attrs.get("multiply_linear_by_lr"):
        return None
    rows = indices[0] if indices else None
    tf = TfBuilder(out, op)
    values = [_read(tf, handle, others[0], rows) for handle in handles]
    flags = {name: value for name, value in op.attrs.items() if name in ("use_nesterov", "update_slots")}
    for handle, value in zip(handles, _STEPS[op.kind](tf, *values, *others, **flags), strict=True):
        kind, operands = "tf.AssignVariableOp", [handle, value]
        if rows is not None:
            kind, operands = "tf.ResourceScatterUpdate", [handle, rows, value]
        out.append(Op(kind, operands, {}, op.name, op.sources))
    return []
