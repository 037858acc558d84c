"""The fallback to TensorFlow's kernels: the same results as from TensorFlow's public functions."""

from __future__ import annotations

import numpy as np
import pytest

from fuseconv.ir import types
from fuseconv.ir.graph import FuncRef, Op, constant
from fuseconv.load.op_defs import OpDefs
from fuseconv.tf.folders.pure_ops import PURE_OPS
from fuseconv.tf.folders.registry import TABLE
from fuseconv.tf.folders.tensorflow import evaluate_with_tensorflow
from tests.tf.all_cases import CASES
from tests.tf.harness import BATCHES, Case

_STATELESS = [case for case in CASES if not case.stateful]


@pytest.mark.parametrize("case", _STATELESS, ids=str)
def test_equals_tensorflow(case: Case) -> None:
    op = case.static(BATCHES[0])
    if op.type not in PURE_OPS and op.type not in TABLE:
        assert evaluate_with_tensorflow(op, case.arrays(BATCHES[0])) is None
        return
    expected = case.run(BATCHES[0])
    results = evaluate_with_tensorflow(case.static(BATCHES[0]), case.arrays(BATCHES[0]))
    assert results is not None
    for result, wanted in zip(results, expected):
        assert result.dtype == wanted.dtype
        np.testing.assert_array_equal(result, wanted)


def _op(kind: str, *arrays: np.ndarray, **attrs: object) -> Op:
    op = Op(kind, [constant(array) for array in arrays], dict(attrs), name="op")
    op.add_result(types.FLOAT32, None)
    return op


def test_declines_random_numbers() -> None:
    shape = np.array([3], np.int32)
    assert evaluate_with_tensorflow(_op("tf.RandomUniform", shape), [shape]) is None


def test_declines_what_tensorflow_does_not_know() -> None:
    assert evaluate_with_tensorflow(_op("tf.NoSuchOp"), []) is None
    assert evaluate_with_tensorflow(_op("tfl.ADD"), []) is None


def test_declines_functions() -> None:
    assert evaluate_with_tensorflow(_op("tf.PartitionedCall", f=FuncRef("body")), []) is None


def test_declines_what_tensorflow_refuses() -> None:
    x, y = np.ones(3, np.float32), np.ones(4, np.float32)
    assert evaluate_with_tensorflow(_op("tf.AddV2", x, y), [x, y]) is None


def test_declines_what_tensorflow_would_end_the_process_over() -> None:
    ones = np.ones(1, np.float32)
    for kind, arrays in (
        ("FakeQuantWithMinMaxVarsPerChannel", [np.float32(1), ones, ones]), ("RFFT", [ones, np.zeros(1, np.int32)]),
    ):  # fmt: skip
        assert evaluate_with_tensorflow(_op(f"tf.{kind}", *arrays), arrays) is None


def test_declines_a_wrong_number_of_operands() -> None:
    x = np.ones(3, np.float32)
    assert evaluate_with_tensorflow(_op("tf.AddV2", x), [x]) is None


def _words(text: str) -> list[str]:
    return text.split()


# Stateless to TensorFlow, and not harmless: what they touch besides their operands, or how much they unpack to.
_NOT_PURE = _words("""
    Abort Copy CopyHost DebugIdentityV3 DecodeAndCropJpeg DecodeBmp DecodeCompressed DecodeGif DecodeImage DecodeJpeg
    DecodePng DecodeProtoV2 DecodeWav EagerPyFunc EncodeProto GenerateVocabRemapping ImmutableConst InplaceAdd
    MatchingFiles ParallelConcat PyFunc PyFuncStateless ReadFile TPUCompile XlaLaunch
""")


@pytest.mark.parametrize("kind", _NOT_PURE)
def test_declines_what_is_not_known_to_only_compute(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from tensorflow.python.eager import execute

    monkeypatch.setattr(execute, "quick_execute", lambda *_: pytest.fail("it ran"))
    x = np.array(b"/dev/zero", object)
    assert kind not in PURE_OPS
    assert evaluate_with_tensorflow(_op(f"tf.{kind}", x), [x]) is None


def test_the_list_is_of_stateless_ops_without_functions_and_handles() -> None:
    defs = OpDefs()
    for name in PURE_OPS:
        definition = defs.get(name)
        assert definition is not None
        assert not definition.stateful, name
        assert "func" not in " ".join(definition.attr_types.values()), name
        assert not any(
            arg.dtype is not None and arg.dtype.is_handle for arg in (*definition.inputs, *definition.outputs)
        )


def test_each_listed_op_is_tested() -> None:
    """Against TensorFlow's functions, above; but for those that only older releases wrote."""
    tested = {case.static(BATCHES[0]).type for case in _STATELESS}
    older = """
        AccumulateNV2 BatchMatrixBandPart BatchMatrixDiag BatchMatrixDiagPart BatchMatrixSetDiag
        BatchNormWithGlobalNormalization NonMaxSuppressionWithOverlaps TopK
    """
    assert sorted(PURE_OPS - tested) == sorted(_words(older))
