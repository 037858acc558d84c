"""Decompose ops into which Grappler puts several when it optimizes a graph -> those several.

The contract is that of remapper.cc and the kernels. `fused_ops` names what is computed of the product, one after the
other. `args` are what these need besides: a bias, an addend, or a batch norm's scale, offset, mean and variance. TF1's
Graph Transform Tool (fuse_pad_and_conv, fuse_resize_pad_and_conv) merged padding and resizing into the convolution
behind them. For a batch of more than one image TensorFlow 2.21's kernel computes that wrongly.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from fuseconv.ir import types
from fuseconv.ir.graph import Op, Value
from fuseconv.pass_manager import rewrite_pass
from fuseconv.tf.builder import TfBuilder

_PRODUCTS = {
    "tf._FusedConv2D": "Conv2D",
    "tf._FusedConv3D": "Conv3D",
    "tf._FusedDepthwiseConv2dNative": "DepthwiseConv2dNative",
    "tf._FusedMatMul": "MatMul",
}
_NORM = "tf._FusedBatchNormEx"
_PADDED = ("tf.FusedPadConv2D", "tf.FusedResizeAndPadConv2D")
# Attributes of the op that are not those of the product.
_OWN = frozenset({
    "num_args", "num_host_args", "TArgs", "fused_ops", "epsilon", "leakyrelu_alpha", "filter_format", "padding_list",
    "use_cudnn_on_gpu", "T",
})  # fmt: skip
_ACTIVATIONS = frozenset({"Relu", "Relu6", "Elu", "Tanh", "Sigmoid"})
_EPSILON = 1e-4  # what the ops have by default
_ALPHA = 0.2


def _is_known(op: Op) -> bool:
    if any(result.uses for result in op.results[1:]):
        return False
    if op.kind == _NORM:
        return op.attrs.get("activation_mode", "Identity") in ("Identity", "Relu")
    if op.kind in _PADDED:
        return all(value is None or value.dtype in (types.FLOAT32, types.INT32) for value in op.operands)
    plain = op.attrs.get("filter_format", "HWIO") == "HWIO" and not any(op.attrs.get("padding_list", ()))
    known = _ACTIVATIONS | _WITH_OPERANDS.keys() | {"LeakyRelu"}
    return plain and not op.attrs.get("num_host_args") and known.issuperset(op.attrs.get("fused_ops", ()))


def _product(tf: TfBuilder, op: Op) -> Value:
    x, weights, *args = (value for value in op.operands if value is not None)
    attrs = {key: value for key, value in op.attrs.items() if key not in _OWN}
    y = tf.add(_PRODUCTS[op.kind], [x, weights], attrs, x.dtype)
    rest = iter(args)
    for name in op.attrs.get("fused_ops", ()):
        if name in _WITH_OPERANDS:
            y = _WITH_OPERANDS[name](tf, y, rest)
        elif name == "LeakyRelu":
            y = tf.LeakyRelu(y, alpha=op.attrs.get("leakyrelu_alpha", _ALPHA))
        else:
            y = getattr(tf, name)(y)
    return y


def _padded(tf: TfBuilder, op: Op) -> Value:
    x, *size, paddings, weights = (value for value in op.operands if value is not None)
    if size:
        x = tf.ResizeBilinear(x, *size, align_corners=op.attrs.get("resize_align_corners", False))
    x = tf.MirrorPad(x, paddings, mode=op.attrs["mode"])
    return tf.Conv2D(x, weights, strides=op.attrs["strides"], padding=op.attrs["padding"])


def _norm(tf: TfBuilder, op: Op) -> Value:
    operands = [value for value in op.operands if value is not None]
    y = _normalized(tf, operands[0], iter(operands[1:5]))
    for side in operands[5:]:
        y = tf.AddV2(y, side)
    return tf.Relu(y) if op.attrs.get("activation_mode", "Identity") == "Relu" else y


def _normalized(tf: TfBuilder, x: Value, args: Iterator[Value]) -> Value:
    parameters = [next(args) for _ in range(4)]
    given = tf.op.attrs
    attrs: dict[str, Any] = {key: given[key] for key in ("data_format", "exponential_avg_factor") if key in given}
    attrs["epsilon"] = given.get("epsilon", _EPSILON)
    # Of an op with other parts, the norm is never that of a batch.
    attrs["is_training"] = tf.op.kind == _NORM and given.get("is_training", True)
    y = tf.add("FusedBatchNormV3", [x, *parameters], attrs, x.dtype)
    for _ in range(5):
        y.op.add_result(parameters[0].dtype, None)  # type: ignore[union-attr]
    return y


def _biased(tf: TfBuilder, x: Value, args: Iterator[Value]) -> Value:
    layout = {"data_format": "NCHW"} if tf.op.attrs.get("data_format", "NHWC").startswith("NC") else {}
    return tf.BiasAdd(x, next(args), **layout)


def _added(tf: TfBuilder, x: Value, args: Iterator[Value]) -> Value:
    return tf.AddV2(x, next(args))


# Parts that take operands of their own.
_WITH_OPERANDS: dict[str, Callable[[TfBuilder, Value, Iterator[Value]], Value]] = {
    "BiasAdd": _biased, "Add": _added, "FusedBatchNorm": _normalized,
}  # fmt: skip
_DECOMPOSE: dict[str, Callable[[TfBuilder, Op], Value]] = {
    **dict.fromkeys(_PRODUCTS, _product), **dict.fromkeys(_PADDED, _padded), _NORM: _norm,
}  # fmt: skip


@rewrite_pass("decompose-grappler-kernels", _DECOMPOSE)
def decompose_grappler_kernels(op: Op, out: list[Op]) -> list[Value] | None:
    """Take apart ops that Grappler fused: _FusedConv2D(x, w, b; BiasAdd, Relu) -> Relu(BiasAdd(Conv2D(x, w), b)).

    An op with a part that is not known stays, to be refused by name."""
    return [_DECOMPOSE[op.kind](TfBuilder(out, op), op)] if _is_known(op) else None
