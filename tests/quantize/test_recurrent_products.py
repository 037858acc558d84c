"""Products of loops take floats, and so do those of the inputs of all steps."""

from __future__ import annotations

import pytest

from fuseconv.ir.graph import Module
from fuseconv.quantize.recipe import Recipe, choose_recipes
from fuseconv.quantize.recurrent_products import between_floats, moves_of_floats
from fuseconv.quantize.selection import Selection
from fuseconv.tfl.integer import INT8
from tests.check_pass import check_pass
from tests.quantize.ranges import measured
from tests.tf.text_cases import module_of

_EYE = "float32[2,2] [[1, 0], [0, 1]]"
_STEPS = f"""
main {{
  input %x: float32[3,n,2]
  input %h: float32[n,2]
  %p: float32[3,n,2] = tfl.FULLY_CONNECTED(%x, {_EYE})
  %k: int32[]; %q: float32[3,n,2]; %y: float32[n,2] = tfl.WHILE(int32[] 0, %p, %h) \
{{'cond_subgraph_index': @more, 'body_subgraph_index': @step}}
  return %y
}}
more {{
  input %i: int32[]
  input %f: float32[3,n,2]
  input %g: float32[n,2]
  %m: bool[] = tfl.LESS(%i, int32[] 3)
  return %m
}}
step {{
  input %i: int32[]
  input %f: float32[3,n,2]
  input %g: float32[n,2]
  %j: int32[] = tfl.ADD(%i, int32[] 1)
  %r: float32[n,2] = tfl.GATHER(%f, %i) {{'axis': 0}}
  %s: float32[n,2] = tfl.FULLY_CONNECTED(%g, {_EYE})
  %a: float32[n,2] = tfl.ADD(%r, %s)
  %t: float32[n,2] = tfl.TANH(%a)
  return %j, %f, %t
}}
""".replace("\\\n", "")
_RANGES = dict.fromkeys("xphqyfgrsatz", (-1.0, 1.0))


def _recipes(text: str, hybrid: bool = True) -> tuple[Module, list[Recipe]]:
    module, _ = module_of(text)
    return module, [*choose_recipes(module, measured(**_RANGES).ranges, INT8, hybrid=hybrid).values()]


def _hybrid(text: str) -> set[str]:
    return {op.result.name for recipe in _recipes(text)[1] for op in recipe.hybrid}


def test_products_of_a_loop() -> None:
    weights = "int8[2,2]<0.015625,0.015625@0> [[64, 0], [0, 64]]) {'asymmetric_quantize_inputs': True}"
    check_pass(
        "to-integers", _STEPS, _STEPS.replace(f"{_EYE})", weights), quantize="int8", calibration=measured(**_RANGES)
    )


def test_products_that_others_read_are_of_integers() -> None:
    assert _hybrid(_STEPS) == {"p", "s"}
    assert not {op for recipe in _recipes(_STEPS, hybrid=False)[1] for op in recipe.hybrid}
    for before, after in (
        ("return %y", "%z: float32[3,n,2] = tfl.ABS(%q)\n  return %y, %z"),
        ("return %y", "%z: float32[3,n,2] = tfl.ABS(%p)\n  return %y, %z"),
        ("%m: bool[]", "%z: float32[3,n,2] = tfl.ABS(%f)\n  %m: bool[]"),
        ("return %j, %f, %t", "%z: float32[3,n,2] = tfl.ABS(%f)\n  return %j, %z, %t"),
    ):
        text = _STEPS.replace(before, after)
        assert text != _STEPS and _hybrid(text) == {"s"}, after
    assert _hybrid(_STEPS.replace("return %y", "return %y, %p")) == {"p", "s"}
    # What a step hands on is no product of what it is given.
    assert not _hybrid(_STEPS.replace("tfl.FULLY_CONNECTED(%g", "tfl.FULLY_CONNECTED(%r"))


@pytest.mark.parametrize(
    ("left", "hybrid"), [("FULLY_CONNECTED", set()), ("s", {"p"}), ("p", {"s"}), ("TANH", {"p", "s"})]
)
def test_what_is_chosen_to_be_float(left: str, hybrid: set[str]) -> None:
    module, _ = module_of(_STEPS)
    recipes = choose_recipes(module, measured(**_RANGES).ranges, INT8, Selection(without=(left,)), hybrid=True)
    assert {op.result.name for recipe in recipes.values() for op in recipe.hybrid} == hybrid
    # Gates around it add up errors as gates around other products do.
    assert not any(recipe.integer for recipe in recipes.values())


@pytest.mark.parametrize("count", [2, 3])
def test_unrolled_steps(count: int) -> None:
    steps = "".join(
        f"%s{i}: float32[n,2] = tfl.FULLY_CONNECTED(%t{i}, {_EYE})\n  %t{i + 1}: float32[n,2] = tfl.TANH(%s{i})\n  "
        for i in range(count)
    )
    module, _ = module_of(f"""
    main {{
      input %t0: float32[n,2]
      {steps}%d: float32[n,2] = tfl.FULLY_CONNECTED(%t{count}, float32[2,2] [2, 0, 0, 1], _)
      return %d
    }}
    """)
    (graph,) = module.graphs()
    for op in graph.ops:
        op.sources = (op.result.name.rstrip("0123456789"),)
    names = ["d", *(f"{name}{i}" for i in range(count + 1) for name in "st")]
    ranges = measured(**dict.fromkeys(names, (-1.0, 1.0))).ranges
    recipe = choose_recipes(module, ranges, INT8, hybrid=True)[graph]
    # Two steps are no loop.
    assert {op.result.name for op in recipe.hybrid} == (set() if count == 2 else {"s0", "s1", "s2"})
    assert {op.result.name for op in recipe.why} == (set() if count == 2 else {"t1", "t2", "t3"})


def test_what_differs_in_a_first_step() -> None:
    module, _ = module_of("""
    main {
      input %x: float32[2]
      %a: float32[2] = tfl.EXP(%x)
      %b: float32[2] = tfl.ABS(%a)
      %c: float32[2] = tfl.RESHAPE(%b, int32[1] [2])
      %d: float32[2] = tfl.MUL(%c, %b)
      %e: float32[2] = tfl.TANH(%d)
      %f: float32[2] = tfl.ABS(%a)
      return %e, %f
    }
    """)
    graph = module.signatures[0].graph
    ops = {op.result.name: op for op in graph.ops}
    found = between_floats(graph, {ops["a"], ops["e"]}, {ops[name] for name in "bcdf"}, INT8.moves)
    # %f is an output as well, and %c moves numbers: it is as what is around it.
    assert {op.result.name for op in found} == {"b", "d"}


_THREE_STEPS = """
more {
  input %i: int32[]
  input %f: float32[3,2]
  input %g: float32[2]
  %m: bool[] = tfl.LESS(%i, int32[] 3)
  return %m
}
step {
  input %i: int32[]
  input %f: float32[3,2]
  input %g: float32[2]
  %j: int32[] = tfl.ADD(%i, int32[] 1)
"""
_COLLECTS = """
main {
  input %x: float32[2]
  %b: float32[3,2] = tfl.FILL(int32[2] [3, 2], float32[] 0.0)
  %k: int32[]; %y: float32[3,2]; %z: float32[2] = tfl.WHILE(int32[] 0, %b, %x) \
{'cond_subgraph_index': @more, 'body_subgraph_index': @step}
  %o: float32[6] = tfl.RESHAPE(%y, int32[1] [6])
  return %o
}
""" + _THREE_STEPS + """  %h: float32[2] = tfl.TANH(%g)
  %r: float32[1,2] = tfl.RESHAPE(%h, int32[2] [1, 2])
  %p: int32[2] = tfl.PACK(%i, int32[] 0) {'axis': 0}
  %u: float32[3,2] = tfl.DYNAMIC_UPDATE_SLICE(%f, %r, %p)
  return %j, %u, %h
}
"""


@pytest.mark.parametrize(("before", "after", "found"), [
    ("", "", {"r", "u", "o"}),
    ("return %o", "%n: float32[6] = tfl.ABS(%o)\n  return %n", set()),
    ("%r: float32[1,2] = tfl.RESHAPE(%h", "%v: float32[2] = tfl.ABS(%h)\n  %r: float32[1,2] = tfl.RESHAPE(%v", set()),
    ("return %j, %u, %h", "%v: float32[3,2] = tfl.ABS(%f)\n  return %j, %u, %h", set()),
    ("%m: bool[]", "%n: float32[3,2] = tfl.ABS(%f)\n  %m: bool[]", set()),
])  # fmt: skip
def test_what_loops_collect_of_floats_for_floats(before: str, after: str, found: set[str]) -> None:
    text = _COLLECTS.replace("\\\n", "").replace(before, after) if before else _COLLECTS.replace("\\\n", "")
    module, _ = module_of(text)
    integer = {op for graph in module.graphs() for op in graph.ops if op.type != "TANH"}
    assert {op.result.name for op in moves_of_floats(module, integer, INT8.moves)} == found


_TAKES = """
main {
  input %x: float32[2,3]
  input %h: float32[2]
  %s: float32[3,2] = tfl.TRANSPOSE(%x, int32[2] [1, 0])
  %k: int32[]; %q: float32[3,2]; %y: float32[2] = tfl.WHILE(int32[] 0, %s, %h) \
{'cond_subgraph_index': @more, 'body_subgraph_index': @step}
  return %y
}
""" + _THREE_STEPS + """  %r: float32[2] = tfl.GATHER(%f, %i) {'axis': 0}
  %t: float32[2] = tfl.TANH(%r)
  return %j, %f, %t
}
""".replace("\\\n", "")


@pytest.mark.parametrize(("before", "after", "found"), [
    ("", "", {"s", "r"}),
    ("%s: float32[3,2]", "%a: float32[2,3] = tfl.ABS(%x)\n  %s: float32[3,2]", {"s", "r"}),
    ("tfl.TRANSPOSE(%x", "tfl.CONV_2D(%x", set()),
    ("tfl.TANH(%r)", "tfl.ABS(%r)", set()),
    ("return %y", "%z: float32[3,2] = tfl.ABS(%q)\n  return %y, %z", set()),
])  # fmt: skip
def test_what_loops_take_in_of_floats_for_floats(before: str, after: str, found: set[str]) -> None:
    module, _ = module_of(_TAKES.replace(before, after) if before else _TAKES)
    integer = {op for graph in module.graphs() for op in graph.ops if op.type != "TANH"}
    assert {op.result.name for op in moves_of_floats(module, integer, INT8.moves)} == found
