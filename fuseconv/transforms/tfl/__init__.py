"""Passes over TFLite ops, behind the lowering."""
