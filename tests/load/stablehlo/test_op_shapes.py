"""The shapes of what ops make, by their attributes."""

from __future__ import annotations

from typing import Any

import pytest

from fuseconv.load.stablehlo.cursor import DamagedError
from fuseconv.load.stablehlo.op_shapes import alike, described, fits
from tests.load.stablehlo.modules import operation, tensor
from tests.load.stablehlo.test_op_types import judged

_CONV: dict[str, Any] = {
    "input_batch_dimension": 0, "input_feature_dimension": 3, "input_spatial_dimensions": [1, 2],
    "kernel_input_feature_dimension": 2, "kernel_output_feature_dimension": 3, "kernel_spatial_dimensions": [0, 1],
    "output_batch_dimension": 0, "output_feature_dimension": 3, "output_spatial_dimensions": [1, 2],
    "window_strides": [2, 1], "padding": [0, 1, 0, 0], "lhs_dilation": [1, 1], "rhs_dilation": [1, 2],
    "feature_group_count": 2, "batch_group_count": 1,
}  # fmt: skip
_PRODUCT: dict[str, Any] = {
    "lhs_batching_dimensions": [0], "rhs_batching_dimensions": [0],
    "lhs_contracting_dimensions": [2], "rhs_contracting_dimensions": [1],
}  # fmt: skip
_GATHER: dict[str, Any] = {
    "offset_dims": [1], "collapsed_slice_dims": [0], "start_index_map": [0], "index_vector_dim": 1,
    "slice_sizes": [1, 3],
}  # fmt: skip
_TRANSPOSE = {"permutation": [1, 0]}
_PAD = {"edge_padding_low": [1], "edge_padding_high": [-2], "interior_padding": [1]}
_SLICE = {"start_indices": [1], "limit_indices": [6], "strides": [2]}
_FFT = {"fft_type": "RFFT", "fft_length": [8]}

FITTING = [
    ("convolution float32[?,9,9,4] float32[3,2,2,6] -> float32[?,4,7,6]", _CONV),
    ("dot_general float32[5,2,3] float32[5,3,4] -> float32[5,2,4]", _PRODUCT),
    ("dot float32[2,3] float32[3] -> float32[2]", {}),
    ("gather float32[7,4] int32[5,1] -> float32[5,3]", _GATHER),
    ("transpose float32[2,3] -> float32[3,2]", _TRANSPOSE),
    ("pad float32[4] float32[] -> float32[6]", _PAD),
    ("slice float32[7] -> float32[3]", _SLICE),
    ("fft float32[2,8] -> complex64[2,5]", _FFT),
    ("broadcast float32[3] -> float32[2,3]", {"broadcast_sizes": [2]}),
    ("broadcast_in_dim float32[1,3] -> float32[4,2,3]", {"broadcast_dimensions": [1, 2]}),
    ("concatenate float32[2,3] float32[2,?] -> float32[2,9]", {"dimension": 1}),
    ("einsum float32[2,3] float32[3,4] -> float32[4,2]", {"einsum_config": "ab,bc->ca"}),
    ("dynamic_slice float32[5,4] int32[] int32[] -> float32[2,4]", {"slice_sizes": [2, 4]}),
    ("dynamic_update_slice float32[5] float32[2] int32[] -> float32[5]", {}),
    ("reshape float32[2,3] -> float32[6]", {}),
    ("cholesky float32[2,3,3] -> float32[2,3,3]", {"lower": True}),
    ("triangular_solve float32[3,3] float32[3,2] -> float32[3,2]", {"left_side": True}),
    ("batch_norm_inference float32[2,3] float32[3] float32[3] float32[3] float32[3] -> float32[2,3]",
     {"feature_index": 1}),
    ("batch_norm_training float32[2,3] float32[3] float32[3] -> float32[2,3] float32[3] float32[3]",
     {"feature_index": 1}),
    ("bitcast_convert float32[2] -> int8[2,4]", {}),
    ("bitcast_convert int8[2,4] -> float32[2]", {}),
    ("get_dimension_size float32[2] -> int32[]", {"dimension": 0}),
    ("dynamic_pad float32[2] float32[] int32[1] int32[1] int32[1] -> float32[9]", {}),
]  # fmt: skip
UNFITTING = [
    ("convolution float32[?,9,9,4] float32[3,2,2,6] -> float32[?,4,9,6]", _CONV, "is said to make"),
    ("convolution float32[?,9,9,4] float32[3,2,4,6] -> float32[?,4,7,6]", _CONV, "takes 4 channels"),
    ("convolution float32[?,9,9,5] float32[3,2,2,6] -> float32[?,4,7,6]", _CONV, "5 are not 2 groups"),
    ("convolution float32[?,9,9,4] float32[3,2,2,6] -> float32[?,4,7,6]", _CONV | {"feature_group_count": 0}, "groups"),
    ("dot_general float32[5,2,3] float32[5,4,3] -> float32[5,2,4]", _PRODUCT, "do not fit"),
    ("dot_general float32[5,2,3] float32[5,3,4] -> float32[2,5,4]", _PRODUCT, "is said to make"),
    ("dot_general float32[5,2,3] complex64[5,3,4] -> float32[5,2,4]", _PRODUCT, "of complex64"),
    ("dot float32[2,3] float32[2] -> float32[2]", {}, "do not fit"),
    ("gather float32[7,2] int32[5,1] -> float32[5,3]", _GATHER, "takes 3 of 2 elements"),
    ("gather float32[7,4] int32[5,2] -> float32[5,3]", _GATHER, "an index has 2 numbers"),
    ("gather float32[7,4] int32[5,1] -> float32[3,5]", _GATHER, "is said to make"),
    ("gather float32[7,4] int32[5,1] -> float32[5,3]", _GATHER | {"slice_sizes": [2, 3]}, "drops elements"),
    ("gather float32[7,4] int32[5,1] -> float32[5,3]", _GATHER | {"offset_dims": [2]}, "another rank"),
    ("transpose float32[2,3] -> float32[2,3]", _TRANSPOSE, "is said to make"),
    ("transpose float32[2,3] -> float32[3,2]", {"permutation": [1]}, "orders 1 dimensions of 2"),
    ("transpose float32[2,3] -> float32[3,2]", {"permutation": [1, 1]}, "none of 2"),
    ("transpose float32[2,3] -> float32[3,2]", {}, "lacks its attribute permutation"),
    ("pad float32[4] float32[] -> float32[7]", _PAD, "is said to make"),
    ("pad float32[1] float32[] -> float32[0]", _PAD | {"edge_padding_high": [-3]}, "cuts off more"),
    ("slice float32[5] -> float32[3]", _SLICE, "takes 6 of 5"),
    ("slice float32[7] -> float32[3]", _SLICE | {"strides": [0]}, "no stride"),
    ("fft float32[2,8] -> complex64[2,8]", _FFT, "is said to make"),
    ("fft float32[2,7] -> complex64[2,5]", _FFT, "of other lengths"),
    ("fft float32[8] -> float32[5]", _FFT, "types are others"),
    ("broadcast float32[3] -> float32[3]", {"broadcast_sizes": [2]}, "is said to make"),
    ("broadcast_in_dim float32[2,3] -> float32[4,3]", {"broadcast_dimensions": [0, 1]}, "makes 4 elements of 2"),
    ("broadcast_in_dim float32[3] -> float32[4,3]", {"broadcast_dimensions": []}, "places 0 dimensions of 1"),
    ("concatenate float32[2,3] float32[3,3] -> float32[2,6]", {"dimension": 1}, "differ in other dimensions"),
    ("concatenate -> float32[2,6]", {"dimension": 1}, "no operands"),
    ("einsum float32[2,3] float32[2,4] -> float32[4,2]", {"einsum_config": "ab,bc->ca"}, "several sizes"),
    ("einsum float32[2,3] float32[3,4] -> float32[2,4]", {"einsum_config": "ab,bc->az"}, "KeyError"),
    ("dynamic_slice float32[5,4] int32[] int32[] -> float32[6,4]", {"slice_sizes": [6, 4]}, "takes 6 of 5"),
    ("dynamic_slice float32[5,4] int32[] -> float32[2,4]", {"slice_sizes": [2, 4]}, "at 1"),
    ("dynamic_update_slice float32[5] float32[6] int32[] -> float32[5]", {}, "takes 6 of 5"),
    ("reshape float32[2,3] -> float32[5]", {}, "has not the elements"),
    ("cholesky float32[2,3] -> float32[2,3]", {"lower": True}, "no square matrices"),
    ("triangular_solve float32[3,3] float32[3,2] -> float32[3,2]", {"left_side": False}, "do not fit"),
    ("batch_norm_inference float32[2,3] float32[3] float32[2] float32[3] float32[3] -> float32[2,3]",
     {"feature_index": 1}, "not for 3 features"),
    ("batch_norm_training float32[2,3] float32[3] float32[3] -> float32[2,3] float32[3] float32[2]",
     {"feature_index": 1}, "is said to make"),
    ("bitcast_convert int8[2,3] -> float32[2]", {}, "no element of the other type"),
    ("iota -> int32[3]", {"iota_dimension": 1}, "no number of a dimension of 1"),
    ("dynamic_iota int32[2] -> int32[?]", {"iota_dimension": 0}, "for 1 dimensions"),
    ("dynamic_pad float32[2] float32[] int32[1] int32[2] int32[1] -> float32[9]", {}, "for 1 dimensions"),
    ("real_dynamic_slice float32[2] int32[1] int32[1] int32[1] -> float32[2,2]", {}, "is said to make"),
    ("reverse float32[2] -> float32[2]", {"dimensions": [1]}, "none of 1"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "attributes"), FITTING)
def test_what_fits(text: str, attributes: dict[str, Any]) -> None:
    judged(operation(text, **attributes))


@pytest.mark.parametrize(("text", "attributes", "why"), UNFITTING)
def test_what_does_not_fit(text: str, attributes: dict[str, Any], why: str) -> None:
    with pytest.raises(DamagedError, match=rf"^{text.split()[0]} is not made as the op is: .*{why}"):
        judged(operation(text, **attributes))


def test_shapes_with_unknown_sizes() -> None:
    assert fits((2, None), (None, 3)) and not fits((2,), (3,)) and not fits((2,), (2, 1))
    assert alike([tensor("float32[?]")], [tensor("float32[3]")])
    assert not alike([tensor("int32[?]")], [tensor("float32[3]")]) and not alike([], [tensor("float32[3]")])
    assert described(tensor("float32[?,3]")) == "float32[?,3]"
