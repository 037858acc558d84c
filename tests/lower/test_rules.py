"""That each rule has a row, and the rows of ops that TensorFlow's Python functions no longer make."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from ai_edge_litert.interpreter import Interpreter

from fuseconv import convert
from fuseconv.fuse.registry import Registry
from fuseconv.testing import assert_close, check
from tests.lower.conftest import HERE, ROWS

raw = tf.raw_ops


def test_every_rule_has_a_row(collected: set[str]) -> None:
    """rows.txt: "Op folder/test_file.py::test[id]", sorted. Whoever adds a rule adds a test, and its line."""
    rules = set(Registry.builtin().rules)
    assert sorted(rules - ROWS.keys()) == [], "rules without a row: name a test that lowers the op in rows.txt"
    assert sorted(ROWS.keys() - rules) == [], "rows of rules that are no more"
    assert [*ROWS] == sorted(ROWS)
    files = {test.partition("::")[0] for test in collected}
    for op, test in ROWS.items():
        file, _, name = test.partition("::")
        if file in files:
            assert test in collected, f"the row of {op} names a test that is not there"
        else:
            assert f"def {name.partition('[')[0]}(" in (HERE / file).read_text(), f"{op}: no test {test}"


def spec(*shape: int | None, dtype: tf.DType = tf.float32) -> tf.TensorSpec:
    return tf.TensorSpec(shape, dtype)


MATRICES = {
    "MatrixDiag": lambda x: raw.MatrixDiag(diagonal=x),
    "MatrixDiagPart": lambda x: raw.MatrixDiagPart(input=x),
    "MatrixDiagPartV2": lambda x: raw.MatrixDiagPartV2(input=x, k=[-1, 1], padding_value=7.0),
    "MatrixDiagV2": lambda x: raw.MatrixDiagV2(diagonal=x[:, 0], k=1, num_rows=-1, num_cols=-1, padding_value=7.0),
    "MatrixSetDiag": lambda x: raw.MatrixSetDiag(input=x, diagonal=x[:, 0]),
    "MatrixSetDiagV2": lambda x: raw.MatrixSetDiagV2(input=x, diagonal=x[:, 0, :3], k=-1),
    "BatchMatMul": lambda x: raw.BatchMatMul(x=x, y=x, adj_y=True),
    "BatchMatMulV3": lambda x: raw.BatchMatMulV3(x=x, y=x, Tout=tf.float32, adj_x=True),
}


@pytest.mark.parametrize("op", MATRICES)
def test_matrices(op: str) -> None:
    check(MATRICES[op], spec(None, 4, 4))


VALUES = {
    "Add": lambda x: raw.Add(x=x, y=tf.exp(x)),
    "CheckNumericsV2": lambda x: raw.CheckNumericsV2(tensor=tf.exp(x), message="") + 1.0,
    "DeepCopy": lambda x: raw.DeepCopy(x=tf.exp(x)) + 1.0,
    "Div": lambda x: raw.Div(x=x, y=tf.exp(x)),
    "EnsureShape": lambda x: raw.EnsureShape(input=x, shape=[None, 6]) + 1.0,
    "Gather": lambda x: raw.Gather(params=tf.reshape(x, [6, -1]), indices=[5, 0, 3]),
    "Inv": lambda x: raw.Inv(x=tf.exp(x)),
    "InvGrad": lambda x: raw.InvGrad(y=x, dy=tf.exp(x)),
    "LinSpace": lambda x: raw.LinSpace(start=x[0, 0], stop=x[1, 1], num=5),
    "PlaceholderWithDefault": lambda x: raw.PlaceholderWithDefault(input=tf.exp(x), shape=[None, 6]) + 1.0,
}


@pytest.mark.parametrize("op", VALUES)
def test_values(op: str) -> None:
    check(VALUES[op], spec(None, 6))


def test_truncate_mod() -> None:
    check(lambda x: raw.TruncateMod(x=x, y=3), spec(None, 6, dtype=tf.int32))


def test_unique_v2() -> None:
    check(lambda x: [*raw.UniqueV2(x=x, axis=[0])], spec(12, dtype=tf.int32))


def attr(value: Any) -> tf.compat.v1.AttrValue:
    if isinstance(value, tf.DType):
        return tf.compat.v1.AttrValue(type=value.as_datatype_enum)
    return tf.compat.v1.AttrValue(**{{bool: "b", int: "i", float: "f"}[type(value)]: value})


F32, I64 = {"T": tf.float32}, np.int64
REMOVED: dict[str, tuple[list[int], list[np.ndarray], dict[str, Any]]] = {
    "BatchMatrixBandPart": ([2, 4, 4], [np.array(1, I64), np.array(0, I64)], F32),
    "BatchMatrixDiag": ([2, 4], [], F32),
    "BatchMatrixDiagPart": ([2, 4, 4], [], F32),
    "BatchMatrixSetDiag": ([2, 4, 4], [np.ones((2, 4), np.float32)], F32),
    "BatchNormWithGlobalNormalization": (
        [2, 4, 5, 3],
        [*np.random.default_rng(0).uniform(0.5, 2, (4, 3)).astype(np.float32)],
        F32 | {"variance_epsilon": 0.01, "scale_after_normalization": True},
    ),
    "BatchMatrixInverse": ([2, 3, 3], [], F32),
    "BatchMatrixDeterminant": ([2, 3, 3], [], F32),
    "BatchCholesky": ([2, 3, 3], [], F32),
    "BatchMatrixSolve": ([2, 3, 3], [np.eye(3, 2, dtype=np.float32)[None].repeat(2, 0)], F32),
    "BatchMatrixTriangularSolve": ([2, 3, 3], [np.eye(3, 2, dtype=np.float32)[None].repeat(2, 0)], F32),
    "QuantizeAndDequantize": ([2, 6], [], F32 | {"range_given": True, "input_min": -2.0, "input_max": 2.0}),
}


def old_graph(op: str, shape: list[int], constants: list[np.ndarray], attrs: dict[str, Any]) -> Any:
    """A GraphDef of the version that had the op, which is called y and reads x and the constants."""
    with tf.Graph().as_default() as graph:
        tf.compat.v1.placeholder(tf.float32, shape, "x")
        for index, array in enumerate(constants):
            tf.constant(array, name=f"c{index}")
    old = graph.as_graph_def()
    old.versions.producer = 6
    made = old.node.add(name="y", op=op, input=["x", *(f"c{index}" for index in range(len(constants)))])
    for name, value in attrs.items():
        made.attr[name].CopyFrom(attr(value))
    return old


def run_old(graph: Any, folder: Path, x: np.ndarray, *outputs: str) -> list[np.ndarray]:
    """The results of the file that the graph becomes."""
    (folder / "old.pb").write_bytes(graph.SerializeToString())
    data = convert(folder / "old.pb", inputs=["x"], outputs=outputs).data
    results = Interpreter(model_content=data).get_signature_runner()(x=x)
    return [results[name] for name in outputs]


@pytest.mark.parametrize("op", REMOVED)
def test_ops_that_only_old_graphs_have(op: str, tmp_path: Path) -> None:
    old = old_graph(op, *REMOVED[op])
    x = np.random.default_rng(0).standard_normal(REMOVED[op][0]).astype(np.float32)
    if "Solve" in op or op == "BatchCholesky":
        x = x @ np.swapaxes(x, -1, -2) + np.eye(3, dtype=np.float32)
    # A function has the newest version, in which the op is no more; a graph has the one that it is imported with.
    with tf.Graph().as_default() as graph, tf.compat.v1.Session(graph=graph) as session:
        tf.import_graph_def(old, name="")
        expected = session.run("y:0", {"x:0": x})
    assert_close(run_old(old, tmp_path, x, "y")[0], expected)


def test_top_k_of_old_graphs(tmp_path: Path) -> None:
    # TensorFlow declares the op, but its kernels want an attribute that it does not declare.
    x = np.random.default_rng(0).standard_normal((2, 6)).astype(np.float32)
    made = run_old(old_graph("TopK", [2, 6], [], F32 | {"k": 3}), tmp_path, x, "y", "y:1")
    for actual, expected in zip(made, tf.math.top_k(x, 3)):
        assert_close(actual, expected.numpy())


def test_rank_that_is_not_known() -> None:
    def layer(x: tf.Tensor) -> tf.Tensor:
        return tf.rank(tf.reshape(x, tf.concat([tf.shape(x), tf.fill(tf.shape(x), 1)], 0)))

    check(layer, spec(None))


def test_rows_that_a_loop_writes() -> None:
    def layer(x: tf.Tensor) -> Any:
        rows = tf.TensorArray(tf.float32, 5, element_shape=[None, 3])
        return tf.while_loop(lambda i, _: i < 5, lambda i, r: (i + 1, r.write(4 - i, x * tf.cast(i, tf.float32))),
                             [0, rows])[1].stack()  # fmt: skip

    check(layer, spec(2, 3), rnn="loop")
