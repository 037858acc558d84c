"""What importers build with."""

from __future__ import annotations

import numpy as np
import pytest

from fuseconv.ir import types
from fuseconv.load.stablehlo.attributes import OtherType, TensorType
from fuseconv.load.stablehlo.bytecode import Var
from fuseconv.load.stablehlo.cursor import DamagedError
from fuseconv.load.stablehlo.scope import RefusedError, axes, ints, static_shape, tensor_type, text


def test_attributes_of_another_kind_are_damage() -> None:
    assert ints(np.array([1, 2])) == [1, 2]
    with pytest.raises(DamagedError, match="no list of whole numbers"):
        ints([1.5])
    assert text("GE") == "GE"
    with pytest.raises(DamagedError, match="no text"):
        text(["GE"])
    for wrong in ([0, 0], [2], [-1]):
        with pytest.raises(DamagedError, match="are none of 2"):
            axes(wrong, 2)


def test_what_is_no_tensor_is_refused_by_name() -> None:
    with pytest.raises(RefusedError, match="of the type token"):
        tensor_type(Var(OtherType("token")))
    with pytest.raises(RefusedError, match="the shape of its operand is not known"):
        static_shape(Var(TensorType(types.FLOAT32, (2, None))))
