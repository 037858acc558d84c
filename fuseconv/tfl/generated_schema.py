"""The Python that flatc makes of TFLite's schema, as ai_edge_litert brings it along.

It has 16,000 lines, which take longer to load than most models to convert. What converts reads `schema.txt` instead,
which `python -m fuseconv.tfl.generated_schema` wrote from them; what reads files imports `generated` from here.

The functions that add a field to a builder tell its slot, wire type and default.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from ai_edge_litert import schema_py_generated as generated

from fuseconv.tfl import schema

# The struct code of each scalar of the flatbuffer format; of an offset to a string, vector or table there is none.
_CODES = {
    "Bool": "?", "Int8": "b", "Uint8": "B", "Int16": "h", "Uint16": "H", "Int32": "i", "Uint32": "I", "Int64": "q",
    "Uint64": "Q", "Float32": "f", "Float64": "d", "UOffsetTRelative": "",
}  # fmt: skip


class _Recorder:
    """Stand-in for a flatbuffer builder that records how a field is added."""

    heard: tuple[int, str, Any]

    def __getattr__(self, name: str) -> Any:
        kind = name.removeprefix("Prepend").removesuffix("Slot")

        def prepend(slot: int, _value: object, default: Any) -> None:
            self.heard = slot, kind, default

        return prepend


def schema_text() -> str:
    """Return the text of `schema.txt` for the schema that is installed."""
    return "".join(f"{line}\n" for line in sorted((*_enums(), *_tables())))


def _enums() -> Iterator[str]:
    for name, item in vars(generated).items():
        if isinstance(item, type) and item.__module__ == generated.__name__:
            numbers = {key: it for key, it in vars(item).items() if isinstance(it, int) and not key.startswith("_")}
            if numbers:
                yield " ".join(("enum", name, *(f"{key}={number}" for key, number in numbers.items())))


def _tables() -> Iterator[str]:
    fields: dict[str, list[str]] = {}
    names = vars(generated)
    for name in names:
        for match in re.finditer("Add", name):
            table = name[: match.start()]
            if f"{table}T" in names and callable(names[name]) and not isinstance(names[name], type):
                fields.setdefault(table, []).append(name[match.end() :])
    for table, camels in fields.items():
        yield " ".join(("table", table, *(text for _, text in sorted(_field(table, camel) for camel in camels))))


def _field(table: str, camel: str) -> tuple[int, str]:
    recorder = _Recorder()
    getattr(generated, f"{table}Add{camel}")(recorder, 0)
    slot, kind, default = recorder.heard
    snake = re.sub(r"(?<!^)(?=[A-Z])", "_", camel).lower()
    code = _CODES[kind]
    return slot, f"{snake}:{slot}:{code}:{default}" if code else f"{snake}:{slot}"


if __name__ == "__main__":
    schema.PATH.write_text(schema_text())
