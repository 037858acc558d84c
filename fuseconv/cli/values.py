"""Values of options that hold more than one thing: lists, shapes, names and metadata; and where a file goes."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

from fuseconv.errors import InputError
from fuseconv.input_ranges import read_ranges
from fuseconv.input_shapes import read_shapes

# As --output.
STDOUT = "-"
_SUFFIX = ".tflite"


def given(**options: Any) -> dict[str, Any]:
    """Return the options that were given; the others keep the default of the function that takes them."""
    return {name: value for name, value in options.items() if value is not None}


def _split(values: tuple[str, ...]) -> tuple[str, ...]:
    """Split lists at their commas: ("a,b", "c") -> ("a", "b", "c")."""
    return tuple(name for value in values for name in value.split(",") if name)


def read_options(options: dict[str, Any]) -> dict[str, Any]:
    """Return the options of a command with what those of `_reading` say, as `fuseconv.convert` takes it."""
    lists = {name: _split(options[name]) for name in ("tags", "inputs", "outputs")}
    shapes, rename = read_shapes(options.pop("input_shape")), _new_names(options["rename"])
    ranges = read_ranges(options.pop("input_range"))
    return options | lists | {"input_shapes": shapes, "input_ranges": ranges, "rename": rename}


def read_metadata(values: tuple[str, ...]) -> dict[str, str]:
    """Parse metadata: ("author=A, B,mean=1,2",) -> {"author": "A, B", "mean": "1,2"}. A comma divides before KEY=."""
    told: dict[str, str] = {}
    for value in values:
        for part in re.split(r",(?=[a-z_]+(?::[^=]*)?=)", value):
            key, equals, text = part.partition("=")
            if not equals or not key or not text:
                raise InputError(f"--metadata {part} is no entry: write KEY=VALUE, such as author=Acme")
            if key in told:
                raise InputError(f"--metadata gives {key} twice")
            told[key] = text
    return told


def _new_names(values: tuple[str, ...]) -> dict[str, str]:
    """Read --rename: ("x=y",) -> {"x": "y"}."""
    names: dict[str, str] = {}
    for value in values:
        old, _, new = value.partition("=")
        if not old or not new or "=" in new:
            raise InputError(f"--rename {value} is no new name: write OLD=NEW")
        if old in names:
            raise InputError(f"--rename gives {old} two names")
        names[old] = new
    return names


def named_for(model: str) -> str:
    """Return the file in the working directory that a model is written to: "a/b.keras" -> "b.tflite"."""
    path = Path(os.path.abspath(model))
    if path.suffix.lower() == _SUFFIX:
        raise InputError(f"{model} is a TensorFlow Lite file already; `fuseconv inspect` shows what is in it")
    name = path.name if path.is_dir() else path.stem
    if not name:
        raise InputError(f"{model} has no name for the file: give --output")
    return name + _SUFFIX


def with_suffix(file: str) -> str:
    """Return the name that a .tflite file keeps in another directory: "a/b.tflite" -> "b.tflite"."""
    return Path(file).stem + _SUFFIX
