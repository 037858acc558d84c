"""What finds RNNs in loops is imported for models that may have one, and for no others."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.fast import ROOT

_SCRIPT = """
import sys
from fuseconv.pass_manager import Context, PassManager
from fuseconv.transforms.rnn.raise_rnn_loops import raise_rnn_loops
from tests.tf.text_cases import module_of
PassManager(Context(*module_of(sys.argv[1]))).run((raise_rnn_loops,))
print("fuseconv.transforms.rnn.raise_rnn_loops_driver" in sys.modules)
"""


@pytest.mark.parametrize(
    ("op", "imported"),
    [
        ("%y: float32[3,4] = tf.Relu(%x)", False),
        ("%y: float32[3]; %z: float32[3] = tf.Unpack(%x) {'num': 2, 'axis': 1}", False),
        ("%y: float32[4]; %z: float32[4]; %u: float32[4] = tf.Unpack(%x) {'num': 3}", True),
    ],
)
def test_a_model_without_loops_does_not_import_it(op: str, imported: bool) -> None:
    text = f"main {{\n  input %x: float32[3,4]\n  {op}\n  return %y\n}}"
    ended = subprocess.run([sys.executable, "-c", _SCRIPT, text], cwd=ROOT, capture_output=True, text=True, check=True)
    assert ended.stdout.strip() == str(imported)
