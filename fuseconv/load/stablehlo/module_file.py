"""A file of MLIR bytecode, as `jax.export` writes it -> `ir` module with one signature."""

from __future__ import annotations

from pathlib import Path

from fuseconv.errors import InputError
from fuseconv.files import read_file
from fuseconv.ir.graph import Module, Signature
from fuseconv.load.stablehlo.bytecode import MAGIC
from fuseconv.load.stablehlo.importer import ModuleImporter

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


def module_of_bytes(data: bytes, name: str) -> Module:
    """Return the module that bytes hold. name: of the file, for the names of functions and the sentences of errors."""
    importer = ModuleImporter(data, name)
    graph = importer.main()
    if importer.takes_platform():
        # Without branches for platforms, all of them run the same.
        if graph.inputs[0].uses or graph.inputs[0] in graph.outputs:
            raise InputError(f"{name} is exported for several platforms; export it for one: platforms=['cpu'].")
        del graph.inputs[0]
        for index, value in enumerate(graph.inputs):
            value.name = f"args_{index}"
    module = Module(has_stablehlo=True)
    module.functions = {other: made for other, made in importer.graphs.items() if made is not graph}
    inputs = [value.name for value in graph.inputs]
    graph.name = _SIGNATURE
    module.signatures.append(
        Signature([_SIGNATURE], graph, inputs, [f"output_{index}" for index in range(len(graph.outputs))])
    )
    return module
