"""Signatures that are cut at tensors within them."""

from __future__ import annotations

from typing import Any

import pytest

from fuseconv.errors import InputError
from tests.check_pass import check_pass
from tests.transforms.tf.branch_texts import BRANCH

CHAIN = """
main {
  input %x: float32[n,4]
  input %bias: float32[3]
  %a: float32[n,4] = tf.Neg(%x)
  %b: float32[n,3] = tf.Slice(%a, int32[2] [0, 1], int32[2] [-1, 3])
  %c: float32[n,3] = tf.BiasAdd(%b, %bias)
  %d: float32[n,3] = tf.Relu(%c)
  %e: float32[n,3] = tf.Exp(%b)
  return %d, %e
}
"""
COUNTED = """
main {
  input %x: float32[n,3]
  %v: resource[] = tf.VarHandleOp() {'shared_name': 'count'}
  %sum: float32[] = tf.Sum(%x, int32[2] [0, 1])
  tf.AssignAddVariableOp(%v, %sum)
  %h: float32[n,3] = tf.Neg(%x)
  %y: float32[n,3] = tf.Relu(%h)
  %READ
  return %y, %OUT
}
"""


def refused(text: str, **options: Any) -> str:
    with pytest.raises(InputError) as error:
        check_pass("cut-signature", text, text, **options)
    return str(error.value)


def test_an_inner_tensor_is_fed_and_what_made_it_goes() -> None:
    context = check_pass("cut-signature", CHAIN, """
    main {
      input %b: float32[b.0,3]
      input %bias: float32[3]
      %c: float32[n,3] = tf.BiasAdd(%b, %bias)
      %d: float32[n,3] = tf.Relu(%c)
      %e: float32[n,3] = tf.Exp(%b)
      return %d, %e
    }
    """, inputs=["b", "i1"])
    signature = context.module.signatures[0]
    assert (signature.inputs, signature.outputs) == (["b", "i1"], ["o0", "o1"])
    assert context.report.cut == ({"b": "b:0", "i1": "bias"}, {})
    assert context.report.account() == {"a": "removed", "b": "removed", "c": "", "d": "", "e": ""}


def test_an_inner_tensor_is_returned_and_inputs_that_it_does_not_need_go() -> None:
    context = check_pass("cut-signature", CHAIN, """
    main {
      input %x: float32[n,4]
      %a: float32[n,4] = tf.Neg(%x)
      %b: float32[n,3] = tf.Slice(%a, int32[2] [0, 1], int32[2] [-1, 3])
      %e: float32[n,3] = tf.Exp(%b)
      return %e, %b
    }
    """, outputs=["o1", "b:0"])
    signature = context.module.signatures[0]
    assert (signature.inputs, signature.outputs) == (["i0"], ["o1", "b"])


def test_inputs_in_another_order() -> None:
    check_pass("cut-signature", """
    main {
      input %x: float32[2]
      input %y: int32[2]
      return %x, %y
    }
    """, """
    main {
      input %y: int32[2]
      input %x: float32[2]
      return %x, %y
    }
    """, inputs=["i1", "i0"])


def test_a_tensor_that_is_fed_and_returned() -> None:
    check_pass("cut-signature", CHAIN, """
    main {
      input %b: float32[b.0,3]
      %e: float32[n,3] = tf.Exp(%b)
      return %b, %e
    }
    """, inputs=["b"], outputs=["b", "e"])


def test_nothing_changes_where_the_ends_are_asked_for() -> None:
    check_pass("cut-signature", CHAIN, inputs=["i0", "i1"], outputs=["o0", "o1"])


def test_the_tensors_of_an_annotated_function() -> None:
    check_pass("cut-signature", """
    main {
      input %x: float32[n,2]
      %y: float32[n,2] = tf.PartitionedCall(%x) {'f': @twice}
      %z: float32[n,2] = tf.PartitionedCall(%y) {'f': @twice}
      return %z
    }
    twice {
      attrs {'_implements': {'function': 'Twice'}}
      input %x: float32[*]
      %a: float32[*] = tf.Neg(%x)
      %b: float32[*] = tf.Exp(%a)
      return %b
    }
    """, """
    main {
      input %a: float32[SIZE,2]
      %b: float32[*] = tf.Exp(%a)
      %z: float32[n,2] = tf.PartitionedCall(%b) {'f': @twice@z}
      return %z
    }
    twice@z {
      attrs {'_implements': {'function': 'Twice'}}
      input %x: float32[n,2]
      %a: float32[*] = tf.Neg(%x)
      %b: float32[*] = tf.Exp(%a)
      return %b
    }
    """.replace("SIZE", f"sym{b'y/a.0'.hex()}"), first=["inline"], inputs=["y/a"])


def test_state_that_needs_what_is_left_out_goes_with_a_warning() -> None:
    text = COUNTED.replace("%READ\n", "\n").replace("%OUT", "%h")
    context = check_pass("cut-signature", text, """
    main {
      input %h: float32[h.0,3]
      %y: float32[n,3] = tf.Relu(%h)
      return %y, %h
    }
    """, inputs=["h"], variables={"count": 0.0})
    (warning,) = context.report.warnings
    assert warning.startswith("what changes state before the inputs") and "(AssignAddVariableOp)" in warning


def test_state_that_the_inputs_suffice_for_stays() -> None:
    text = COUNTED.replace("%READ\n", "\n").replace("%OUT", "%h").replace("(%v, %sum)", "(%v, float32[] 1)")
    context = check_pass("cut-signature", text, """
    main {
      input %h: float32[h.0,3]
      %v: resource[] = tf.VarHandleOp() {'shared_name': 'count'}
      tf.AssignAddVariableOp(%v, float32[] 1)
      %y: float32[n,3] = tf.Relu(%h)
      return %y, %h
    }
    """, inputs=["h"], variables={"count": 0.0})
    assert not context.report.warnings


def test_state_that_is_read_behind_the_cut_is_not_left_out() -> None:
    text = COUNTED.replace("%READ", "%r: float32[] = tf.ReadVariableOp(%v)").replace("%OUT", "%r")
    why = refused(text, inputs=["h"], variables={"count": 0.0})
    assert "(AssignAddVariableOp), which changes 'count', but 'r' still reads it" in why


def test_loops_and_branches_are_not_cut() -> None:
    inside = BRANCH.replace("%y: float32[2] = tf.Neg(%x)\n  return %y", "%n: float32[2] = tf.Neg(%x)\n  return %n")
    with pytest.raises(InputError, match=r"--inputs y/n: it is made in a step of a loop, or in a branch \('y'\)"):
        check_pass("cut-signature", inside, inside, first=["inline"], inputs=["y/n"])


def test_loops_of_tf1_are_not_cut() -> None:
    text = """
    main {
      input %x: float32[2]
      input %p: bool[]
      %off: float32[2]; %on: float32[2] = tf.Switch(%x, %p)
      %n: float32[2] = tf.Neg(%on)
      %m: float32[2]; %i: int32[] = tf.Merge(%off, %n)
      %y: float32[2] = tf.Exp(%m)
      return %y
    }
    """
    assert "in a branch ('n')" in refused(text, inputs=["n"])
    check_pass("cut-signature", text, """
    main {
      input %m: float32[*]
      %y: float32[2] = tf.Exp(%m)
      return %y
    }
    """, inputs=["m"], input_shapes={"m": (2,)})


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"inputs": ["i0"]}, "--inputs: the outputs need i1 too"),
        ({"inputs": ["i1", "b", "a"]}, "--inputs: no output needs a; leave it out"),
        ({"inputs": ["b", "b:0"]}, "--inputs names the tensor b:0 twice"),
        ({"outputs": ["d", "d"]}, "--outputs names the tensor d:0 twice"),
        ({"outputs": ["d:1"]}, "--outputs d:1: the node 'd' (Relu) makes 1 tensors"),
        ({"outputs": ["q"]}, "--outputs q: the model has no tensor or layer of that name; there are a, b, c, d and 1"),
    ],
)  # fmt: skip
def test_what_is_refused(options: dict[str, list[str]], why: str) -> None:
    assert why in refused(CHAIN, **options)


def test_an_unknown_rank_is_asked_for() -> None:
    text = """
    main {
      input %x: float32[2]
      %y: float32[*] = tf.Unknown(%x)
      %z: float32[*] = tf.Neg(%y)
      return %z
    }
    """
    assert "the rank of the tensor y is not known: give --input-shape y=..." in refused(text, inputs=["y"])
    assert "give --input-shape q=..." in refused(text, inputs=["y"], rename={"y": "q"})
    check_pass("cut-signature", text, """
    main {
      input %y: float32[*]
      %z: float32[*] = tf.Neg(%y)
      return %z
    }
    """, inputs=["y"], rename={"y:0": "q"}, input_shapes={"q": (2,)})


def test_handles_are_no_inputs() -> None:
    text = COUNTED.replace("%READ", "%r: float32[] = tf.ReadVariableOp(%v)").replace("%OUT", "%r")
    assert "--inputs v: it is a resource, and a TFLite file takes" in refused(text, inputs=["v"])
