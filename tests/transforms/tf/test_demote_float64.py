"""float64 between whole numbers."""

from __future__ import annotations

from fuseconv.ir import types
from fuseconv.transforms.tf.demote_float64 import demote_float64
from tests.check_pass import check_pass
from tests.tf.text_cases import kinds, module_of


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


def test_a_value_that_is_read_twice_is_narrowed_once() -> None:
    """There are 2 ** 64 ways through these choices."""
    steps = [f"%x{at + 1}: float64[n] = tf.SelectV2(%c, %x{at}, %x{at})" for at in range(64)]
    text = ["main {", "input %a: int32[n]", "input %c: bool[n]", "%x0: float64[n] = tf.Cast(%a)", *steps]
    module, report = module_of("\n".join([*text, "%y: int32[n] = tf.Cast(%x64)", "return %y", "}"]))
    demote_float64(module, report)
    assert kinds(module)[-64:] == ["SelectV2"] * 64
    assert module.signatures[0].graph.outputs[0].dtype is types.INT32


_WINDOWS = ", ".join(f"int32[2] {numbers}" for numbers in ("[1, 2]", "[1, 2]", "[1, 1]", "[1, 1]"))
_POOLED = """
    main {
      input %x: float32[n,4]
      %wide: float64[n,4] = tf.Cast(%x)
      %padded: float64[n,6] = tf.PadV2(%wide, int32[2,2] [[0, 0], [1, 1]], float64[] -inf)
      %pooled: float64[n,3] = tf.XlaReduceWindow(%padded, float64[] -inf, WINDOWS, int32[2,2] [[0, 0], [0, 0]]) \
{'computation': 'Max'}
      %most: float64[n] = tf.Max(%pooled, int32[1] [1])
      %y: float32[n] = tf.Cast(%most)
      return %y
    }
    """.replace("WINDOWS", _WINDOWS)


def test_the_largest_of_windows_is_one_of_float32() -> None:
    module, report = module_of(_POOLED)
    assert demote_float64(module, report)
    (made,) = module.signatures[0].graph.outputs
    chain = []
    while made.op is not None:
        chain.append((made.op.kind, made.dtype))
        before = made.op.operands[0]
        assert before is not None
        made = before
    assert chain == [(f"tf.{kind}", types.FLOAT32) for kind in ("Max", "XlaReduceWindow", "PadV2")]


def test_sums_of_windows_stay() -> None:
    check_pass("demote-float64", _POOLED.replace("Max'", "Add'"))
