"""Ranges of values by their names, for passes that ask for a calibration."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from fuseconv.ir.graph import Value
from fuseconv.quantize.affine import Range
from fuseconv.quantize.calibrate import Calibration


class _ByName(dict[Value, Range]):
    def __init__(self, **ranges: tuple[float, float]) -> None:
        self.named = {name: Range(*ends) for name, ends in ranges.items()}

    def __getitem__(self, value: Value) -> Range:
        return self.named[value.name]

    def __setitem__(self, value: Value, found: Range) -> None:
        self.named[value.name] = found

    def update(self, found: Iterable[tuple[Value, Range]] | Mapping[Value, Range]) -> None:  # type: ignore[override]
        for value, each in dict(found).items():
            self[value] = each

    def __contains__(self, value: object) -> bool:
        return isinstance(value, Value) and value.name in self.named

    def get(self, value: Value, default: object = None) -> Range | None:  # type: ignore[override]
        return self.named.get(value.name)


def measured(**ranges: tuple[float, float]) -> Calibration:
    """A calibration that has found these ranges, by the names of values."""
    return Calibration(ranges=_ByName(**ranges))
