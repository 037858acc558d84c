"""numpy forms of the ops that are folded as soon as they are built."""
