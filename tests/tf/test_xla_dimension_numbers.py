"""What the attributes of XLA's operations say."""

from __future__ import annotations

import pytest
from tensorflow.compiler.xla import xla_data_pb2

from fuseconv.ir.graph import FuncRef
from fuseconv.tf.xla_dimension_numbers import Convolution, Dot, Gather, name_reducers
from tests.tf.text_cases import module_of


def test_numbers_of_more_than_a_byte_and_of_nothing() -> None:
    message = xla_data_pb2.DotDimensionNumbers(lhs_contracting_dimensions=[300, 1], rhs_batch_dimensions=[2])
    assert Dot.parse(message.SerializeToString()) == Dot((300, 1), (), (), (2,))
    assert Dot.parse(b"") == Dot((), (), (), ())


def test_numbers_that_are_not_packed() -> None:
    # Field 1 twice, as a number.
    assert Dot.parse(bytes([8, 1, 8, 2])) == Dot((1, 2), (), (), ())


def test_what_is_no_number() -> None:
    with pytest.raises(ValueError, match="wire type 5"):
        Dot.parse(bytes([13, 0, 0, 0, 0]))


def test_a_number_that_is_0_is_not_written() -> None:
    message = xla_data_pb2.ConvolutionDimensionNumbers(
        input_feature_dimension=3, input_spatial_dimensions=[1, 2], kernel_input_feature_dimension=2,
        kernel_output_feature_dimension=3, kernel_spatial_dimensions=[0, 1], output_batch_dimension=3,
        output_spatial_dimensions=[1, 2],
    )  # fmt: skip
    assert Convolution.parse(message.SerializeToString()) == Convolution((0, 1, 2, 3), (0, 1, 2, 3), (3, 1, 2, 0))


def test_a_gather() -> None:
    message = xla_data_pb2.GatherDimensionNumbers(
        offset_dims=[1, 2], collapsed_slice_dims=[0], start_index_map=[3], index_vector_dim=4,
        operand_batching_dims=[5], start_indices_batching_dims=[6],
    )  # fmt: skip
    assert Gather.parse(message.SerializeToString()) == Gather((1, 2), (0,), (3,), 4, (5,), (6,))


@pytest.mark.parametrize(
    ("body", "name"),
    [
        ("%2 \"r\": float32[] = tf.AddV2(%1, %0) {}\n return %2", "Add"),
        ("%2 \"r\": float32[] = tf.Maximum(%0, %1) {}\n return %2", "Max"),
        ("%2 \"r\": float32[] = tf.Minimum(%0, %1) {}\n %3 \"i\": float32[] = tf.Identity(%2) {}\n return %3", "Min"),
        ("%2 \"r\": float32[] = tf.Minimum(%0, %0) {}\n return %2", None),
        ("%2 \"r\": float32[] = tf.Mul(%0, %1) {}\n return %2", None),
        ("%2 \"r\": float32[] = tf.AddV2(%0, %1) {}\n return %0", None),
        ("%2 \"r\": float32[] = tf.Neg(%0) {}\n %3 \"s\": float32[] = tf.AddV2(%2, %1) {}\n return %3", None),
    ],
)  # fmt: skip
def test_reducers(body: str, name: str | None) -> None:
    module, _ = module_of(
        """main {
        input %0 "x": float32[2]
        %1 "w": float32[*] = tf.XlaReduceWindow(%0, %0, %0, %0, %0, %0, %0) {'computation': {'function': 'reducer'}}
        return %1
        }""",
        f'reducer {{\n input %0 "a": float32[]\n input %1 "b": float32[]\n {body}\n }}',
    )
    name_reducers(module)
    (op,) = module.signatures[0].graph.ops
    assert op.attrs["computation"] == (name or FuncRef("reducer"))
