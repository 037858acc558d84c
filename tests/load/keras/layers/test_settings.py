"""Settings that layers of several families have."""

from __future__ import annotations

from typing import Any

import pytest

from fuseconv.ir import types
from fuseconv.load.keras.call import Call, Model, Object
from fuseconv.load.keras.layers.settings import axes_of, channels_first, padding_of, sizes
from fuseconv.load.keras.registry import UnknownLayer

CALL = Call(Object(Model(True, ()), "Conv2D", {}), types.FLOAT32, {})


def test_settings_are_read() -> None:
    assert sizes(CALL, 3, 2) == [3, 3] and sizes(CALL, [1, 2], 2) == [1, 2]
    assert axes_of(CALL, -1, 3) == [2] and axes_of(CALL, [2, -3], 3) == [0, 2]
    assert padding_of(CALL, "same") == "SAME"
    assert [channels_first(CALL, form) for form in (None, "channels_last", "channels_first")] == [False, False, True]


@pytest.mark.parametrize(
    "read", [lambda: sizes(CALL, [1], 2), lambda: sizes(CALL, 0, 2), lambda: axes_of(CALL, 3, 3),
             lambda: axes_of(CALL, [], 3), lambda: padding_of(CALL, "causal"), lambda: channels_first(CALL, "NCHW")],
)  # fmt: skip
def test_other_settings_are_refused(read: Any) -> None:
    with pytest.raises(UnknownLayer):
        read()
