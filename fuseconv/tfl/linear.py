"""Linear TFLite ops (products with weights, plus a bias): the layout of their operands."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fuseconv.ir import types
from fuseconv.ir.dims import is_static
from fuseconv.ir.graph import Op, Value
from fuseconv.tfl.traits import activation_of


class Layout(NamedTuple):
    """Operands of a linear op, by index, and the axes of its weights that hold input and output channels.

    The channels are the last dimension of data and result. The bias, one number an output channel, may be left out.
    """

    data: int
    weights: int
    bias: int
    inputs: int
    outputs: int


LAYOUTS = {
    "CONV_2D": Layout(0, 1, 2, inputs=3, outputs=0),
    "DEPTHWISE_CONV_2D": Layout(0, 1, 2, inputs=3, outputs=3),
    "TRANSPOSE_CONV": Layout(2, 1, 3, inputs=3, outputs=0),
    "CONV_3D": Layout(0, 1, 2, inputs=3, outputs=4),
    "CONV_3D_TRANSPOSE": Layout(2, 1, 3, inputs=4, outputs=3),
    "FULLY_CONNECTED": Layout(0, 1, 2, inputs=1, outputs=0),
}
# What CalculateActivationRange of the runtime's kernels knows, and FULLY_CONNECTED's Prepare lets pass.
FUSED_ACTIVATIONS = ("RELU", "RELU6", "RELU_N1_TO_1")


class Linear(NamedTuple):
    """A linear op with weights of float32, which are constant unless computed ones were asked for."""

    op: Op
    layout: Layout
    weights: Value
    bias: np.ndarray | None

    @property
    def data(self) -> Value:
        value = self.op.operands[self.layout.data]
        assert value is not None
        return value

    @property
    def activation(self) -> str:
        return activation_of(self.op)

    @property
    def sizes(self) -> tuple[int, ...]:
        """Return the shape of the weights."""
        return self.weights.shape  # type: ignore[return-value]

    @property
    def array(self) -> np.ndarray:
        """Return the elements of the weights: a copy in memory, if they are a product."""
        assert self.weights.data is not None
        return self.weights.data

    @property
    def outputs(self) -> int:
        """Return the number of output channels."""
        return self.sizes[self.layout.outputs]

    @property
    def inputs(self) -> int | None:
        """Return the number of channels of the data; None if it is not known, or if groups of output channels read
        others."""
        channels = self.sizes[self.layout.inputs]
        if self.op.type == "FULLY_CONNECTED":
            return channels
        known = self.data.shape[-1] if self.data.shape else None
        # An output channel of a depthwise convolution reads one input channel, the first few the first one.
        same = known == channels or self.op.type == "DEPTHWISE_CONV_2D"
        return known if same and isinstance(known, int) else None

    @property
    def pads(self) -> bool:
        """Return whether a window may read zeros beside the data."""
        if self.op.type == "FULLY_CONNECTED":
            return False
        if self.op.type in ("TRANSPOSE_CONV", "CONV_3D_TRANSPOSE"):
            return True
        channel_axes = {self.layout.inputs, self.layout.outputs}
        window = [size for axis, size in enumerate(self.sizes) if axis not in channel_axes]
        return self.op.attrs.get("padding", "SAME") != "VALID" and any(size != 1 for size in window)

    def along_outputs(self, channels: np.ndarray) -> np.ndarray:
        """Return one number an output channel, shaped to broadcast to the weights."""
        return _along(channels, self.layout.outputs, len(self.sizes))

    def along_inputs(self, channels: np.ndarray) -> np.ndarray:
        """Return one number an input channel (`inputs` of them), shaped to broadcast to the weights."""
        if self.op.type == "DEPTHWISE_CONV_2D":
            channels = np.repeat(channels, self.outputs // len(channels))
        return _along(channels, self.layout.inputs, len(self.sizes))

    def per_output(self, weights: np.ndarray) -> np.ndarray:
        """Return the sums of weights for each output channel."""
        others = tuple(axis for axis in range(weights.ndim) if axis != self.layout.outputs)
        return weights.sum(axis=others, dtype=np.float64).astype(np.float32)


def linear(op: Op | None, computed: bool = False) -> Linear | None:
    """Read an op as a linear one; None if it is none, or its weights or bias are not constants of float32.

    computed: take weights of known sizes that are no constants, too, which have no `array`."""
    layout = LAYOUTS.get(op.type) if op is not None and op.dialect == "tfl" else None
    if op is None or layout is None or op.result.dtype is not types.FLOAT32:
        return None
    weights = op.operands[layout.weights]
    bias = op.operands[layout.bias] if layout.bias < len(op.operands) else None
    if weights is None or not _is_float(weights) or not (weights.is_const or (computed and is_static(weights.shape))):
        return None
    if bias is not None and not (bias.is_const and _is_float(bias)):
        return None
    if op.attrs.get("weights_format", "DEFAULT") != "DEFAULT":
        return None
    return Linear(op, layout, weights, None if bias is None else bias.data)


def _is_float(value: Value) -> bool:
    return value.dtype is types.FLOAT32 and value.quantization is None


def _along(channels: np.ndarray, axis: int, rank: int) -> np.ndarray:
    return channels.reshape([-1 if at == axis else 1 for at in range(rank)])
