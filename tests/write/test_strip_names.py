"""Files without names of tensors: smaller, and runtimes compute the same."""

from __future__ import annotations

import io

import numpy as np
import pytest
from ai_edge_litert.interpreter import Interpreter, OpResolverType

from fuseconv.inspecting import describe
from fuseconv.write.flatbuffer_export import write
from tests.tf.text_cases import module_of

CHAIN = """
main {
  input %x: float32[2,3]
  %middle_of_a_chain_with_a_name_as_long_as_those_of_models_are: float32[2,3] = tfl.ABS(%x)
  %sum: float32[2,3] = tfl.ADD(%middle_of_a_chain_with_a_name_as_long_as_those_of_models_are, float32[3] [1, 2, 3])
  %y: float32[2,3] = tfl.TANH(%sum)
  return %y
}
"""


def _written(names: bool) -> tuple[bytes, int]:
    out = io.BytesIO()
    saved = write(module_of(CHAIN)[0], out, names).saved
    return out.getvalue(), saved


def test_inputs_and_outputs_keep_their_names() -> None:
    data, saved = _written(False)
    tensors = describe(data, "it")["subgraphs"][0]["tensors"]
    assert sorted(tensor["name"] for tensor in tensors) == ["", "", "", "x", "y"]
    whole, nothing = _written(True)
    # A tensor without a name has another form, and constants are aligned.
    assert nothing == 0 and saved > 90 and abs(len(whole) - len(data) - saved) <= 48


@pytest.mark.parametrize("resolver", [OpResolverType.AUTO, OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES])
def test_runtimes_compute_the_same(resolver: OpResolverType) -> None:
    interpreter = Interpreter(model_content=_written(False)[0], experimental_op_resolver_type=resolver)
    interpreter.allocate_tensors()
    (taken,), (given,) = interpreter.get_input_details(), interpreter.get_output_details()
    added = np.array([1, 2, 3], np.float32)
    for x in np.random.default_rng(0).normal(size=(2, 2, 3)).astype(np.float32):
        interpreter.set_tensor(taken["index"], x)
        interpreter.invoke()
        np.testing.assert_allclose(interpreter.get_tensor(given["index"]), np.tanh(np.abs(x) + added), rtol=1e-6)
