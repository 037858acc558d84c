"""The models that are damaged: everything in testdata, and .tflite files made of it."""

from __future__ import annotations

import functools
import os
import tarfile
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
TESTDATA = ROOT / "testdata"
# What a model's form is called by the kinds of cases, by the end of its name.
_FORMS = {".pb": "frozen", ".h5": "keras", ".keras": "keras"}


@dataclass(frozen=True)
class Source:
    """A model in memory. form: "saved_model", "frozen", "keras", "bytecode" or "tflite"; files: contents by
    path within it, with the one path "" for a model that is a single file; suffix: the end of that file's name."""

    name: str
    form: str
    files: dict[str, bytes]
    suffix: str = ""

    def write(self, path: Path, files: dict[str, bytes] | None = None) -> Path:
        """Writes the model, or these files instead of its own, at `path` with the suffix added; returns where."""
        path = path.with_name(path.name + self.suffix)
        for name, data in (self.files if files is None else files).items():
            target = path / name if name else path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(data)
        return path


def names(form: str) -> tuple[str, ...]:
    """The names of the sources of a form, sorted."""
    return tuple(name for name, found in sorted(_forms().items()) if found == form)


@functools.cache
def source(name: str) -> Source:
    """The source of that name. Raises KeyError if there is none."""
    if name.endswith(".tflite"):
        return Source(name, "tflite", {"": _converted(name.removesuffix(".tflite"))}, ".tflite")
    form = _forms()[name]
    if form == "bytecode":
        return Source(name, form, {"": _modules()[name]}, ".mlirbc")
    path = TESTDATA / name
    if form == "saved_model":
        path = path if (path / "saved_model.pb").exists() else path / "saved_model"
        found = sorted(file for file in path.rglob("*") if file.is_file())
        return Source(name, form, {os.fspath(file.relative_to(path)): file.read_bytes() for file in found})
    return Source(name, form, {"": path.read_bytes()}, path.suffix)


@functools.cache
def _forms() -> dict[str, str]:
    forms = {path.name: _FORMS[path.suffix] for path in TESTDATA.iterdir() if path.suffix in _FORMS}
    forms |= {path.parent.name: "saved_model" for path in TESTDATA.glob("*/saved_model.pb")}
    cases = [path.parents[1].relative_to(TESTDATA) for path in TESTDATA.glob("opcases/*/saved_model/saved_model.pb")]
    forms |= {os.fspath(case): "saved_model" for case in cases}
    graphs = [name for name, form in forms.items() if form in ("saved_model", "frozen")]
    modules = dict.fromkeys(_modules(), "bytecode")
    return forms | modules | {f"{name}.tflite": "tflite" for name in graphs}


@functools.cache
def _modules() -> dict[str, bytes]:
    """Return the modules of StableHLO by name: "stablehlo/shapes/pad.mlirbc"."""
    with tarfile.open(TESTDATA / "stablehlo" / "ops.tar.xz") as archive:
        members = [member for member in archive.getmembers() if member.name.endswith(".mlirbc")]
        return {f"stablehlo/{member.name}": archive.extractfile(member).read() for member in members}  # type: ignore[union-attr]


@functools.cache
def _converted(name: str) -> bytes:
    import fuseconv

    path = TESTDATA / name
    data = fuseconv.convert(path / "saved_model" if (path / "saved_model").is_dir() else path).data
    assert data is not None
    return data
