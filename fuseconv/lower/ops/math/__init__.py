"""Lowering rules of arithmetic, reductions and products."""
