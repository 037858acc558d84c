"""Calls of layers: what is unknown or damaged is refused by the layer's name."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from fuseconv.errors import InputError
from fuseconv.ir import types
from fuseconv.ir.graph import Value
from fuseconv.load.keras.call import Model, Object, compute_type
from fuseconv.load.keras.registry import UnknownLayer


def call(kind: str, *args: Any, custom: tuple[str, ...] = (), options: Any = None, keras3: bool = True,
         **config: Any) -> Any:  # fmt: skip
    made = Object(Model(keras3, custom), kind, {"name": "it"} | config)
    return made.call(list(args) or [Value(types.FLOAT32, (2, 3), "x")], options or {})


def test_a_call_builds_ops() -> None:
    assert call("Dense", units=4).shape == (2, 4)
    assert call("Dense", units=4, options={"training": True}).shape == (2, 4)


def test_layers_that_compute_take_no_integers() -> None:
    x = Value(types.INT32, (2, 3), "x")
    assert call("Flatten", x).dtype is types.INT32
    for kind in ("LeakyReLU", "GlobalMaxPooling1D", "BatchNormalization"):
        with pytest.raises(UnknownLayer, match=f"{kind} 'it': it is called on int32"):
            call(kind, x)
    with pytest.raises(UnknownLayer, match="it computes in int32"):
        call("LeakyReLU", dtype="int32")


@pytest.mark.parametrize(
    "refused, why",
    [
        ({"kind": "Sorcery"}, "its class is none"),
        ({"kind": "Dense", "units": 3, "custom": ("Dense",)}, "its class is none"),
        ({"kind": "Dense", "units": 3, "dtype": "float64"}, "its dtype"),
        ({"kind": "Dense", "units": 3, "options": {"training": True}, "keras3": False}, "for training"),
        ({"kind": "Dense", "units": 3, "options": {"speed": 3}}, "called with speed"),
        ({"kind": "Dense", "units": -3}, "no known shape"),
        ({"kind": "Flatten", "data_format": "elsewhere"}, "data_format"),
        ({"kind": "Reshape", "target_shape": [-1, 0]}, "do not fit"),
        ({"kind": "Sequential", "layers": [3]}, "damaged"),
    ],
)
def test_what_is_not_known_is_refused_by_name(refused: dict[str, Any], why: str) -> None:
    kind = refused["kind"]
    if kind == "Sequential":
        with pytest.raises(Exception, match=why):
            call(**refused)
        return
    with pytest.raises(UnknownLayer, match=f"{kind} 'it'.*{why}"):
        call(**refused)


_LONG = 2**31 - 1


@pytest.mark.parametrize(
    "config",
    [
        {"kind": "AdaptiveMaxPooling1D", "output_size": _LONG - 1}, {"kind": "Activation", "activation": "sparsemax"},
        {"kind": "MelSpectrogram", "fft_length": 1 << 30, "num_mel_bins": 3},
        {"kind": "STFTSpectrogram", "frame_length": 1 << 30},
        {"kind": "LocallyConnected1D", "filters": 9, "kernel_size": 3, "implementation": 2, "keras3": False},
    ],
)  # fmt: skip
def test_what_no_file_justifies_is_refused_before_it_is_made(config: dict[str, Any]) -> None:
    kind, config = config["kind"], {key: value for key, value in config.items() if key != "kind"}
    shape = (2, _LONG) if kind in ("Activation", "MelSpectrogram") else (2, _LONG, 3)
    with pytest.raises(InputError, match="bytes"):
        call(kind, Value(types.FLOAT32, shape, "x"), **config)


def test_policies_of_other_types_are_unknown() -> None:
    assert compute_type({"class_name": "DTypePolicy", "config": {"name": "float32"}}) is types.FLOAT32
    with pytest.raises(UnknownLayer):
        compute_type({"class_name": "DTypePolicyMap", "config": {}})


def test_arrays_among_operands_are_constants() -> None:
    x, rows = Value(types.FLOAT32, (3, 4), "x"), np.ones((3, 2))
    assert call("Concatenate", [x, rows]).dtype is types.FLOAT32
    assert call("ops>Take", np.arange(6), Value(types.INT32, (3,), "i"), axis=0).dtype is types.INT64
    assert call("ops>Add", x, np.ones(4, np.float32)).shape == (3, 4)
    with pytest.raises(UnknownLayer, match="its operand"):
        call("Concatenate", [x, np.array([["a"]])])


@pytest.mark.parametrize("name", ["CustomScaleLayer", "Custom>CustomScaleLayer"])
def test_a_layer_of_an_application_is_known_by_each_of_its_names(name: str) -> None:
    x = Value(types.FLOAT32, (2, 3), "x")
    assert call(name, [x, x], scale=0.5).op.kind == "tf.AddV2"
