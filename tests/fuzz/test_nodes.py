"""Nodes that TensorFlow refuses to import become no file, whichever pass would fold, forward or drop them."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest

import fuseconv
from fuseconv.errors import InputError, UnsupportedError
from tests.frozen import FLOAT, INT32, Frozen
from tests.fuzz.nodes import build

REFUSED = [
    ("ListDiff", 1055), ("MatrixSetDiagV3", 1079), ("PlaceholderWithDefault", 1118), ("StatelessRandomUniform", 1236),
    ("AvgPoolGrad", 1329), ("BroadcastTo", 1361), ("EnsureShape", 1412), ("RaggedRange", 1569), ("ScatterNd", 1604),
    ("SelfAdjointEigV2", 1613), ("FakeQuantWithMinMaxVars", 1863), ("LinSpace", 1922), ("RandomStandardNormal", 2007),
    ("MaxPoolWithArgmax", 2391), ("SparseToDense", 2525), ("UniqueWithCountsV2", 2575), ("LRN", 3216),
    ("BatchNormWithGlobalNormalization", 3079), ("AvgPool", 3496), ("MaxPool", 3688), ("TridiagonalMatMul", 3869),
    ("AddN", 3911), ("Split", 4262), ("Betainc", 5256), ("FakeQuantWithMinMaxVarsPerChannel", 5336), ("Roll", 5505),
]  # fmt: skip


@pytest.mark.parametrize(("op", "seed"), REFUSED)
def test_what_tensorflow_does_not_import(op: str, seed: int, tf: Any, tmp_path: Path) -> None:
    model = tmp_path / "model.pb"
    model.write_bytes(build(op, Random(f"node/{op}/{seed}")))
    with tf.Graph().as_default(), pytest.raises(ValueError, match=r"'\{\{node n\}\} = "):
        tf.import_graph_def(tf.compat.v1.GraphDef.FromString(model.read_bytes()), name="")
    with pytest.raises((InputError, UnsupportedError)):
        fuseconv.convert(model)


def test_a_band_of_texts_is_refused(tmp_path: Path) -> None:
    model = tmp_path / "model.pb"
    model.write_bytes(build("BatchMatrixBandPart", Random("node/BatchMatrixBandPart/3939")))
    with pytest.raises(UnsupportedError) as refused:
        fuseconv.convert(model)
    assert refused.value.ops[0][2].startswith("it puts 0 among texts")


def test_no_elements_in_rows_of_which_nobody_knows_how_many(tmp_path: Path) -> None:
    """The shape of CheckNumericsV2 is not inferred, so that of what reads it was told to a constant without rows."""
    graph, floats = Frozen(-1, 3, 1, 0), {"T": {"type": FLOAT}}
    ends = {"Tdim": {"type": INT32}}
    graph.node("n", "CheckNumericsV2", "x", message={"s": b"n"}, **floats)
    graph.node("a", "ExpandDims", "n", graph.constant("zero", np.int32(0)), **floats, **ends)
    rows = graph.constant("rows", np.array([-1, 2], np.int32))
    graph.node("b", "Reshape", "a", rows, Tshape={"type": INT32}, **floats)
    graph.node("y", "ExpandDims", "b", graph.constant("one", np.int32(1)), **floats, **ends)
    assert fuseconv.convert(graph.write(tmp_path)).data
