"""Helpers of lowering rules: operand legalization, run-time shapes, data formats, type promotion."""
