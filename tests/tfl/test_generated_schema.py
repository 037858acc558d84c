"""The schema in the tree, and that of the runtime which is installed."""

from __future__ import annotations

from fuseconv.tfl import schema
from fuseconv.tfl.generated_schema import schema_text


def test_the_schema_is_that_of_the_installed_runtime() -> None:
    installed, ours = schema_text().splitlines(), schema.PATH.read_text().splitlines()
    assert installed == ours, "run python -m fuseconv.tfl.generated_schema"


def test_lines() -> None:
    lines = schema_text().splitlines()
    assert "enum Padding SAME=0 VALID=1" in lines
    # Slots 0 and 1 were given up.
    assert "table ResizeBilinearOptions align_corners:2:?:0 half_pixel_centers:3:?:0" in lines
    assert "table Metadata name:0 buffer:1:I:0" in lines
