"""The limits speak of ops that the table has. That they hold, the parity tests of the rules show."""

import pytest

import fuseconv.tfl.ops  # noqa: F401  (fills the table)
from fuseconv.tfl import kernel_limits
from fuseconv.tfl.opdef import TABLE


@pytest.mark.parametrize("limit", [kernel_limits.TYPES, kernel_limits.RANK, kernel_limits.BROADCAST_RANK])
def test_names(limit):
    assert not set(limit) - set(TABLE)


def test_types_are_those_that_a_file_can_hold():
    for name, types in kernel_limits.TYPES.items():
        assert len(types) == len(set(types)) > 0, name
        assert all(dtype.tflite is not None for dtype in types), name
