"""The table of TFLite's builtin operators: operands, options and result types, filed by the kind of op."""

from fuseconv.tfl.ops import array, control, elementwise, nn, recurrent, reduction

__all__ = ["array", "control", "elementwise", "nn", "recurrent", "reduction"]
