"""A file of MLIR bytecode, as `jax.export` writes it -> `ir` module with one signature."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from fuseconv.errors import InputError
from fuseconv.files import read_file
from fuseconv.ir.graph import Module, Signature
from fuseconv.load.stablehlo.bytecode import MAGIC
from fuseconv.load.stablehlo.importer import ModuleImporter
from fuseconv.load.stablehlo.platforms import index_of_cpu, takes_index

_SIGNATURE = "serving_default"


def is_bytecode(head: bytes) -> bool:
    """Return whether a file begins as MLIR bytecode does."""
    return head.startswith(MAGIC)


def load(path: Path) -> Module:
    """Return the module of a file. Its inputs are named args_0, args_1, ..., its results output_0, output_1, ....

    Raises InputError if the file cannot be read or is no bytecode of StableHLO."""
    try:
        data = read_file(path)
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}.") from None
    if not is_bytecode(data):
        raise InputError(
            f"{path} is no MLIR bytecode; write the bytes of jax.export's `mlir_module_serialized` to it, or those of "
            "`stablehlo.serialize_portable_artifact`."
        )
    return module_of_bytes(data, path.name)


def module_of_bytes(data: bytes, name: str, platforms: Sequence[str] = ()) -> Module:
    """Return the module that bytes hold. name: of the file, for the names of functions and the sentences of errors.
    platforms: the names of those that it is exported for, if they are known."""
    importer = ModuleImporter(data, name)
    takes = takes_index(importer.module, name)
    graph = importer.main(index_of_cpu(importer.module, name, platforms) if takes else None)
    module = Module(has_stablehlo=True)
    module.functions = {other: made for other, made in importer.graphs.items() if made is not graph}
    inputs = [value.name for value in graph.inputs]
    graph.name = _SIGNATURE
    module.signatures.append(
        Signature([_SIGNATURE], graph, inputs, [f"output_{index}" for index in range(len(graph.outputs))])
    )
    return module
