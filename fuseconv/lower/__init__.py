"""Lowering: every TF op that no fusion took becomes the TFLite ops that its rule builds."""

import importlib

# The modules that hold rules; the others of this package serve them.
_RULES = (
    "activation", "arithmetic", "array", "audio", "bitwise", "blocks", "boxes", "cells", "colour", "comparison",
    "complex", "control", "conv", "counting", "crop", "decoding", "dense", "einsum", "elementwise", "elimination",
    "forward", "fourier", "gradients", "image", "indexing", "lists", "matrix", "normalisation", "patches", "philox",
    "pool", "quantised", "ragged", "random", "reduction", "resampling", "reshaping", "resources", "segment",
    "selection", "slicing", "sparse", "special", "warp", "xla",
)  # fmt: skip
MODULES = tuple(importlib.import_module(f"{__name__}.{name}") for name in _RULES)
