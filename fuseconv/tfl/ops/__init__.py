"""The table of TFLite's builtin operators: operands, options and result types, filed by the kind of op."""

from fuseconv.tfl.ops import nn

__all__ = ["nn"]
