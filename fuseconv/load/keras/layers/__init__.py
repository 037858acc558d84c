"""What Keras' layers compute, one function a layer, in files by family."""

from fuseconv.load.keras.layers import (
    activations,
    attention,
    convolutional,
    core,
    merging,
    normalization,
    operations,
    pooling,
    preprocessing,
    recurrence,
    recurrent,
    reshaping,
)

__all__ = [
    "activations", "attention", "convolutional", "core", "merging", "normalization", "operations", "pooling",
    "preprocessing", "recurrence", "recurrent", "reshaping",
]  # fmt: skip
