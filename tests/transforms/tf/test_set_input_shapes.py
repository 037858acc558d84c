"""Shapes that the user gives to inputs."""

from __future__ import annotations

import pytest

from fuseconv.errors import InputError
from fuseconv.transforms.tf.set_input_shapes import set_input_shapes
from tests.check_pass import check_pass
from tests.tf.text_cases import module_of


def test_a_batch_size_and_the_shape_of_one_input() -> None:
    check_pass("set-input-shapes", """
    main {
      input %x: float32[n,28]
      input %y: float32[*]
      %z: float32[n,28] = tf.Neg(%x)
      return %z, %y
    }
    """, """
    main {
      input %x: float32[8,28]
      input %y: float32[8,4]
      %z: float32[n,28] = tf.Neg(%x)
      return %z, %y
    }
    """, input_shapes={"i1": (None, 4)}, batch_size=8)


def test_inputs_stay_as_the_model_has_them() -> None:
    check_pass("set-input-shapes", """
    main {
      input %x: float32[n,28]
      input %y: float32[*]
      %z: float32[n,28] = tf.Neg(%x)
      return %z, %y
    }
    """)


def test_an_input_of_one_of_several_signatures() -> None:
    modules = [module_of("main {\n input %x: float32[n,SIZE]\n return %x\n}".replace("SIZE", size))[0] for size in "84"]
    module, other = modules
    other.signatures[0].names = ["decode"]
    module.signatures += other.signatures
    with pytest.raises(InputError, match=r"the input i0 of the signature decode, which the model declares as \?,4"):
        set_input_shapes(module, {"i0": (1, 8)}, None)
    assert set_input_shapes(module, {"decode/i0": (2, 4), "i0": (1, None)}, None)
    assert [s.graph.inputs[0].shape for s in module.signatures] == [(1, 8), (2, 4)]
    with pytest.raises(InputError, match="no input encode/i0; there is i0"):
        set_input_shapes(module, {"encode/i0": (2, 4)}, None)
