"""Lowering: every TF op that no fusion took becomes the TFLite ops that its rule builds."""

from fuseconv.lower import activation, control, conv, dense, einsum, image, normalisation, pool

MODULES = (activation, control, conv, dense, einsum, image, normalisation, pool)
