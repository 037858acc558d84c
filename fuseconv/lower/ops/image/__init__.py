"""Lowering rules of image ops."""
