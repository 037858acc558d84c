"""Shapes that the user gives to inputs."""

from __future__ import annotations

from tests.check_pass import check_pass


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
