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


def test_numbers_of_64_bits() -> None:
    check_pass("bucketize-step-functions", """
    main {
      input %n: int64[3]
      %wide: float64[3] = tf.Cast(%n)
      %low: float64[3] = tf.Minimum(%wide, float64[] 9.0)
      %high: float64[3] = tf.Maximum(%low, float64[] -9.0)
      %part: float64[3] = tf.RealDiv(%high, float64[] 4.0)
      %m: int64[3] = tf.Cast(%part)
      return %m
    }
    """, """
    main {
      input %n: int64[3]
      %wide: float64[3] = tf.Cast(%n)
      %low: float64[3] = tf.Minimum(%wide, float64[] 9.0)
      %high: float64[3] = tf.Maximum(%low, float64[] -9.0)
      %part: float64[3] = tf.RealDiv(%high, float64[] 4.0)
      %m: int32[*] = tf.Bucketize(%n) {'boundaries': [-7.0, -3.0, 4.0, 8.0, 16777216.0]}
      %m2: int64[*] = tf.GatherV2(int64[5] [-2, -1, 0, 1, 2], %m, int32[] 0)
      return %m2
    }
    """)


def test_steps_below_the_least_number_that_bucketize_compares_with() -> None:
    check_pass("bucketize-step-functions", """
    main {
      input %n: int64[3]
      %wide: float64[3] = tf.Cast(%n)
      %low: float64[3] = tf.Minimum(%wide, float64[] 9.0)
      %part: float64[3] = tf.RealDiv(%low, float64[] 1e+18)
      %m: int64[3] = tf.Cast(%part)
      return %m
    }
    """)
