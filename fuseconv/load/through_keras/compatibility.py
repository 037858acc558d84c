"""Compatibility with files of older Keras releases, whose names newer releases read otherwise or no longer have."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from fuseconv.load.keras_container import KerasFile, objects

_GATED = frozenset({"GRU", "GRUCell"})


def incompatibility(file: KerasFile) -> str:
    """Return why Keras 3 would make another model of a file than the Keras that wrote it, in words; "" if it would
    not."""
    if file.from_keras3:
        return ""
    if any("hard_sigmoid" in item.values() for item, _ in objects(file.config)):
        return "its hard_sigmoid is clip(0.2 x + 0.5, 0, 1), which Keras 3 calls by no name"
    if _before_reset_after(file.config):
        return "its GRU layers say nothing of reset_after, which was False before and is True in Keras 3"
    return ""


def legacy_objects(config: dict[str, Any]) -> dict[str, Any]:
    """Return the classes of tf-keras for layers that an architecture has from older releases, by the names in it.

    CuDNNLSTM and CuDNNGRU compute what LSTM and GRU do; tf-keras converts their weights as it loads them. GRU layers
    of a file that knows no reset_after have it False."""
    import tf_keras

    class GRU(tf_keras.layers.GRU):  # by its class's name, tf-keras knows how its weights are laid out
        def __init__(self, units: int, *, reset_after: bool = False, **options: Any) -> None:
            super().__init__(units, reset_after=reset_after, **options)

    class GRUCell(tf_keras.layers.GRUCell):
        def __init__(self, units: int, *, reset_after: bool = False, **options: Any) -> None:
            super().__init__(units, reset_after=reset_after, **options)

    objects: dict[str, Any] = {"CuDNNLSTM": tf_keras.layers.LSTM, "CuDNNGRU": tf_keras.layers.GRU}
    if _before_reset_after(config):
        objects |= {"GRU": GRU, "GRUCell": GRUCell}
    return objects


def _before_reset_after(config: dict[str, Any]) -> bool:
    """Return True if there are GRU layers, and none says whether it resets before or after the product."""
    gated = [settings for kind, settings in _layers(config) if kind in _GATED]
    return bool(gated) and not any("reset_after" in settings for settings in gated)


def _layers(config: Any) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the class name and the settings of each object in an architecture."""
    for item, _ in objects(config):
        if isinstance(item.get("class_name"), str) and isinstance(item.get("config"), dict):
            yield item["class_name"], item["config"]
