"""Passes over WHILE loops, and their analysis."""
