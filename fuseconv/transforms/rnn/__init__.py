"""Loops that are recurrent layers -> calls of annotated functions, which fusions know."""
