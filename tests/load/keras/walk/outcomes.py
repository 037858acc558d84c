"""What becomes of each configuration of Keras' layers: read as data, with the numbers of the layer's own call, or
refused by name. `python -m tests.load.keras.walk.outcomes [CLASS ...]` reads them and writes `outcomes.json`."""

from __future__ import annotations

import importlib
import json
import re
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from fuseconv.load.keras import UnknownLayer, load
from tests.keras_parity import check_data, check_ways
from tests.load.keras.walk import feedforward, inputs, sequences
from tests.load.keras.walk.case import Case

FILE = Path(__file__).with_name("outcomes.json")
LIBRARIES = ("keras", "tf_keras")
FORMATS = ("keras", "h5")
CASES = {**feedforward.CASES, **sequences.CASES, **inputs.CASES}
# What the libraries export beside layers that a configuration makes.
ABSTRACT = frozenset({"AbstractRNNCell", "InputLayer", "InputSpec", "Layer", "Wrapper"})
CODE = frozenset({"DenseFeatures", "FlaxLayer", "JaxLayer", "Lambda", "TFSMLayer", "TorchModuleWrapper"})
# It takes boxes in a dict, which no model in a file has for its input.
BOXES = frozenset({"MaxNumBoundingBoxes"})
Row = dict[str, Any]


# How many ops more a configuration takes by data, where that is more than one: those of branches are not counted.
_MORE_OPS = {("tf_keras", "RandomCrop"): 3}


def exported(library: Any) -> set[str]:
    """Return the names of the layers that a library exports, one for each class: that which has cases if any has."""
    names: dict[type, str] = {}
    for name in dir(library.layers):
        made = getattr(library.layers, name)
        if isinstance(made, type) and (made not in names or name in CASES):
            names[made] = name
    return set(names.values()) - ABSTRACT - CODE - BOXES


def models(library: Any, name: str) -> Iterator[tuple[Case, Any]]:
    """Return the cases of a layer that a library can make, with their models."""
    for case in CASES[name]:
        if case.only in ("", library.__name__):
            library.backend.clear_session()
            try:
                yield case, case.model(library, name)
            except (TypeError, ValueError, ImportError):  # the library does not know these settings
                continue


def walk(library: Any, name: str, folder: Path, numbers: bool = True) -> Row:
    """Return how many files of a layer's configurations are read as data, of how many, and why others are not.

    numbers: whether to convert and run them. Raises AssertionError if one computes others than the layer's own call."""
    count, read, reasons = 0, 0, []
    for case, model in models(library, name):
        for suffix in FORMATS:
            path = folder / f"model.{suffix}"
            if not _saved(model, path):
                continue
            count += 1
            try:
                load(path)
            except UnknownLayer as error:
                reasons.append(_why(error))
                continue
            read += 1
            if numbers:
                feeds: Any = case.feeds()
                check_data(model, folder, [suffix], **feeds)
    return {"read": read, "of": count, "why": sorted(set(reasons))}


def check_by_keras(library: Any, name: str, folder: Path) -> None:
    """Assert that all configurations of a layer that are read as data are converted to the same by way of Keras."""
    inputs, outputs = [], []
    for at, (case, model) in enumerate(models(library, name)):
        model.save(folder / "model.keras")
        if name == "TimeDistributed" and any(None in shape for shape in case.shapes):
            continue  # Keras 3 traces as many steps as there are examples
        by_both = _is_read(folder / "model.keras") and _is_loaded(library, folder / "model.keras")
        if not case.masked and case.dtype != "string" and by_both:
            given = [library.Input(shape, dtype=case.dtype, name=f"c{at}x{i}") for i, shape in enumerate(case.shapes)]
            inputs += given
            named = library.Model(model.inputs, model.outputs, name=f"case{at}")
            outputs.append(named(given[0] if len(given) == 1 else given))
    if inputs:
        more = _MORE_OPS.get((library.__name__, name), 1)
        check_ways(library.Model(inputs, outputs), folder, ["keras"], most_more=more * len(outputs))


def _is_read(path: Path) -> bool:
    try:
        load(path)
    except UnknownLayer:
        return False
    return True


def _is_loaded(library: Any, path: Path) -> bool:
    """Return whether Keras loads a file of its own; it refuses what some of its layers write of themselves."""
    try:
        library.models.load_model(path)
    except TypeError:
        return False
    return True


def _saved(model: Any, path: Path) -> bool:
    """Return whether Keras saves a model; it fails to copy the modules that some of its layers hold."""
    try:
        model.save(path)
    except TypeError:
        return False
    return True


def _why(error: UnknownLayer) -> str:
    return re.sub(r"^the layer \S+ '[^']*': ", "", str(error))


def table() -> str:
    """Return the outcomes as a Markdown table: classes of which not every file is read."""
    rows = json.loads(FILE.read_text())
    whole, never, lines = [], [], []
    for name, row in sorted(rows.items()):
        read, count = (sum(each[key] for each in row.values()) for key in ("read", "of"))
        why = sorted({reason for each in row.values() for reason in each["why"]})
        if not count:
            continue
        if read == count:
            whole.append(name)
        elif not read:
            never.append(name)
        else:
            told = "; ".join(reason[:90].replace("|", "/") for reason in why)
            lines.append(f"| {name} | {read} of {count} | {told} |")
    total = [sum(each[key] for row in rows.values() for each in row.values()) for key in ("read", "of")]
    return "\n".join([
        f"{total[0]:,} of {total[1]:,} files are read. All those of {', '.join(whole)}.", "",
        f"None of {', '.join(never)}.", "", "| layer | read | refused |", "|---|---|---|", *lines,
    ])  # fmt: skip


def main(names: Sequence[str]) -> None:
    """Walk all classes, or those that are named, and write what becomes of them."""
    rows: dict[str, dict[str, Row]] = json.loads(FILE.read_text()) if names and FILE.exists() else {}
    for which in LIBRARIES:
        library = importlib.import_module(which)
        for name in sorted(set(names or CASES) & exported(library)):
            with tempfile.TemporaryDirectory() as folder:
                rows.setdefault(name, {})[which] = walk(library, name, Path(folder), numbers=False)
            FILE.write_text(json.dumps(rows, indent=1, sort_keys=True) + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])
