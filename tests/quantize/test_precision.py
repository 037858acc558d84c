"""Which part of a range counts, and which steps are too coarse for what is made of them."""

from __future__ import annotations

import math

import pytest

from fuseconv.quantize.precision import coarse_ops, narrow_ranges
from fuseconv.tfl.integer import INT8, INT16, Kernels
from tests.quantize.ranges import measured
from tests.tf.text_cases import module_of


def _coarse(text: str, ranges: dict[str, tuple[float, float]], kernels: Kernels = INT8) -> list[str]:
    """Return the types of the ops that stay float in a graph of %x."""
    module, _ = module_of(f"main {{\n  input %x: float32[n,4]\n{text}\n  return %y\n}}")
    graph, known = module.signatures[0].graph, measured(**ranges).ranges
    wider = narrow_ranges(graph, known, kernels)
    found = coarse_ops(graph, known, wider, kernels, is_main=True)
    return [op.type for op in graph.ops if op in found]


@pytest.mark.parametrize(("ops", "range_"), [
    ("%y: float32[n,4] = tfl.TANH(%a)", (-3.12, 3.12)),
    ("%y: float32[n,4] = tfl.LOGISTIC(%a)", (-6.24, 6.24)),
    ("%y: float32[n,4] = tfl.RELU(%a)", (0, 50)),
    ("%y: float32[n,4] = tfl.LEAKY_RELU(%a)", (-50, 50)),
    # What one of two readers tells apart counts.
    ("%b: float32[n,4] = tfl.TANH(%a)\n%y: float32[n,4] = tfl.LOGISTIC(%a)", (-6.24, 6.24)),
    ("%b: float32[n,4] = tfl.TANH(%a)\n%y: float32[n,4] = tfl.MUL(%a, %b)", (-50, 50)),
    # What moves numbers tells apart what its readers do; averages are not of parts.
    ("%b: float32[n,4] = tfl.REVERSE_V2(%a, int32[1] 1)\n%y: float32[n,4] = tfl.TANH(%b)", (-3.12, 3.12)),
    ("%b: float32[n,4] = tfl.RESIZE_BILINEAR(%a, int32[2] [1, 1])\n%y: float32[n,4] = tfl.TANH(%b)", (-50, 50)),
])  # fmt: skip
def test_what_readers_tell_apart(ops: str, range_: tuple[float, float]) -> None:
    text = f"main {{\n  input %x: float32[n,4]\n%a: float32[n,4] = tfl.ABS(%x)\n{ops}\n  return %y\n}}"
    module, _ = module_of(text)
    graph, known = module.signatures[0].graph, measured(a=(-50, 50), b=(-50, 50), y=(-50, 50)).ranges
    wider = narrow_ranges(graph, known, INT8)
    found = known[graph.ops[0].result]
    assert (found.least, found.largest) == pytest.approx(range_, abs=0.01)
    assert (graph.ops[0].result in wider) == (range_ != (-50, 50))


_MASK = "float32[2,1,2,4] [0, 0, 0, -100, 0, 0, -100, 0, -100, 0, -1, -100, 0, 0, 0, 0]"


@pytest.mark.parametrize(("mask", "shape", "beta", "least"), [
    (_MASK, "[-1, 2, 4]", 1.0, -3 - 6.24),
    (_MASK, "[-1, 2, 4]", 2.0, -3 - 3.12),
    (_MASK.replace("-1,", "-100,").replace(" 0, -100, -100", " -7, -100, -100"), "[-1, 2, 4]", 1.0, -3 - 7 - 6.24),
    (_MASK, "[-1, 4, 2]", 1.0, -100),  # other rows
    ("%m", "[-1, 2, 4]", 1.0, -100),  # a mask that is computed may hide a whole row
    # Files of others may have a factor that is none, and a mask that is no number.
    (_MASK, "[-1, 2, 4]", 0.0, -100), (_MASK, "[-1, 2, 4]", -1.0, -100),
    (_MASK.replace("-1,", "nan,"), "[-1, 2, 4]", 1.0, -100),
])  # fmt: skip
def test_what_a_constant_mask_hides(mask: str, shape: str, beta: float, least: float) -> None:
    sizes = shape.removeprefix("[-1, ").replace(" ", "")
    module, _ = module_of(f"""
    main {{
      input %x: float32[n,2,3,2,4]
      input %m: float32[2,1,2,4]
      %a: float32[n,2,3,2,4] = tfl.ABS(%x)
      %b: float32[n,2,3,2,4] = tfl.ADD(%a, {mask})
      %c: float32[6*n,{sizes} = tfl.RESHAPE(%b, int32[3] {shape})
      %y: float32[6*n,{sizes} = tfl.SOFTMAX(%c) {{'beta': {beta}}}
      return %y
    }}
    """)
    graph, known = module.signatures[0].graph, measured(a=(-3, 5), b=(-100, 5), c=(-100, 5), y=(0, 1), m=(-9, 0)).ranges
    narrow_ranges(graph, known, INT8)
    a, b, c = (known[op.result] for op in graph.ops[:3])
    assert (b.least, b.largest) == (c.least, c.largest) == pytest.approx((least, 5), abs=0.01)
    assert (a.least, a.largest) == (-3, 5)


@pytest.mark.parametrize(("picked", "range_"), [
    ((0, 30), (0, 37.5)),  # later inputs have numbers beyond the largest of these few
    ((-45, -1), (-50, -1)),  # but none beyond all that there were
])  # fmt: skip
def test_what_is_picked_leaves_room(picked: tuple[float, float], range_: tuple[float, float]) -> None:
    module, _ = module_of("""
    main {
      input %x: float32[n,4]
      %a: float32[n,4] = tfl.GELU(%x)
      %b: float32[n,1,4] = tfl.RESHAPE(%a, int32[3] [-1, 1, 4])
      %y: float32[n,1,1] = tfl.SLICE(%b, int32[3] [0, 0, 3], int32[3] [-1, 1, 1])
      return %y
    }
    """)
    graph, known = module.signatures[0].graph, measured(a=(-50, 50), b=(-50, 50), y=picked).ranges
    narrow_ranges(graph, known, INT8)
    assert [(known[op.result].least, known[op.result].largest) for op in graph.ops] == [range_, range_, picked]
    # A gate ends where its reader says.
    module, _ = module_of("""
    main {
      input %x: float32[n,4]
      %a: float32[n,4] = tfl.GELU(%x)
      %b: float32[n,1] = tfl.SLICE(%a, int32[2] [0, 3], int32[2] [-1, 1])
      %y: float32[n,1] = tfl.TANH(%b)
      return %y
    }
    """)
    graph, known = module.signatures[0].graph, measured(a=(-50, 50), b=(-40, 40), y=(-1, 1)).ranges
    narrow_ranges(graph, known, INT8)
    assert known[graph.ops[0].result].largest == pytest.approx(3.12, abs=0.01)


def test_an_lstm_reads_all_that_it_makes() -> None:
    module, _ = module_of("""
    main {
      input %x: float32[1,3,1]
      %h: float32[1,1] = tfl.FILL(int32[2] [1, 1], float32[] 0)
      %c: float32[1,1] = tfl.FILL(int32[2] [1, 1], float32[] 0)
      %a: float32[1,3,1] = tfl.UNIDIRECTIONAL_SEQUENCE_LSTM(\
%x, _, _, _, _, _, _, _, _, _, _, _, _, _, _, _, _, _, %h, %c)
      %y: float32[1,1,1] = tfl.SLICE(%a, int32[3] [0, 2, 0], int32[3] [1, 1, 1])
      return %y
    }
    """)
    graph, known = module.signatures[0].graph, measured(a=(-1, 1), y=(-0.1, 0.1)).ranges
    assert not narrow_ranges(graph, known, INT8)


@pytest.mark.parametrize(("text", "ranges", "floats"), [
    # A tensor far from zero, and what little differs in it.
    ("%a: float32[n,4] = tfl.ABS(%x)\n%y: float32[n,4] = tfl.SUB(%a, float32[] 100)",
     {"x": (100, 101), "a": (100, 101), "y": (0, 1)}, ["ABS", "SUB"]),
    ("%a: float32[n,4] = tfl.ABS(%x)\n%y: float32[n,4] = tfl.SUB(%a, float32[] 1)",
     {"x": (1, 2), "a": (1, 2), "y": (0, 1)}, []),
    # What little differs in an output counts, but in a constant.
    ("%y: float32[n,4] = tfl.ABS(%x)", {"x": (-101, 101), "y": (100, 101)}, ["ABS"]),
    ("%y: float32[n,4] = tfl.ABS(%x)", {"x": (-101, 101), "y": (100, 100.001)}, []),
    # The one scale of a kernel is coarse for small results, but not for what they are added to.
    ("%y: float32[n,4] = tfl.TANH(%x)", {"x": (-0.01, 0.01), "y": (-0.01, 0.01)}, ["TANH"]),
    ("%a: float32[n,4] = tfl.TANH(%x)\n%y: float32[n,4] = tfl.ADD(%a, %x)",
     {"x": (-3, 3), "a": (-0.01, 0.01), "y": (-3, 3)}, []),
    # Errors of many small numbers add up, where these are summed.
    ("%a: float32[n,512] = tfl.SOFTMAX(%x)\n%y: float32[n] = tfl.SUM(%a, int32[1] 1)",
     {"x": (-3, 3), "a": (0, 0.1), "y": (0.8, 1)}, ["SOFTMAX"]),
    ("%a: float32[n,4] = tfl.SOFTMAX(%x)\n%y: float32[n] = tfl.SUM(%a, int32[1] 1)",
     {"x": (-3, 3), "a": (0, 0.1), "y": (0.8, 1)}, []),
    # A quotient is steep near zero, but not its sign.
    ("%a: float32[n,4] = tfl.ABS(%x)\n%y: float32[n,4] = tfl.DIV(%x, %a)",
     {"x": (-9, 9), "a": (0, 9), "y": (-1, 1)}, ["ABS", "DIV"]),
    ("%a: float32[n,4] = tfl.ABS(%x)\n%b: float32[n,4] = tfl.DIV(%x, %a)\n%y: bool[n,4] = tfl.LESS(%b, float32[] 0)",
     {"x": (-9, 9), "a": (0, 9), "b": (-1, 1)}, []),
    ("%a: float32[n,4] = tfl.ABS(%x)\n%b: float32[n,4] = tfl.DIV(%x, %a)\n%y: bool[n,4] = tfl.LESS(%b, float32[] 1)",
     {"x": (-9, 9), "a": (0, 9), "b": (-1, 1)}, ["ABS", "DIV"]),
    # Of numbers near zero, a power below zero makes the largest; of others, it does not.
    ("%a: float32[n,4] = tfl.ABS(%x)\n%y: float32[n,4] = tfl.POW(%a, float32[] -1.5)",
     {"x": (-9, 9), "a": (0.01, 9), "y": (0, 1000)}, ["ABS", "POW"]),
    ("%a: float32[n,4] = tfl.ABS(%x)\n%y: float32[n,4] = tfl.POW(%a, float32[] -1.5)",
     {"x": (-9, 9), "a": (1, 9), "y": (0, 1)}, []),
    # A feature of 10000 beside one of 0.5, which is multiplied by as much more.
    ("%a: float32[n,4] = tfl.SUB(%x, float32[4] [1e4, 1, 1, 1])\n"
     "%y: float32[n,4] = tfl.MUL(%a, float32[4] [1e-4, 1, 1, 1])",
     {"x": (0, 2e4), "a": (-1e4, 1e4), "y": (-1, 1)}, ["SUB", "MUL"]),
    ("%y: float32[n,2] = tfl.FULLY_CONNECTED(%x, float32[2,4] [1e-4, 1, 1, 1, 1e-4, -1, 1, 1], _)",
     {"x": (0, 2e4), "y": (-3, 3)}, ["FULLY_CONNECTED"]),
    # What no integers hold has no steps.
    *(("%a: float32[n,4] = tfl.LOG(%x)\n%y: bool[n,4] = tfl.LESS(%a, float32[] 1)",
       {"x": (0, 1), "a": (-math.inf, largest)}, ["LOG"]) for largest in (-math.inf, 0.0)),
    # Numbers that become indices.
    ("%a: float32[n,4] = tfl.ABS(%x)\n%y: int32[n,4] = tfl.CAST(%a)", {"x": (0, 200), "a": (0, 200)}, ["ABS"]),
    # Sums of gates that reach far beyond where these change are less exact than they tell apart.
    ("%a: float32[n,1] = tfl.FULLY_CONNECTED(%x, float32[1,4] [1, 1, 1, 1], _)\n%y: float32[n,1] = tfl.TANH(%a)",
     {"x": (-2, 2), "a": (-900, 900), "y": (-1, 1)}, ["FULLY_CONNECTED"]),
    ("%a: float32[n,1] = tfl.FULLY_CONNECTED(%x, float32[1,4] [1, 1, 1, 1], _)\n%y: float32[n,1] = tfl.TANH(%a)",
     {"x": (-2, 2), "a": (-100, 100), "y": (-1, 1)}, []),
    # Products behind products bear more each, but not as much as the first one reads: 8 steps of SOFTMAX.
    *(("%a: float32[n,4] = tfl.SOFTMAX(%x)\n"
       "%b: float32[n,1] = tfl.FULLY_CONNECTED(%a, float32[1,4] [1, 0, 0, 0], _)\n"
       "%y: float32[n,1] = tfl.FULLY_CONNECTED(%b, float32[1,1] [[1]], _)",
       {"x": (-1, 1), "a": (0, largest), "b": (0, largest), "y": (0, largest)}, kept)
      for largest, kept in ((0.03, ["SOFTMAX"]), (0.035, []), (0, []))),
])  # fmt: skip
def test_steps_that_are_coarse(text: str, ranges: dict[str, tuple[float, float]], floats: list[str]) -> None:
    assert [kind for kind in _coarse(text, ranges) if kind != "CAST"] == floats


def test_steps_of_int16_are_fine() -> None:
    text = "%a: float32[n,4] = tfl.ABS(%x)\n%y: float32[n,4] = tfl.SUB(%a, float32[] 100)"
    assert not _coarse(text, {"x": (100, 101), "a": (100, 101), "y": (0, 1)}, INT16)
    assert _coarse(text, {"x": (100, 100.1), "a": (100, 100.1), "y": (0, 0.1)}, INT16) == ["ABS", "SUB"]


def test_sums_of_weights_of_8_bits_are_coarse_for_16() -> None:
    text = "%a: float32[n,1] = tfl.FULLY_CONNECTED(%x, float32[1,4] [1, 1, 1, 1], _)\n%y: float32[n,1] = tfl.TANH(%a)"
    assert _coarse(text, {"x": (-2, 2), "a": (-100, 100), "y": (-1, 1)}, INT16) == ["FULLY_CONNECTED"]
    assert not _coarse(text, {"x": (-2, 2), "a": (-10, 10), "y": (-1, 1)}, INT16)


def test_features_whose_units_differ_as_much_as_16_bits_tell_apart() -> None:
    text = """%a: float32[n,4] = tfl.SUB(%x, float32[4] [1e3, 1, 1, 1])
    %y: float32[n,4] = tfl.MUL(%a, float32[4] [1e-3, 0.8, 0.8, 0.8])"""
    ranges = {"x": (0.0, 2e3), "a": (-1e3, 1e3), "y": (-3.0, 3.0)}
    assert _coarse(text, ranges, INT16) == ["SUB", "MUL"]
    assert not _coarse(text.replace("0.8", "0.1"), ranges, INT16)
