"""Lowering rules of neural network ops."""
