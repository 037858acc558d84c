"""What takes the most memory is computed in tiles, for targets that run whole files."""

from __future__ import annotations

import pytest

from fuseconv.fuse.registry import Registry
from fuseconv.targets.target import Target
from tests.check_pass import check_pass

MICRO = Registry().target("micro")


def _dense(name: str, x: str, sizes: str, weights: object, bias: str = "_", more: str = "") -> str:
    shape = f"{len(weights)},{len(weights[0])}"  # type: ignore[arg-type,index]
    return f"%{name}: float32[{sizes}] = tfl.FULLY_CONNECTED(%{x}, float32[{shape}] {weights}, {bias}) " \
           f"{{'keep_num_dims': True{more}}}"  # fmt: skip


_UP = [[float(row + column) for column in range(2)] for row in range(8)]
_DOWN = [[float(row - column) for column in range(8)] for row in range(2)]
_RELU = ", 'fused_activation_function': 'RELU'"


def _mlp(rows: int) -> str:
    lines = [
        _dense("a", "x", f"1,{rows},8", _UP), f"%b: float32[1,{rows},8] = tfl.TANH(%a)",
        _dense("y", "b", f"1,{rows},2", _DOWN, "float32[2] [1.0, 2.0]", _RELU),
    ]  # fmt: skip
    return "\n".join(["main {", f"input %x: float32[1,{rows},2]", *lines, "return %y", "}"])


def _tiled_mlp() -> str:
    half = "%b{0}: float32[1,400,4] = tfl.TANH(%a{0})"
    lines = [
        _dense("a0", "x", "1,400,4", _UP[:4]), half.format(0),
        _dense("y0", "b0", "1,400,2", [row[:4] for row in _DOWN], "float32[2] [1.0, 2.0]"),
        _dense("a1", "x", "1,400,4", _UP[4:]), half.format(1),
        _dense("y1", "b1", "1,400,2", [row[4:] for row in _DOWN], "float32[2] [0.0, 0.0]"),
        "%y: float32[1,400,2] = tfl.ADD(%y0, %y1) {'fused_activation_function': 'RELU'}",
    ]  # fmt: skip
    return "\n".join(["main {", "input %x: float32[1,400,2]", *lines, "return %y", "}"])


def test_hidden_channels_are_computed_a_half_at_a_time() -> None:
    report = check_pass("tile-and-fuse", _mlp(400), _tiled_mlp(), target=MICRO).report
    assert report.arena_of_tiles == (25_600, 16_000)


def test_a_concatenation_of_channels_is_not_made() -> None:
    conv = "{{'stride_w': 1, 'stride_h': 1}}"
    text = """
    main {{
      input %x: float32[1,400,1,4]
      input %z: float32[1,400,1,4]
      {}
      return %y
    }}
    """
    before = f"""%a: float32[1,400,1,8] = tfl.CONCATENATION(%x, %z) {{'axis': 3}}
      %y: float32[1,400,1,1] = tfl.CONV_2D(%a, float32[1,1,1,8] [[[[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]]]], \
float32[1] [0.5]) {conv.format()}"""
    after = f"""%p: float32[1,400,1,1] = tfl.CONV_2D(%x, float32[1,1,1,4] [[[[1.0, 2.0, 3.0, 4.0]]]], \
float32[1] [0.5]) {conv.format()}
      %q: float32[1,400,1,1] = tfl.CONV_2D(%z, float32[1,1,1,4] [[[[5.0, 6.0, 7.0, 8.0]]]], float32[1] [0.0]) \
{conv.format()}
      %y: float32[1,400,1,1] = tfl.ADD(%p, %q)"""
    check_pass("tile-and-fuse", text.format(before), text.format(after), target=MICRO)


def test_weights_take_no_memory() -> None:
    """A table of 64 kB, of which one row is read first."""
    table, row = f"float32[8000,2] {[[1.0, 2.0]] * 8000}", "{ROW}"
    first = f"%g: float32[1,1,2] = tfl.GATHER({row}, int32[1,1] [[7]])\n%x: float32[1,400,2] = tfl.ADD(%in, %g)"
    before, after = (
        text.replace("input %x: float32[1,400,2]", f"input %in: float32[1,400,2]\n{first}").replace(row, table)
        for text in (_mlp(400), _tiled_mlp())
    )
    check_pass("tile-and-fuse", before, after, target=MICRO)


@pytest.mark.parametrize("target", [None, "gpu", "xnnpack"])
def test_only_for_targets_that_run_whole_files(target: str | None) -> None:
    check_pass("tile-and-fuse", _mlp(400), target=target and Registry().target(target))


def test_what_ops_take_themselves_is_weighed() -> None:
    """Four ops more take 1,280 bytes, and the tiles 40 times 24 bytes less."""
    check_pass("tile-and-fuse", _mlp(40), target=MICRO)


def test_another_peak_that_stays_undoes_tiles() -> None:
    """The last op needs as much as the first ones, and cannot be computed in tiles."""
    text = _mlp(400).replace("return %y", """%z: float32[1,400,8] = tfl.PAD(%y, int32[3,2] [[0, 0], [0, 0], [3, 3]])
      %w: float32[1,400,8] = tfl.CUMSUM(%z, int32[] 1)
      %v: float32[1,400,2] = tfl.STRIDED_SLICE(%w, int32[3] [0, 0, 0], int32[3] [1, 400, 2], int32[3] [1, 1, 1])
      return %v""")
    check_pass("tile-and-fuse", text, target=MICRO)


def test_a_dynamic_batch_stays() -> None:
    """Also where the target takes it."""
    target = Target("whole", "a test", others=True, is_whole=True)
    check_pass("tile-and-fuse", _mlp(400).replace("float32[1,", "float32[n,"), target=target)
    assert check_pass("tile-and-fuse", _mlp(400), _tiled_mlp(), target=target).report.arena_of_tiles
