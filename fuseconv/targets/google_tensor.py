"""Google's Tensor chips, by LiteRT's compiler plug-in, which lists the ops that it refuses.

Source: `kUnSupportedOps` and `kSupportedStableHloCompositeOps` of
`litert/vendors/google_tensor/compiler/compiler_plugin.cc` of google-ai-edge/LiteRT. The compiler may take less.
"""

from __future__ import annotations

from fuseconv.targets.conditions import composite
from fuseconv.targets.target import Target, takes

_REFUSED = (
    "ASSIGN_VARIABLE BIDIRECTIONAL_SEQUENCE_LSTM BROADCAST_ARGS BUCKETIZE CALL_ONCE COMPLEX_ABS CONV_3D_TRANSPOSE "
    "CUSTOM DENSIFY FAKE_QUANT HASHTABLE HASHTABLE_FIND HASHTABLE_IMPORT HASHTABLE_SIZE IMAG "
    "LOCAL_RESPONSE_NORMALIZATION MATRIX_DIAG MATRIX_SET_DIAG MULTINOMIAL NON_MAX_SUPPRESSION_V4 "
    "NON_MAX_SUPPRESSION_V5 RANDOM_STANDARD_NORMAL RANDOM_UNIFORM RANK READ_VARIABLE REAL REDUCE_PROD REVERSE_SEQUENCE "
    "RFFT2D SEGMENT_SUM SHAPE SPARSE_TO_DENSE STABLEHLO_REDUCE_WINDOW STABLEHLO_SCATTER SVDF "
    "UNIDIRECTIONAL_SEQUENCE_RNN UNIQUE UNSORTED_SEGMENT_MAX UNSORTED_SEGMENT_MIN UNSORTED_SEGMENT_PROD "
    "UNSORTED_SEGMENT_SUM VAR_HANDLE WHERE"
)
OPS = takes(
    "STABLEHLO_COMPOSITE", composite("odml.rms_norm", "odml.group_norm", "odml.scaled_dot_product_attention")
)  # fmt: skip

TARGETS = [
    Target(
        "google-tensor", "LiteRT vendors/google_tensor/compiler/compiler_plugin.cc, 2026-08-21", OPS,
        refused=frozenset(_REFUSED.split()), others=True,
    )
]  # fmt: skip
