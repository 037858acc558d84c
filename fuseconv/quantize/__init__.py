"""Quantization: a module of float "tfl" ops -> the same with smaller numbers."""

QUANTIZATIONS = ("float16", "dynamic")
