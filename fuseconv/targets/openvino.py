"""Intel's NPUs, by LiteRT's compiler plug-in, which OpenVINO stands behind.

Source: `kSupportedOps`, `IsOpSupported` and `IsCompositeOpSupported` of
`litert/vendors/intel_openvino/compiler/openvino_compiler_plugin.cc` of google-ai-edge/LiteRT, `decoder.cc` beside it,
which hands options over (of MIRROR_PAD always REFLECT), and of OpenVINO `src/frontends/tensorflow_lite/src/op/`, which
reads no activation in `concatenation.cpp` and `transpose_conv.cpp`.
"""

from __future__ import annotations

from fuseconv.targets.conditions import activation, composite, constant, option
from fuseconv.targets.target import Target, table, takes

OPS = table(
    takes("ABS ADD ARG_MAX AVERAGE_POOL_2D BATCH_MATMUL BROADCAST_TO CAST CONV_2D CONV_3D COS CUMSUM DEPTHWISE_CONV_2D "
          "DEPTH_TO_SPACE DEQUANTIZE DIV EMBEDDING_LOOKUP EQUAL EXP EXPAND_DIMS FLOOR_DIV FLOOR_MOD FULLY_CONNECTED "
          "GATHER GATHER_ND GELU GREATER GREATER_EQUAL HARD_SWISH L2_NORMALIZATION LEAKY_RELU LESS LESS_EQUAL LOG "
          "LOGICAL_AND LOGICAL_NOT LOGICAL_OR LOGISTIC MAXIMUM MAX_POOL_2D MEAN MINIMUM MUL NOT_EQUAL ONE_HOT PACK PAD "
          "PADV2 POW PRELU QUANTIZE RANGE REDUCE_ALL REDUCE_MAX RELU RELU_0_TO_1 RESHAPE RESIZE_BILINEAR "
          "RESIZE_NEAREST_NEIGHBOR REVERSE_V2 RSQRT SELECT SELECT_V2 SIGN SIN SLICE SOFTMAX SPLIT SQRT SQUARE "
          "SQUARED_DIFFERENCE SUB SUM TANH TILE TRANSPOSE UNPACK"),
    takes("CONCATENATION TRANSPOSE_CONV", activation()),
    takes("MIRROR_PAD", option("mode", "REFLECT")),
    takes("STRIDED_SLICE", option("offset", False)),
    takes("TOPK_V2", constant(1)),
    takes("STABLEHLO_COMPOSITE", composite("odml.rms_norm")),
)  # fmt: skip

TARGETS = [
    Target(
        "openvino", "LiteRT vendors/intel_openvino/compiler and OpenVINO's frontends/tensorflow_lite, 2026-08-21", OPS
    )
]  # fmt: skip
