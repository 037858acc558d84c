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
    tf_functions,
)

__all__ = [
    "activations", "attention", "convolutional", "core", "merging", "normalization", "operations", "pooling",
    "preprocessing", "recurrence", "recurrent", "reshaping", "tf_functions",
]  # fmt: skip
