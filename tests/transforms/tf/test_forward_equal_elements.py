"""What each step of a loop pushes alike is not taken from a list."""

from __future__ import annotations

from fuseconv.ir.graph import Graph
from fuseconv.ir.verifier import check as check_ir
from fuseconv.transforms.tf.canonicalize import canonicalize
from fuseconv.transforms.tf.forward_equal_elements import forward_equal_elements
from fuseconv.transforms.tf.inline import inline
from tests.check_pass import check_pass
from tests.tf.text_cases import module_of

LOOPS = """main {
  input %x: float32[n,2]
  %list: variant[*] = tf.EmptyTensorList(int32[] -1, int32[] -1) {'element_dtype': TYPE}
  %a: int32[]; %held: variant[*]; %same: float32[n,2] = tf.While(int32[] 0, %list, %x) {'cond': @cond, 'body': @push}
  %b: int32[]; %left: variant[*]; %sum: TYPE[*] = tf.While(int32[] 0, %held, START) {'cond': @cond, 'body': @pop}
  return %sum
}
push {
  input %i: int32[]
  input %list: variant[*]
  input %x: float32[n,2]
  %j: int32[] = tf.AddV2(%i, int32[] 1)
  PUSHED
  return %j, %longer, %x
}
pop {
  input %i: int32[]
  input %list: variant[*]
  input %sum: TYPE[*]
  %j: int32[] = tf.AddV2(%i, int32[] 1)
  %rest: variant[*]; %top: TYPE[*] = tf.TensorListPopBack(%list, int32[] -1)
  %more: TYPE[*] = tf.AddV2(%sum, %top)
  return %j, %rest, %more
}
cond {
  input %i: int32[]
  input %list: variant[*]
  input %y: float32[*]
  %more: bool[] = tf.Less(%i, int32[] 3)
  return %more
}"""


def _module(dtype: str, start: str, pushed: str) -> str:
    return LOOPS.replace("START", start).replace("PUSHED", pushed).replace("TYPE", dtype)


def test_a_constant_is_read_as_one() -> None:
    pushed = "%longer: variant[*] = tf.TensorListPushBack(%list, int32[2] [5, 6])"
    before = _module("int32", "int32[2] [0, 0]", pushed)
    after = before.replace("tf.AddV2(%sum, %top)", "tf.AddV2(%sum, int32[2] [5, 6])")
    check_pass("forward-equal-elements", before, after)


def _forwarded(text: str) -> tuple[Graph, Graph]:
    """Return the main graph and that of the loop that pops, behind the pass."""
    module, report = module_of(text)
    inline(module, report)
    canonicalize(module, report)
    assert forward_equal_elements(module) is None
    check_ir(module)
    main = module.signatures[0].graph
    return main, module.functions[main.ops[-1].attrs["body"].name]


def test_sizes_from_outside_are_carried() -> None:
    pushed = """%sizes: int32[2] = tf.Shape(%x)
  %longer: variant[*] = tf.TensorListPushBack(%list, %sizes)"""
    main, popping = _forwarded(_module("int32", "int32[2] [0, 0]", pushed))
    assert [op.type for op in main.ops[2:]] == ["Shape", "StridedSlice", "Pack", "Cast", "While"]
    assert popping.ops[-1].operands[1] is popping.inputs[-1] is popping.outputs[-1]


def test_a_value_from_outside_is_carried() -> None:
    pushed = "%longer: variant[*] = tf.TensorListPushBack(%list, %x)"
    main, popping = _forwarded(_module("float32", "%x", pushed))
    assert main.ops[-1].operands[-1] is main.inputs[0]
    assert popping.ops[-1].operands[1] is popping.inputs[-1] is popping.outputs[-1]


def test_what_steps_push_differently_stays() -> None:
    for pushed in (
        "%longer: variant[*] = tf.TensorListPushBack(%list, %i)",
        """%first: variant[*] = tf.TensorListPushBack(%list, int32[] 1)
  %longer: variant[*] = tf.TensorListPushBack(%first, int32[] 2)""",
        """%set: variant[*] = tf.TensorListSetItem(%list, int32[] 0, int32[] 1)
  %longer: variant[*] = tf.TensorListPushBack(%set, int32[] 1)""",
    ):
        check_pass("forward-equal-elements", _module("int32", "int32[] 0", pushed))
