"""Passes over TF ops."""
