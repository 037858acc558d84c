"""Fusion of composites and patterns: matching, checks against the body, and converter modules."""
