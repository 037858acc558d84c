"""Qualcomm's NPUs, by LiteRT's compiler plug-in.

Source: the op builders of `litert/vendors/qualcomm/compiler/qnn_compose_graph.cc` of google-ai-edge/LiteRT. The SDK
asks the chip about each op besides, which is not public: what is refused here is refused by every one. Custom ops are
taken with a package of kernels only, and count as refused.
"""

from __future__ import annotations

from fuseconv.targets.conditions import composite
from fuseconv.targets.target import Target, table, takes

OPS = table(
    takes("ABS ADD ARG_MAX ARG_MIN AVERAGE_POOL_2D BATCH_MATMUL BATCH_TO_SPACE_ND BROADCAST_TO CAST CEIL CONCATENATION "
          "CONV_2D CONV_3D COS CUMSUM DEPTHWISE_CONV_2D DEPTH_TO_SPACE DEQUANTIZE DIV DYNAMIC_UPDATE_SLICE ELU "
          "EMBEDDING_LOOKUP EQUAL EXP FLOOR FLOOR_DIV FLOOR_MOD FULLY_CONNECTED GATHER GATHER_ND GELU GREATER "
          "GREATER_EQUAL HARD_SWISH L2_NORMALIZATION L2_POOL_2D LEAKY_RELU LESS LESS_EQUAL LOG LOGICAL_AND LOGICAL_NOT "
          "LOGICAL_OR LOGISTIC LOG_SOFTMAX MAXIMUM MAX_POOL_2D MEAN MINIMUM MIRROR_PAD MUL NEG NOT_EQUAL ONE_HOT PACK "
          "PAD PADV2 POW PRELU QUANTIZE REDUCE_ALL REDUCE_ANY REDUCE_MAX REDUCE_MIN RELU RELU6 RELU_0_TO_1 "
          "RELU_N1_TO_1 RESHAPE RESIZE_BILINEAR RESIZE_NEAREST_NEIGHBOR REVERSE_V2 ROUND RSQRT SCATTER_ND SELECT "
          "SELECT_V2 SIGN SIN SLICE SOFTMAX SPACE_TO_BATCH_ND SPACE_TO_DEPTH SPLIT SPLIT_V SQRT SQUARE "
          "SQUARED_DIFFERENCE STRIDED_SLICE SUB SUM TANH TILE TOPK_V2 TRANSPOSE TRANSPOSE_CONV UNPACK"),
    takes("STABLEHLO_COMPOSITE", composite("odml.rms_norm", "odml.group_norm", "odml.l2_norm")),
)  # fmt: skip

TARGETS = [Target("qnn", "LiteRT vendors/qualcomm/compiler/qnn_compose_graph.cc, 2026-08-21", OPS)]
