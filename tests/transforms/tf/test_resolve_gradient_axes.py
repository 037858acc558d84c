"""Axes of gradients are told, though sizes are not."""

from __future__ import annotations

import pytest

from tests.check_pass import check_pass


def _check(dy: str, x: str, y: str, axes: str | None) -> None:
    """Sum the gradient `dy` of what x and y broadcast to, for x."""
    sizes = {name: f"%of_{name}: int32[2] = tf.Shape(%{name})" for name in "xy"}
    read = {name: f"%of_{name}" for name in "xy"}
    for name, shape in (("x", x), ("y", y)):
        if shape.replace(",", "").isdigit():
            sizes[name], read[name] = "", f"int32[2] [{shape}]"
    before = f"""
    main {{
      input %dy: float32[{dy}]
      input %x: float32[{x}]
      input %y: float32[{y}]
      {sizes["x"]}
      {sizes["y"]}
      %a: int32[k]; %b: int32[j] = tf.BroadcastGradientArgs({read["x"]}, {read["y"]})
      %sum: float32[u,v] = tf.Sum(%dy, %a) {{'keep_dims': True}}
      return %sum
    }}
    """
    after = None
    if axes is not None:
        after = before.replace("(%dy, %a)", f"(%dy, int32[{len(axes.replace(',', ''))}] [{axes}])")
    check_pass("resolve-gradient-axes", before, after, first=["canonicalize"])


@pytest.mark.parametrize(("dy", "x", "y", "axes"), [
    ("n,4", "n,1", "n,4", "1"), ("n,4", "n,4", "n,1", ""), ("n,4", "1,4", "n,4", "0"), ("n,m", "1,1", "n,m", "0,1"),
    ("n,4", "n,4", "1,4", ""), ("n,4", "1,1", "n,4", "0,1"),
])  # fmt: skip
def test_axes_of_size_1(dy: str, x: str, y: str, axes: str) -> None:
    _check(dy, x, y, axes)


@pytest.mark.parametrize(("dy", "x", "y"), [
    ("m,4", "n,4", "m,4"),  # n may be 1 where m is not
    ("n,5", "n,1", "n,4"),  # no gradient of these
    ("4,4", "n,4", "4,4"),
])  # fmt: skip
def test_sizes_that_may_differ(dy: str, x: str, y: str) -> None:
    _check(dy, x, y, None)


@pytest.mark.parametrize("shaped", [True, False])
def test_a_sum_that_keeps_no_dimensions_is_reshaped(shaped: bool) -> None:
    text = """
    main {
      input %dy: float32[n,4]
      input %x: float32[n,1]
      %own: int32[2] = tf.Shape(%x)
      %others: int32[2] = tf.Shape(%dy)
      %a: int32[k]; %b: int32[j] = tf.BroadcastGradientArgs(%own, %others)
      %sum: float32[u] = tf.Sum(%dy, %a)
      %dx: float32[n,1] = tf.Reshape(%sum, %own)
      return %dx
    }
    """
    if not shaped:
        text = text.replace("return %dx", "return %dx, %sum")
    after = text.replace("(%dy, %a)", "(%dy, int32[1] [1])") if shaped else None
    check_pass("resolve-gradient-axes", text, after, first=["canonicalize"])
