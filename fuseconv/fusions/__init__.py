"""The built-in converter modules, one file a fused op or a family.

Composites are functions that the model annotates. Patterns are of two kinds: over `tf` ops, where an expression is one
op of TFLite (gelu, softmax written out), and over `tfl` ops behind the lowering, where a chain of ops is one (biases,
batch norms, activations, padding): there one form serves every variant that TensorFlow has of it.
"""

from fuseconv.fusions import (
    attention_mask,
    bidirectional,
    casts,
    channels,
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
    interpolation,
    l2_normalization,
    leaky_relu,
    linear_input,
    linear_output,
    lingvo_lstm,
    lstm,
    masked_recurrent,
    masks,
    matrix_products,
    max_unpooling,
    moves,
    non_max_suppression,
    normalisation,
    padding,
    reductions,
    repetition,
    rnn,
    shape_vectors,
    softmax,
    squares,
    subsampling,
    tftext,
    tokens,
    transposed_size,
    upsampling,
)

MODULES = (
    lstm, rnn, bidirectional, masked_recurrent, indy_lstm, lingvo_lstm, embedding_lookup, non_max_suppression,
    detection_postprocess, max_unpooling, dense_image_warp, tftext, fusable_op, gelu, hard_swish, clamps, leaky_relu,
    l2_normalization, softmax, normalisation, squares, masks, linear_output, linear_input, moves, constant_arithmetic,
    padding, dilated_conv, dense_reshape, interpolation, reductions, channels, tokens, casts, attention_mask,
    upsampling, matrix_products, repetition, transposed_size, subsampling, shape_vectors,
)  # fmt: skip
