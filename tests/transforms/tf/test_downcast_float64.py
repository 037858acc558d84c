"""float64 that is computed in float32."""

from __future__ import annotations

from tests.check_pass import check_pass


def test_values_and_attributes_of_types() -> None:
    check_pass("downcast-float64", """
    main {
      input %x: float64[2]
      %y: float64[2] = tf.Add(%x, float64[2] [1.0, 1e300])
      %z: complex128[2] = tf.Cast(%y) {'DstT': complex128}
      return %y, %z
    }
    """, """
    main {
      input %x: float32[2]
      %y: float32[2] = tf.Add(%x, float32[2] [1.0, inf])
      %z: complex64[2] = tf.Cast(%y) {'DstT': complex64}
      return %y, %z
    }
    """)


def test_float32_stays() -> None:
    check_pass("downcast-float64", """
    main {
      input %x: float32[2]
      %y: float32[2] = tf.Add(%x, float32[2] [1.0, 1e30])
      %z: complex64[2] = tf.Cast(%y) {'DstT': complex64}
      return %y, %z
    }
    """)
