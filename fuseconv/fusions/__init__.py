"""The built-in converter modules, one file a fused op or a family.

Composites are functions that the model annotates. Patterns are of two kinds. Those over `tf` ops make one TFLite op of
an expression (gelu, softmax written out). Those over `tfl` ops, behind the lowering, make one op of a chain (biases,
batch norms, activations, padding): there one form serves every variant that TensorFlow has of it.
"""

import importlib

_NAMES = (
    "lstm", "rnn", "bidirectional", "masked_recurrent", "indy_lstm", "lingvo_lstm", "embedding_lookup",
    "non_max_suppression_padded", "detection_postprocess", "max_unpooling", "dense_image_warp", "tftext", "fusable_op",
    "gelu", "hard_swish", "mish", "log1p_exp", "short_logarithms", "negative_zero", "one_hot_lookup", "relu_n",
    "leaky_relu", "l2_normalization", "softmax", "simplify_layer_norm", "square", "fold_full_mask",
    "conv_to_space_to_depth", "grouped_conv", "fold_into_linear", "fold_before_linear", "hoist_above_reshape",
    "reassociate_constants", "combine_negation", "fold_padding", "dilated_conv", "fold_dense_reshape",
    "fold_gather_reshapes", "lerp", "fold_reductions", "affine_to_depthwise_conv", "concat_to_pad", "fold_cast_pairs",
    "attention_mask", "transpose_conv_to_depth_to_space", "transpose_into_matmul", "tile_to_concat",
    "repeats_to_resize", "fold_transposed_size", "pool_into_stride", "fold_packed_sizes", "mean_of_affine",
    "odml_norms", "odml_attention",
)  # fmt: skip
MODULES = tuple(importlib.import_module(f"{__name__}.{name}") for name in _NAMES)
