"""Table of TFLite's builtin operators by kind: operands, options and result types."""

from fuseconv.tfl.ops import array, control, elementwise, indexing, nn, recurrent, reduction

__all__ = ["array", "control", "elementwise", "indexing", "nn", "recurrent", "reduction"]
