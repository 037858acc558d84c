"""MediaTek's NPUs, by LiteRT's compiler plug-in.

Source: `kSupportedOps` of `litert/vendors/mediatek/compiler/compiler_plugin.cc`, and `VerifyCommonOp`, of
google-ai-edge/LiteRT. The SDK may take less. The plug-in does not read the epsilon of composites: it puts 1.19e-7 there
(`rms_norm_op_legalization.cc`), or none (NEURON_L2_NORMALIZATION), so composites with a larger one count as refused.
"""

from __future__ import annotations

from fuseconv.targets.conditions import composite, epsilon_up_to, types
from fuseconv.targets.target import Target, table, takes

OPS = table(
    takes("ABS ADD AVERAGE_POOL_2D BATCH_MATMUL CAST CONCATENATION CONV_2D DEPTHWISE_CONV_2D DEQUANTIZE DIV "
          "FULLY_CONNECTED GELU GREATER HARD_SWISH L2_NORMALIZATION LEAKY_RELU LESS LOGISTIC MAXIMUM MAX_POOL_2D MEAN "
          "MINIMUM MUL PAD PADV2 PRELU QUANTIZE REDUCE_MAX RELU RESHAPE RESIZE_BILINEAR RESIZE_NEAREST_NEIGHBOR RSQRT "
          "SLICE SOFTMAX SPLIT SQRT SQUARED_DIFFERENCE STRIDED_SLICE SUB SUM TANH TRANSPOSE TRANSPOSE_CONV"),
    takes("STABLEHLO_COMPOSITE", composite("odml.rms_norm", "odml.l2_norm"), epsilon_up_to(1.2e-7, "odml.rms_norm"),
          epsilon_up_to(1e-12, "odml.l2_norm")),
)  # fmt: skip

_TYPES = types("float32 float16 int8 uint8 int16 uint16 int32 int64 int4 bool")

TARGETS = [
    Target("mediatek", "LiteRT vendors/mediatek/compiler/compiler_plugin.cc, 2026-08-21", OPS, every=(_TYPES,))
]  # fmt: skip
