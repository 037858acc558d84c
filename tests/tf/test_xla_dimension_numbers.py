"""What the attributes of XLA's operations say."""

from __future__ import annotations

import pytest
from tensorflow.compiler.xla import xla_data_pb2

from fuseconv.tf.xla_dimension_numbers import Convolution, Dot, Gather


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
    assert Gather.parse(message.SerializeToString()) == Gather((1, 2), (0,), (3,), 4, (5,))
