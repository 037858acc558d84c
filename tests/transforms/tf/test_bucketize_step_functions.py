"""Step functions of whole numbers become tables."""

from __future__ import annotations

from tests.check_pass import check_pass


def test_a_root_has_two_steps() -> None:
    check_pass("bucketize-step-functions", """
    main {
      input %n: int32[3]
      %wide: float64[3] = tf.Cast(%n)
      %least: float64[3] = tf.Maximum(%wide, float64[] 1.0)
      %low: float64[3] = tf.Minimum(%least, float64[] 9.0)
      %root: float64[3] = tf.Sqrt(%low)
      %m: int32[3] = tf.Cast(%root)
      return %m
    }
    """, """
    main {
      input %n: int32[3]
      %wide: float64[3] = tf.Cast(%n)
      %least: float64[3] = tf.Maximum(%wide, float64[] 1.0)
      %low: float64[3] = tf.Minimum(%least, float64[] 9.0)
      %root: float64[3] = tf.Sqrt(%low)
      %m: int32[*] = tf.Bucketize(%n) {'boundaries': [4.0, 9.0, 16777216.0]}
      %m2: int32[*] = tf.GatherV2(int32[3] [1, 2, 3], %m, int32[] 0)
      return %m2
    }
    """)


def test_a_function_that_falls_again() -> None:
    check_pass("bucketize-step-functions", """
    main {
      input %n: int32[3]
      %wide: float64[3] = tf.Cast(%n)
      %least: float64[3] = tf.Maximum(%wide, float64[] 1.0)
      %low: float64[3] = tf.Minimum(%least, float64[] 9.0)
      %root: float64[3] = tf.Sin(%low)
      %m: int32[3] = tf.Cast(%root)
      return %m
    }
    """)
