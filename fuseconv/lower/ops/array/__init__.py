"""Lowering rules of ops that join, split, move and index tensors."""
