"""The built-in converter modules, one file a fused op or a family."""

from fuseconv.fusions import (
    clamps,
    constant_arithmetic,
    dense_reshape,
    dilated_conv,
    gelu,
    hard_swish,
    l2_normalization,
    leaky_relu,
    linear_input,
    linear_output,
    lstm,
    moves,
    normalisation,
    padding,
    softmax,
    squares,
)

MODULES = (
    lstm, gelu, hard_swish, clamps, leaky_relu, l2_normalization, softmax, normalisation, squares, linear_output,
    linear_input, moves, constant_arithmetic, padding, dilated_conv, dense_reshape,
)  # fmt: skip
