"""float64 between whole numbers."""

from __future__ import annotations

from tests.check_pass import check_pass


def test_a_ceiling_of_a_quotient() -> None:
    check_pass("demote-float64", """
    main {
      input %n: int32[]
      %wide: float64[] = tf.Cast(%n)
      %quotient: float64[] = tf.RealDiv(%wide, float64[] 4.0)
      %rounded: float64[] = tf.Ceil(%quotient)
      %m: int32[] = tf.Cast(%rounded)
      return %m
    }
    """, """
    main {
      input %n: int32[]
      %wide: float64[] = tf.Cast(%n)
      %quotient: float64[] = tf.RealDiv(%wide, float64[] 4.0)
      %rounded: float64[] = tf.Ceil(%quotient)
      %m: int32[*] = tf.FloorDiv(%n, int32[] 4)
      %m2: int32[*] = tf.FloorMod(%n, int32[] 4)
      %m3: bool[*] = tf.NotEqual(%m2, int32[] 0)
      %m4: int32[*] = tf.Cast(%m3)
      %m5: int32[*] = tf.AddV2(%m, %m4)
      return %m5
    }
    """)


def test_float64_that_is_returned_stays() -> None:
    check_pass("demote-float64", """
    main {
      input %n: int64[]
      %wide: float64[] = tf.Cast(%n)
      %quotient: float64[] = tf.RealDiv(%wide, float64[] 4.0)
      %rounded: float64[] = tf.Ceil(%quotient)
      return %rounded
    }
    """)


def test_a_share_is_cut_off_in_integers() -> None:
    check_pass("demote-float64", """
    main {
      input %n: int32[]
      %wide: float64[] = tf.Cast(%n)
      %share: float64[] = tf.Mul(%wide, float64[] 0.4)
      %rest: float64[] = tf.Sub(%wide, %share)
      %m: int32[] = tf.Cast(%rest)
      return %m
    }
    """, """
    main {
      input %n: int32[]
      %wide: float64[] = tf.Cast(%n)
      %share: float64[] = tf.Mul(%wide, float64[] 0.4)
      %rest: float64[] = tf.Sub(%wide, %share)
      %m: int32[*] = tf.TruncateDiv(%n, int32[] 5)
      %m2: int32[*] = tf.Mul(%m, int32[] 5)
      %m3: int32[*] = tf.Sub(%n, %m2)
      %m4: int32[*] = tf.Mul(%m3, int32[] 3)
      %m5: int32[*] = tf.TruncateDiv(%m4, int32[] 5)
      %m6: int32[*] = tf.Mul(%m, int32[] 3)
      %m7: int32[*] = tf.AddV2(%m6, %m5)
      return %m7
    }
    """)
