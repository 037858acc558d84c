"""What shape functions and folders of converter modules may return."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from fuseconv.errors import InputError
from fuseconv.fuse.guard import folder, shape_function
from fuseconv.ir import types
from fuseconv.ir.dims import symbol
from fuseconv.ir.graph import Op
from fuseconv.tf.folders.registry import Declined
from fuseconv.tf.operands import UnknownShape


def op() -> Op:
    made = Op("tf.Acme")
    made.add_result(types.FLOAT32, None)
    return made


@pytest.mark.parametrize("shape", [None, (), (2, symbol("n")), [(2,)], [None]])
def test_shapes(shape: Any) -> None:
    assert shape_function(lambda op: shape, "Acme")(op(), op(), ()) == shape


@pytest.mark.parametrize("shape", [3, (-1,), (True,), ("n",), [], [(1,), (1,)]])
def test_no_shapes(shape: Any) -> None:
    with pytest.raises(InputError, match=r"the shape function of Acme \(.*test_guard\.py:\d+\) made .* not shapes"):
        shape_function(lambda op: shape, "Acme")(op(), op(), ())


@pytest.mark.parametrize("made", [1.0, np.zeros(1), [np.zeros(1, np.float32)] * 2])
def test_no_arrays(made: Any) -> None:
    with pytest.raises(InputError, match=r"the folder of Acme \(.*test_guard\.py:\d+\) made .* not arrays"):
        folder(lambda op: made, "Acme")(op(), op(), ())


def test_no_answer() -> None:
    def unknown(op: Op) -> None:
        raise UnknownShape

    def declined(op: Op) -> None:
        raise Declined

    with pytest.raises(UnknownShape):
        shape_function(unknown, "Acme")(op(), op(), ())
    with pytest.raises(Declined):
        folder(declined, "Acme")(op(), op(), ())


def test_attributes_are_held_to_what_is_named() -> None:
    guarded = shape_function(lambda op, *, size=1: (size,), "Acme")
    made = op()
    made.attrs = {"size": 3, "other": 4}
    assert guarded(made, made, ()) == (3,)
    assert guarded.unhandled(made) == "the attribute other=4 is not supported"
