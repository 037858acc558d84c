"""MediaTek's NPUs, by LiteRT's compiler plug-in.

Source: `kSupportedOps` of `litert/vendors/mediatek/compiler/compiler_plugin.cc`, and `VerifyCommonOp`, of
google-ai-edge/LiteRT; options that are left unread, and operands that an op needs, by `create_model.cc` and
`legalizations/`. The SDK may take less. The plug-in does not read the epsilon of composites: it puts 1.19e-7 there
(`rms_norm_op_legalization.cc`), or none (NEURON_L2_NORMALIZATION), so composites with a larger one count as refused.
GELU is computed by TANH, whatever was asked for (`gelu_op_legalization.cc`).
"""

from __future__ import annotations

from fuseconv.targets.conditions import activation, composite, constant, epsilon_up_to, has_bias, option, types
from fuseconv.targets.signature import OpSignature, TensorSpec
from fuseconv.targets.target import Target, table, takes

# The codes of NEURON's activations go no further.
_ACTIVATIONS = activation("RELU", "RELU_N1_TO_1", "RELU6")
_SCALED = ("int8", "int16", "uint16", "int4")


def _tensors(op: OpSignature) -> str | None:
    """Demand tensors that NEURON has a type for (`GetNeuronTensorType` in `neuron_utils.cc`)."""
    return next((why for why in map(_type, op.tensors) if why is not None), None)


def _type(tensor: TensorSpec) -> str | None:
    if tensor.dtype in _SCALED and not tensor.scales:
        return f"a tensor is of {tensor.dtype} without a scale"
    return "a tensor of int64 is computed" if tensor.dtype == "int64" and not tensor.is_const else None


def _square(op: OpSignature) -> str | None:
    """Demand as many rows as columns: height and width are handed over in each other's place
    (`resize_bilinear_op_legalization.cc`)."""
    shape = op.results[0].shape
    return None if len(shape) == 4 and shape[1] == shape[2] else "height and width of the result differ"


def _approximate(op: OpSignature) -> str | None:
    exact = op.type == "GELU" and not op.options.get("approximate")
    return "it is computed by TANH, and not by erf" if exact else None


OPS = table(
    takes("ABS BATCH_MATMUL CAST DEQUANTIZE GELU GREATER HARD_SWISH LESS LOGISTIC MAXIMUM MEAN MINIMUM PAD PADV2 PRELU "
          "QUANTIZE REDUCE_MAX RELU RESHAPE RSQRT SLICE SOFTMAX SPLIT SQRT SQUARED_DIFFERENCE SUM TANH TRANSPOSE"),
    takes("ADD AVERAGE_POOL_2D DIV FULLY_CONNECTED MAX_POOL_2D MUL SUB", _ACTIVATIONS),
    # NEURON_CONV_2D counts its operands, and no bias is put in place of none (`common_op_legalization.h`).
    takes("CONV_2D DEPTHWISE_CONV_2D", _ACTIVATIONS, has_bias),
    takes("CONCATENATION L2_NORMALIZATION", activation()),
    takes("TRANSPOSE_CONV", activation(), constant(0)),
    takes("LEAKY_RELU", types("float32", 0)),
    takes("RESIZE_BILINEAR", _square),
    takes("RESIZE_NEAREST_NEIGHBOR", constant(1)),
    takes("STRIDED_SLICE", option("ellipsis_mask", 0), option("new_axis_mask", 0), option("offset", False)),
    takes("STABLEHLO_COMPOSITE", composite("odml.rms_norm", "odml.l2_norm"), epsilon_up_to(1.2e-7, "odml.rms_norm"),
          epsilon_up_to(1e-12, "odml.l2_norm")),
)  # fmt: skip

_TYPES = types("float32 float16 int8 uint8 int16 uint16 int32 int64 int4 bool")

TARGETS = [
    Target(
        "mediatek", "LiteRT vendors/mediatek/compiler/compiler_plugin.cc and legalizations, 2026-08-21", OPS,
        every=(_TYPES, _tensors), remarks=(_approximate,),
    )
]  # fmt: skip
