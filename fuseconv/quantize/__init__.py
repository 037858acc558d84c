"""Quantization: a module of float "tfl" ops -> the same with smaller numbers."""

# Those that need ranges of activations.
MEASURED = ("int8", "int16x8")
QUANTIZATIONS = ("float16", "dynamic", *MEASURED)
# By how much a file may differ from its model, as a part of the largest number, where nobody says.
TOLERANCES = {"float16": 0.005, "dynamic": 0.05, "int8": 0.1, "int16x8": 0.03}
