"""The order of weights in files."""

from __future__ import annotations

from fuseconv.ir import types
from fuseconv.ir.graph import Value
from fuseconv.load.keras.parts import Part, Weight


def part(name: str, *weights: str, trainable: bool = True, parts: tuple[Part, ...] = ()) -> Part:
    """A part whose weights in capitals are trainable."""
    own = [Weight(weight, Value(types.FLOAT32, ()), weight.isupper()) for weight in weights]
    return Part(name, name, trainable, own, [((inner.name,), inner) for inner in parts])


def test_trainable_weights_come_first_and_those_of_frozen_layers_last() -> None:
    norm = part("norm", "m", "G", "B")
    assert [weight.name for weight in norm.own()] == ["G", "B", "m"]
    model = part("model", parts=(norm, part("frozen", "K", "L", trainable=False), part("dense", "W")))
    assert [weight.name for weight in model.all_weights()] == ["G", "B", "W", "m", "K", "L"]
    frozen = part("frozen", parts=(norm, part("dense", "W")), trainable=False)
    assert [weight.name for weight in frozen.all_weights()] == ["G", "B", "m", "W"]


def test_an_archive_may_have_an_order_of_its_own() -> None:
    dense = part("dense", "kernel", "BIAS", "scale")
    assert [weight.name for weight in dense.in_archive()] == ["BIAS", "kernel", "scale"]
    dense.archived = ("kernel", "BIAS", "scale", "zero")
    assert [weight.name for weight in dense.in_archive()] == ["kernel", "BIAS", "scale"]
    assert [weight.name for weight in dense.own()] == ["BIAS", "kernel", "scale"]
