"""What holds for all tests, set before TensorFlow is imported by any of them."""

import os

# TensorFlow's own CPU kernels take no channels first, oneDNN's do. It turns these on by itself only where the CPU
# has certain instructions, so that the reference would refuse models on one machine that it runs on another.
os.environ.setdefault("TF_ENABLE_ONEDNN_OPTS", "1")
