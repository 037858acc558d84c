"""Quantization: a module of float "tfl" ops -> the same with smaller numbers."""

# Those that need ranges of activations.
MEASURED = ("int8", "int16x8")
QUANTIZATIONS = ("float16", "dynamic", *MEASURED)
