"""Raise loops that are recurrent layers: While(...) -> call of an annotated function, which fusions know."""
