"""What Keras' layers compute, one function a layer, in files by family."""

from fuseconv.load.keras.layers import (
    activations,
    attention,
    audio,
    categories,
    cells,
    convolutional,
    core,
    locally_connected,
    merging,
    normalization,
    operations,
    operations_nn,
    pictures,
    pooling,
    preprocessing,
    recurrence,
    recurrent,
    reshaping,
    tf_functions,
    tf_functions_nn,
    wrappers,
)

__all__ = [
    "activations", "attention", "audio", "categories", "cells", "convolutional", "core", "locally_connected",
    "merging", "normalization", "operations", "operations_nn", "pictures", "pooling", "preprocessing", "recurrence",
    "recurrent", "reshaping", "tf_functions", "tf_functions_nn", "wrappers",
]  # fmt: skip
