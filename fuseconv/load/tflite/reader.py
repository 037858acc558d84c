"""Read a .tflite file, whoever made it, into a module of "tfl" ops. Every byte is untrusted.

What is carried: subgraphs, signatures, tensors with names, types, shapes and scales, options of ops, variables, custom
ops with their options as they stand, metadata. Weights are views of the mapped file. A file without signatures becomes
a module whose signature has no name.

Left out are the description, recorded ranges that no runtime reads (min, max) and places of debug information. The
writer computes anew versions of ops, the oldest runtime and the order of ops with side effects.
"""

from __future__ import annotations

import mmap
import os
from graphlib import CycleError, TopologicalSorter
from typing import Any

from fuseconv.errors import InputError, UnsupportedError
from fuseconv.files import check_tflite, map_tflite
from fuseconv.ir import types
from fuseconv.ir.graph import FuncRef, Graph, Module, Op
from fuseconv.ir.verifier import MalformedError, check
from fuseconv.load.tflite.buffers import Buffers
from fuseconv.load.tflite.model_metadata import read_files
from fuseconv.load.tflite.operators import Operators, refuse_unknown
from fuseconv.load.tflite.signatures import add_signatures
from fuseconv.load.tflite.table_decoder import DamagedError, Decoder, Table
from fuseconv.load.tflite.tensors import Constants, Tensors
from fuseconv.tfl.arena import OFFLINE_PLAN

_VERSION = 3
# The order of ops with side effects; a file that has it says that its custom ops have some.
CONTROL_DEPENDENCIES = "model_control_dependencies"
# Metadata that the writer computes, or that refers to what is not read.
_NOT_CARRIED = frozenset({"min_runtime_version", CONTROL_DEPENDENCIES, "debug_metadata", OFFLINE_PLAN})


def read_tflite(path: str | os.PathLike[str]) -> Module:
    """Read a .tflite file as a module.

    Raises InputError if it cannot be read, is no TFLite model or is damaged, and UnsupportedError for ops that are not
    known."""
    return module_of_bytes(map_tflite(path), os.fspath(path))


def refuse_damaged(path: str | os.PathLike[str]) -> None:
    """Raise InputError for a file that is damaged; none for what is only not read here, such as unknown ops."""
    try:
        read_tflite(path)
    except UnsupportedError:
        pass
    except InputError as error:
        if isinstance(error.__cause__, (DamagedError, MalformedError)):
            raise


def module_of_bytes(data: bytes | mmap.mmap, name: str) -> Module:
    """Return the module of a file's contents. name: of the file, for the sentences of errors."""
    check_tflite(data, name)
    try:
        return _Model(data).module()
    except (DamagedError, MalformedError) as error:
        raise InputError(f"{name} is a damaged TFLite model: {error}") from error


class _Model:
    """The parts of a file that its subgraphs share."""

    def __init__(self, data: Any) -> None:
        decoder = Decoder(data)
        self.root = decoder.root("Model")
        if self.root.number("version") != _VERSION:
            raise InputError(f"the file is of version {self.root.number('version')} of TFLite's format, and not 3")
        for field in ("external_buffer_groups", "external_buffers"):
            if self.root.ints(field):
                raise InputError("the file's weights stand in other files, which are not read: write all as one file")
        self.files = read_files(data)
        self.buffers = Buffers(decoder, self.root.tables("buffers", "Buffer"))
        self.metadata = {
            table.text("name") or "": self.buffers.copy(table.number("buffer"))
            for table in self.root.tables("metadata", "Metadata")
        }
        self.subgraphs = self.root.tables("subgraphs", "SubGraph")
        if not self.subgraphs:
            raise DamagedError("it has no subgraph")
        self.codes = self.root.tables("operator_codes", "OperatorCode")
        self.names = _unique_names(self.subgraphs)

    def module(self) -> Module:
        refuse_unknown(self.codes, self.subgraphs)
        constants: Constants = {}
        graphs, tensors = [], []
        operators = Operators(self.codes, self.names, CONTROL_DEPENDENCIES in self.metadata)
        for name, table in zip(self.names, self.subgraphs):
            found = Tensors(table.tables("tensors", "Tensor"), self.buffers, constants)
            graphs.append(_graph(name, table, found, operators))
            tensors.append(found)
        module = Module()
        module.metadata = {name: data for name, data in self.metadata.items() if name not in _NOT_CARRIED}
        module.files = self.files
        called = operators.called
        try:
            TopologicalSorter(called).prepare()
        except CycleError as error:
            raise DamagedError("a subgraph runs itself") from error
        add_signatures(module, self.root, graphs, tensors, set().union(*called.values()))
        by_name = {graph.name: graph for graph in graphs}
        for graph in graphs:
            for op in graph.ops:
                _hold_to_functions(op, by_name)
        entries = {id(signature.graph) for signature in module.signatures}
        module.functions = {graph.name: graph for graph in graphs if id(graph) not in entries}
        check(module)
        return module


def _hold_to_functions(op: Op, graphs: dict[str, Graph]) -> None:
    """Raise DamagedError unless the subgraphs that an op runs take and make what it gives and makes: LiteRT refuses, or
    ends over, another number of tensors, and takes one type for another."""
    given = [value and value.dtype for value in op.operands[1 if op.type == "IF" else 0 :]]
    made = [value.dtype for value in op.results]
    for key, ref in op.attrs.items():
        if not isinstance(ref, FuncRef):
            continue
        graph = graphs[ref.name]
        returned = [types.BOOL] if key == "cond_subgraph_index" else made
        if [value.dtype for value in graph.inputs] != given or [value.dtype for value in graph.outputs] != returned:
            what = f"takes or returns other tensors than {op.type} ({op.name}), which runs it"
            raise DamagedError(f"the subgraph '{graph.name}' {what}")


def _unique_names(subgraphs: list[Table]) -> list[str]:
    """Return a name for each subgraph: its own, or one with a number where others have it too."""
    names: dict[str, None] = {}
    for index, table in enumerate(subgraphs):
        name = table.text("name") or f"subgraph_{index}"
        while name in names:
            name = f"{name}_{index}"
        names[name] = None
    return list(names)


def _graph(name: str, table: Table, tensors: Tensors, operators: Operators) -> Graph:
    graph = Graph(name)
    graph.inputs = [tensors.given(index) for index in table.ints("inputs")]
    for op in table.tables("operators", "Operator"):
        graph.ops.append(operators.op(op, tensors, graph.name))
    graph.outputs = [tensors.read(index) for index in table.ints("outputs")]
    return graph
