"""Products that quantize their activations themselves become ops that do so."""

from __future__ import annotations

import pytest

from fuseconv.quantize import raise_hybrid_products
from fuseconv.quantize.selection import Selection
from tests.check_pass import check_pass

# %x is [n, 2]; the result of %r is to be read.
_ROWS = """
      input %x: float32[n,2]
      %a: float32[n,2] = tfl.ABS(%x)
      %m: float32[n,1] = tfl.REDUCE_MAX(%a, int32[1] [1]) {"keep_dims": True}
      %e: float32[n,1] = tfl.ADD(%m, float32[] 1e-7)
      %s: float32[n,1] = tfl.DIV(float32[] 127, %e)
      %b: float32[n,2] = tfl.MUL(%x, %s)
      %c: float32[n,2] = tfl.ROUND(%b)
      %d: float32[n,2] = tfl.MINIMUM(%c, float32[] 127)
      %f: float32[n,2] = tfl.MAXIMUM(%d, float32[] LEAST)
      %q: int8[n,2] = tfl.CAST(%f)
"""
_PRODUCT = """
      %p: int32[n,3] = tfl.BATCH_MATMUL(%q, int8[2,3] [[1, 2, 3], [4, 5, 127]])
      %g: float32[n,3] = tfl.CAST(%p)
      %k: float32[n,3] = tfl.MUL(float32[3] [2, 4, 8], %s)
      %r: float32[n,3] = tfl.DIV(%g, %k)
"""
_BEFORE = f"main {{{_ROWS}{_PRODUCT}      return %r\n    }}".replace("LEAST", "-127")


def test_the_stored_integers_are_kept() -> None:
    context = check_pass("raise-hybrid-products", _BEFORE, """
    main {
      input %x: float32[n,2]
      %r: float32[n,3] = tfl.FULLY_CONNECTED(%x, int8[3,2]<0.5,0.25,0.125@0> [[1, 4], [2, 5], [3, 127]])
      return %r
    }
    """, quantize="dynamic")
    assert [(item.type, item.before, item.after) for item in context.report.quantized] == [("int8", 6, 6)]


@pytest.mark.parametrize(("largest", "least", "stored"), [
    (7, 1, "int4[3,2]<0.5,0.25,0.125@0> [[1, 4], [2, 5], [3, 7]]"),
    (8, 1, "float32[3,2] [[0.5, 2], [0.5, 1.25], [0.375, 1]]"),  # which becomes one of 4 bits
    (8, 7, "int8[3,2]<0.5,0.25,0.125@0> [[1, 4], [2, 5], [3, 8]]"),
])  # fmt: skip
def test_4_bits_are_kept_if_they_hold_the_integers(
    largest: int, least: int, stored: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(raise_hybrid_products, "LEAST_ELEMENTS", least)
    check_pass("raise-hybrid-products", _BEFORE.replace("127]]", f"{largest}]]"), f"""
    main {{
      input %x: float32[n,2]
      %r: float32[n,3] = tfl.FULLY_CONNECTED(%x, {stored})
      return %r
    }}
    """, quantize="int4")


def test_a_bias_and_an_activation_are_taken_in() -> None:
    more = "%y: float32[n,3] = tfl.ADD(%r, float32[3] [1, 2, 3]) {'fused_activation_function': 'RELU'}\n      return %y"
    check_pass("raise-hybrid-products", _BEFORE.replace("return %r", more), """
    main {
      input %x: float32[n,2]
      %r: float32[n,3] = tfl.FULLY_CONNECTED(%x, int8[3,2]<0.5,0.25,0.125@0> [[1, 4], [2, 5], [3, 127]],
        float32[3] [1, 2, 3]) {"fused_activation_function": "RELU"}
      return %r
    }
    """.replace(",\n       ", ","), quantize="dynamic")


def test_integer_kernels_quantize_the_weights_again() -> None:
    check_pass("raise-hybrid-products", _BEFORE, """
    main {
      input %x: float32[n,2]
      %r: float32[n,3] = tfl.FULLY_CONNECTED(%x, float32[3,2] [[0.5, 2.0], [0.5, 1.25], [0.375, 15.875]])
      return %r
    }
    """, quantize="int8")


_OF_FLOATS = _BEFORE.replace(_PRODUCT, """
      %h: float32[n,2] = tfl.CAST(%q)
      %p: float32[n,3] = tfl.FULLY_CONNECTED(%h, float32[3,2] [[3.5, 0.5], [-7, 3], [0, 0]], _)
      %r: float32[n,3] = tfl.DIV(%p, %s)
""")


def test_rows_and_integers_that_are_floats() -> None:
    """As in a Keras file that is read as data: with scales of channels, and no CAST."""
    floats = """
      %p: float32[n,3] = tfl.FULLY_CONNECTED(%f, float32[3,2] [[1, 4], [2, 5], [3, 127]], _)
      %k: float32[n,3] = tfl.MUL(float32[3] [2, 4, 8], %s)
      %r: float32[n,3] = tfl.DIV(%p, %k)
"""
    before = _BEFORE.replace(_PRODUCT, floats).replace("      %q: int8[n,2] = tfl.CAST(%f)\n", "")
    check_pass("raise-hybrid-products", before, """
    main {
      input %x: float32[n,2]
      %r: float32[n,3] = tfl.FULLY_CONNECTED(%x, int8[3,2]<0.5,0.25,0.125@0> [[1, 4], [2, 5], [3, 127]])
      return %r
    }
    """, quantize="dynamic")


def test_products_of_floats_on_a_grid() -> None:
    check_pass("raise-hybrid-products", _OF_FLOATS.replace("LEAST", "-127"), """
    main {
      input %x: float32[n,2]
      %r: float32[n,3] = tfl.FULLY_CONNECTED(%x, int4[3,2]<0.5,1.0,1.0@0> [[7, 1], [-7, 3], [0, 0]])
      return %r
    }
    """, quantize="int4")
    for part, other in (
        ("[3.5, 0.5]", "[3.5, 0.123]"), ("tfl.DIV(%p, %s)", "tfl.DIV(%p, %e)"), ("%h, float", "%x, float")
    ):  # fmt: skip
        assert part in _OF_FLOATS
        check_pass("raise-hybrid-products", _OF_FLOATS.replace(part, other), quantize="int4")


@pytest.mark.parametrize(("part", "other"), [
    ("-127", "-100"), ("float32[] 1e-7", "float32[] 1.0"), ("int32[1] [1]", "int32[1] [0]"), ("5, 127]", "5, -128]"),
    ("tfl.DIV(float32[] 127,", "tfl.DIV(float32[] 100,"), ("float32[3] [2, 4, 8]", "float32[3] [2, 0, 8]"),
    ("float32[3] [2, 4, 8], %s", "float32[3] [2, 4, 8], float32[] 3"), ("tfl.ABS(%x)", "tfl.NEG(%x)"),
])  # fmt: skip
def test_what_is_computed_otherwise(part: str, other: str) -> None:
    assert part in _BEFORE
    check_pass("raise-hybrid-products", _BEFORE.replace(part, other), quantize="dynamic")


def test_what_is_left_out_stays() -> None:
    check_pass("raise-hybrid-products", _BEFORE, quantize="dynamic", selection=Selection(without=("BATCH_MATMUL",)))
