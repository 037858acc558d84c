"""The built-in converter modules, one file a fused op or a family."""

from fuseconv.fusions import (
    clamps,
    constant_arithmetic,
    dense_image_warp,
    dense_reshape,
    detection_postprocess,
    dilated_conv,
    embedding_lookup,
    fusable_op,
    gelu,
    hard_swish,
    indy_lstm,
    l2_normalization,
    leaky_relu,
    linear_input,
    linear_output,
    lingvo_lstm,
    lstm,
    masks,
    max_unpooling,
    moves,
    non_max_suppression,
    normalisation,
    padding,
    softmax,
    squares,
    tftext,
)

MODULES = (
    lstm, indy_lstm, lingvo_lstm, embedding_lookup, non_max_suppression, detection_postprocess, max_unpooling,
    dense_image_warp, tftext, fusable_op, gelu, hard_swish, clamps, leaky_relu, l2_normalization, softmax,
    normalisation, squares, masks, linear_output, linear_input, moves, constant_arithmetic, padding, dilated_conv,
    dense_reshape,
)  # fmt: skip
