"""The committed StableHLO modules, and what JAX computes with them."""

from __future__ import annotations

import functools
import io
import tarfile
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple, cast
from unittest.mock import Mock

import numpy as np

import fuseconv
from fuseconv.api import _small_file
from fuseconv.fuse.registry import Registry
from fuseconv.ir.graph import Graph, Module, Signature, Value
from fuseconv.ir.types import BY_NAME, of_array
from fuseconv.load.stablehlo import bytecode
from fuseconv.load.stablehlo.attributes import TensorType
from fuseconv.load.stablehlo.bytecode import Operation, Region, Var
from fuseconv.load.stablehlo.importer import ModuleImporter
from fuseconv.load.stablehlo.scope import Scope
from fuseconv.runners import TFLiteFile
from fuseconv.testing import assert_close
from tests.fast import ROOT

FOLDER = ROOT / "testdata" / "stablehlo"


class Case(NamedTuple):
    """A module, and arrays: in0, in1, ... and out0, out1, ..."""

    data: bytes
    arrays: dict[str, np.ndarray]

    def numbered(self, kind: str) -> list[np.ndarray]:
        return [self.arrays[f"{kind}{index}"] for index in range(sum(name.startswith(kind) for name in self.arrays))]


@functools.cache
def archived(name: str) -> dict[str, bytes]:
    """Return the files of an archive by name."""
    with tarfile.open(FOLDER / name) as archive:
        return {member.name: archive.extractfile(member).read() for member in archive.getmembers()}  # type: ignore[union-attr]


@functools.cache
def cases() -> dict[str, Case]:
    """Return the cases of ops.tar.xz and models.tar.xz by name."""
    files = archived("ops.tar.xz") | archived("models.tar.xz")
    names = [name.removesuffix(".mlirbc") for name in files if name.endswith(".mlirbc")]
    return {name: Case(files[f"{name}.mlirbc"], dict(np.load(io.BytesIO(files[f"{name}.npz"])))) for name in names}


def names(group: str) -> list[str]:
    """Return the names of the cases of a group."""
    return [name for name in cases() if name.startswith(f"{group}/")]


def check_case(name: str, folder: Path, atol: float = 1e-5, **options: Any) -> Counter[str]:
    """Convert a case, run the file twice and compare with JAX; return how many ops of each type the file has."""
    case = cases()[name]
    path = folder / "module.mlirbc"
    path.write_bytes(case.data)
    conversion = fuseconv.convert(path, **options)
    file = TFLiteFile(conversion.data or b"")
    feed = {f"args_{index}": array for index, array in enumerate(case.numbered("in"))}
    feed = {name: feed[name] for name in file.inputs("serving_default")}
    for _ in range(2):
        made = file.run("serving_default", feed)
        for index, expected in enumerate(case.numbered("out")):
            actual = made[f"output_{index}"]
            assert actual.shape == expected.shape and actual.dtype == expected.dtype
            assert_close(actual, expected, atol)
    return Counter(op.type for op in conversion.report.emitted)


def computed(scope: Scope, made: Value, *arrays: np.ndarray) -> np.ndarray:
    """Return what a scope's value is of these inputs, in a file that is made of its graph."""
    graph = scope.graph
    graph.outputs, names = [made], [f"x{index}" for index in range(len(arrays))]
    data = _small_file(Module([Signature(["serving_default"], graph, names, ["y"])]), Registry.builtin())
    return TFLiteFile(data).run("serving_default", dict(zip(names, arrays)))["y"]


def new_scope(*arrays: np.ndarray) -> tuple[Scope, list[Value]]:
    """Return a scope with inputs of the types and shapes of arrays."""
    scope = Scope(Graph("main"), Mock(ModuleImporter))
    return scope, [scope.graph.add_input(of_array(array), array.shape, f"x{at}") for at, array in enumerate(arrays)]


def walk(op: Operation) -> Iterator[Operation]:
    """Yield the ops inside an op, with those of their regions."""
    for region in op.regions:
        for inner in region.ops:
            yield inner
            yield from walk(inner)


def tensor(text: str) -> TensorType:
    """Return the type that is written as `described` writes it: "float32[2,?]"."""
    name, _, sizes = text.removesuffix("]").partition("[")
    return TensorType(BY_NAME[name], tuple(None if size == "?" else int(size) for size in sizes.split(",") if size))


def operation(text: str, regions: Sequence[Region] = (), **attributes: Any) -> Operation:
    """Return an op that is written as "add float32[2] float32[2] -> float32[2]"."""
    left, _, right = text.partition(" ->")
    name, *takes = left.split()
    held = list(attributes.values())
    module = SimpleNamespace(attributes=SimpleNamespace(attribute=lambda index: held[index]), functions={})
    first, second = ([Var(tensor(word)) for word in words] for words in (takes, right.split()))
    places = dict(zip(attributes, range(len(held))))
    held.append("")  # of the location
    return Operation(name, 1, first, second, list(regions), cast(bytecode.Module, module), len(held) - 1, places)


def region(text: str) -> Region:
    """Return a region that is written as what it takes and makes: "float32[] -> bool[]"."""
    end = operation(f"return {text.partition('->')[2]} ->")
    return Region(operation(f"block {text.partition('->')[0]} ->").operands, [end])
