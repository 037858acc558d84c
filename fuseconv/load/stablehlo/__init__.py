"""StableHLO modules, as JAX, Keras on JAX and PyTorch export them -> functions of `tf` ops."""
