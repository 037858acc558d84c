"""Built-in lowering rules: one function for each TF op, in files by kind of op."""

import importlib

_RULES = (
    "array.cast", "array.concat_and_split", "array.dynamic_update_slice", "array.gather_scatter", "array.matrix_diag",
    "array.reshape", "array.slice", "array.slice_grad", "array.space_to_batch", "array.top_k", "audio", "control_flow",
    "ctc", "fake_quant", "fft", "image.color_space", "image.crop_and_resize", "image.extract_glimpse",
    "image.extract_patches", "image.non_max_suppression", "image.projective_transform", "image.resize_gradients",
    "image.resize_matmul", "image.resize_native", "linalg", "math.arithmetic", "math.bessel", "math.bincount",
    "math.bitwise", "math.comparison", "math.complex", "math.einsum", "math.gamma", "math.gradients", "math.incomplete",
    "math.logarithm", "math.matmul", "math.reduction", "math.special", "math.unary", "math.zeta", "nn.activation",
    "nn.convolution", "nn.fractional_pooling", "nn.normalization", "nn.pooling", "nn.recurrent_cell",
    "nn.window_gradients", "ragged", "random", "resources", "segment", "singular_values", "sparse", "stateless_random",
    "xla",
)  # fmt: skip
MODULES = tuple(importlib.import_module(f"{__name__}.{name}") for name in _RULES)
