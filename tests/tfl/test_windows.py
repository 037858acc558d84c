"""How far windows reach, and whether zeros beside the data are those that SAME adds."""

from __future__ import annotations

import numpy as np
import pytest

from fuseconv.ir import types
from fuseconv.ir.dims import symbol
from fuseconv.ir.graph import Op, Value
from fuseconv.tfl.linear import LAYOUTS
from fuseconv.tfl.windows import WINDOWS, pads_as_same, read_shares, windows


def conv(kind: str, filter: tuple[int, ...], **attrs: int | str) -> Op:
    x = Value(types.FLOAT32, None, "x")
    return Op(f"tfl.{kind}", [x, Value(types.FLOAT32, filter, "w")], attrs, "conv")


def test_a_dilated_window_spans_more_than_its_elements() -> None:
    op = conv("CONV_2D", (4, 3, 2, 5), stride_h=2, stride_w=1, dilation_h_factor=4)
    assert windows(op, op.attrs) == [(9, 2, 4), (2, 1, 1)]
    op = conv("CONV_3D", (3, 2, 1, 5, 4), stride_d=1, stride_h=2, stride_w=3)
    assert windows(op, op.attrs) == [(3, 1, 1), (2, 2, 1), (1, 3, 1)]


@pytest.mark.parametrize("kind", WINDOWS)
def test_the_axes_are_no_channels(kind: str) -> None:
    axes, letters = WINDOWS[kind]
    assert len(axes) == len(letters)
    assert not {LAYOUTS[kind].inputs, LAYOUTS[kind].outputs} & set(axes)


@pytest.mark.parametrize(
    ("size", "pads", "same"),
    [(8, (0, 1), True), (8, (1, 0), False), (9, (1, 1), True), (9, (0, 1), False), (symbol("n"), (1, 1), False)],
)
def test_what_same_pads_depends_on_the_size(size: int, pads: tuple[int, int], same: bool) -> None:
    op = conv("CONV_2D", (4, 3, 1, 5), stride_h=2, stride_w=1)
    assert pads_as_same(op, op.attrs, (size, 7), [pads, (0, 0)]) is same


def test_zeros_behind_the_last_window_do_not_count() -> None:
    op = conv("CONV_2D", (4, 2, 2, 5), stride_h=3, stride_w=3)
    assert pads_as_same(op, op.attrs, (9, 9), [(0, 1), (0, 0)])


@pytest.mark.parametrize(("size", "places", "stride", "dilation"), [
    (1, 3, 1, 1), (2, 3, 1, 1), (7, 3, 2, 1), (8, 3, 2, 1), (5, 3, 1, 3), (9, 2, 4, 1), (3, 5, 2, 2), (6, 1, 4, 1),
])  # fmt: skip
def test_how_often_a_place_in_a_window_reads_data(size: int, places: int, stride: int, dilation: int) -> None:
    count = -(-size // stride)
    total = max((count - 1) * stride + (places - 1) * dilation + 1 - size, 0)
    data = np.pad(np.ones(size), (total // 2, total + stride))
    wanted = [np.mean([data[at * stride + place * dilation] for at in range(count)]) for place in range(places)]
    attrs = {"stride_h": stride, "stride_w": 1, "dilation_h_factor": dilation}
    op = conv("CONV_2D", (4, places, 1, 5), **attrs)
    assert read_shares(op) is None
    op.operands[0].shape = (symbol("n"), size, symbol("w"), 5)  # type: ignore[union-attr]
    shares = read_shares(op)
    assert shares is not None and shares[1].tolist() == [1]
    np.testing.assert_allclose(shares[0], wanted)
    op.attrs["padding"] = "VALID"
    assert [each.tolist() for each in read_shares(op) or ()] == [[1] * places, [1]]
