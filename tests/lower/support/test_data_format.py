"""Data formats and padding."""

import pytest
import tensorflow as tf

from fuseconv.ir.dims import symbol
from fuseconv.lower.rules import Unsupported
from fuseconv.lower.support.data_format import explicit_pads, is_channels_first, same_pads, spatial_values


@pytest.mark.parametrize("size", [5, 6, 7])
@pytest.mark.parametrize("kernel", [1, 2, 3, 4])
@pytest.mark.parametrize("stride", [1, 2, 3])
def test_same_pads_as_tensorflow_does(size, kernel, stride):
    x, ones = tf.ones([1, size, 1]), tf.ones([kernel, 1, 1])
    before, after = same_pads(size, kernel, stride)
    padded = tf.pad(x, [[0, 0], [before, after], [0, 0]])
    expected, actual = tf.nn.conv1d(x, ones, stride, "SAME"), tf.nn.conv1d(padded, ones, stride, "VALID")
    assert actual.numpy().tolist() == expected.numpy().tolist()


def test_same_pads_of_an_unknown_size():
    assert same_pads(symbol("h"), 4, 1, 2) == (3, 3)
    assert same_pads(symbol("h"), 4, 2) is None


def test_attributes_of_either_format():
    assert spatial_values([1, 2, 3, 1], "NHWC") == [2, 3]
    assert spatial_values([1, 1, 2, 3], "NCHW") == [2, 3]
    assert explicit_pads([0, 0, 1, 2, 3, 4, 0, 0], "NHWC") == [(1, 2), (3, 4)]
    assert explicit_pads([0, 0, 0, 0, 1, 2, 3, 4], "NCHW") == [(1, 2), (3, 4)]
    assert explicit_pads([], "NHWC") == []


def test_what_is_refused():
    with pytest.raises(Unsupported, match="NCHW_VECT_C"):
        is_channels_first("NCHW_VECT_C")
    with pytest.raises(Unsupported, match="batch or channels"):
        spatial_values([2, 1, 1, 1], "NHWC")
