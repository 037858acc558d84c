"""The schema of model metadata: fields stand at the places that metadata_schema.fbs gives them."""

from __future__ import annotations

import pytest

from fuseconv.tfl import schema


@pytest.mark.parametrize(("table", "field", "slot", "code"), [
    ("ModelMetadata", "subgraph_metadata", 3, None), ("ModelMetadata", "min_parser_version", 7, None),
    ("SubGraphMetadata", "input_tensor_metadata", 2, None), ("TensorMetadata", "process_units", 4, None),
    ("TensorMetadata", "associated_files", 6, None), ("AssociatedFile", "type", 2, "b"),
    ("Content", "content_properties_type", 0, "B"), ("ProcessUnit", "options", 1, None),
    ("ImageProperties", "color_space", 0, "b"), ("NormalizationOptions", "std", 1, None),
])  # fmt: skip
def test_a_field_is_in_its_place(table: str, field: str, slot: int, code: str | None) -> None:
    found = schema.table(table)[field]
    assert (found.slot, found.code, found.default) == (slot, code, 0 if code else None)
