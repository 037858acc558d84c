"""What holds for all tests, set before TensorFlow is imported by any of them."""

import os

from fuseconv.pass_manager import PassManager

# TensorFlow's own CPU kernels take no channels first, oneDNN's do. It turns these on by itself only where the CPU
# has certain instructions, so that the reference would refuse models on one machine that it runs on another.
os.environ.setdefault("TF_ENABLE_ONEDNN_OPTS", "1")

# A conversion in a test verifies the IR after every pass, and the facts that passes require and ensure.
PassManager.verify_each = True
