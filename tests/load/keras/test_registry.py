"""Settings of layers: those that a function does not name must hold their default, and values are of their kind."""

from __future__ import annotations

from typing import Any

import pytest

from fuseconv.errors import InputError
from fuseconv.load.keras.registry import LAYERS, UnknownLayer, builtin, layer


def test_what_a_function_names_is_read_and_the_rest_must_hold_its_default() -> None:
    known = LAYERS["Dense"]
    config = {"units": 3, "name": "d", "kernel_initializer": {"class_name": "Zeros"}, "lora_rank": None}
    assert known.read(config) == {"units": 3, "activation": None, "use_bias": True, "quantization_config": None}
    for more in ({"lora_rank": 4}, {"gain": 2.0}):
        with pytest.raises(UnknownLayer, match=f"{next(iter(more))}="):
            known.read(config | more)


@pytest.mark.parametrize("wrong", [{"units": "3"}, {"units": True}, {"units": 1.5}, {"units": 3, "use_bias": 1}, {}])
def test_values_of_another_kind_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(UnknownLayer):
        LAYERS["Dense"].read(wrong)


def test_a_layer_has_one_function() -> None:
    with pytest.raises(InputError, match="declared twice"):
        builtin("Dense")(lambda k, x: x)


def test_a_setting_is_of_a_kind_that_can_be_checked() -> None:
    def swish(k, x, *, beta: complex = 1.0):  # type: ignore[no-untyped-def]
        return x

    with pytest.raises(InputError, match="acme>Swish has a setting beta of the kind complex; it may be int, "):
        layer("acme>Swish")(swish)
