"""What Keras' layers compute, one function a layer, in files by family."""

import importlib

for _name in (
    "activations", "attention", "audio", "categories", "cells", "convolutional", "core", "locally_connected",
    "merging", "normalization", "operations", "operations_composed", "operations_nn", "pictures", "pooling",
    "preprocessing", "recurrence", "recurrent", "reshaping", "tf_functions", "tf_functions_nn", "wrappers",
):  # fmt: skip
    importlib.import_module(f"{__name__}.{_name}")
