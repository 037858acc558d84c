"""The schema in the tree, and that of the runtime which is installed."""

from __future__ import annotations

from fuseconv.tfl import schema
from fuseconv.tfl.generated_schema import schema_text


def test_the_schema_is_that_of_the_installed_runtime() -> None:
    """What the tree knows: a newer runtime may know more."""
    installed, ours = _words(schema_text()), _words(schema.PATH.read_text())
    assert len(ours) > 100 and all(words <= installed.get(name, set()) for name, words in ours.items())


def _words(text: str) -> dict[tuple[str, str], set[str]]:
    """The keys of each enum with their numbers, and the fields of each table with their slots."""
    return {(kind, name): set(words) for kind, name, *words in map(str.split, text.splitlines())}


def test_lines() -> None:
    lines = schema_text().splitlines()
    assert "enum Padding SAME=0 VALID=1" in lines
    # Slots 0 and 1 were given up.
    assert "table ResizeBilinearOptions align_corners:2:?:0 half_pixel_centers:3:?:0" in lines
    assert "table Metadata name:0 buffer:1:I:0" in lines
