"""Lowering: every TF op that no fusion took becomes the TFLite ops that its rule builds."""
