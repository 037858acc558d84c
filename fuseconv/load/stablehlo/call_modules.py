"""XlaCallModule, the op by which JAX's SavedModels run a StableHLO module -> a call of the module's functions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fuseconv.errors import InputError
from fuseconv.ir.graph import FuncRef, Graph, Module, Op
from fuseconv.ir.rewriter import ops_of_kinds
from fuseconv.load.graph_validation import DAMAGED

if TYPE_CHECKING:
    from fuseconv.load.stablehlo import bytecode

_KIND = "tf.XlaCallModule"
# Since this version of the op, `main` takes the number of the platform first if there are several.
_PLATFORM_INDEX = 3
_NEWEST = 10
# What says how XLA runs or checks a call, not what it computes.
_IRRELEVANT = frozenset({"Sout", "disabled_checks", "platforms", "module", "version", "use_shardy_partitioner"})


def import_call_modules(module: Module) -> None:
    """Let each XlaCallModule call the functions of its module, which join those of the IR.

    Raises InputError for a module that is damaged, or is called with other operands than it takes."""
    calls: dict[Op, Graph] = {}
    for graph in list(module.graphs()):
        for op in ops_of_kinds(graph, (_KIND,)):
            _import(op, module)
            calls[op] = graph
    if calls:
        from fuseconv.load.stablehlo.equal_sizes import equate_sizes  # few models hold a module

        equate_sizes(calls, module)


def _import(op: Op, module: Module) -> None:
    from fuseconv.load.stablehlo.importer import ModuleImporter  # few graphs hold a module

    data = op.attrs.get("module")
    if isinstance(data, str):
        data = data.encode("utf-8", "surrogateescape")
    if not isinstance(data, bytes):
        raise InputError(f"the node '{op.name}' holds no module: {DAMAGED}")
    _check(op)
    importer = ModuleImporter(data, op.name, module.functions)
    main = importer.main(_platform(op, importer.module))
    module.functions.update(importer.graphs)
    module.has_stablehlo = True
    takes, makes = ([value.dtype for value in values] for values in (main.inputs, main.outputs))
    if [value and value.dtype for value in op.operands] != takes or [value.dtype for value in op.results] != makes:
        raise InputError(f"the node '{op.name}' calls its module with other types than it takes: {DAMAGED}")
    op.set_kind("tf.PartitionedCall")
    op.attrs = {"f": FuncRef(main.name)}


def _check(op: Op) -> None:
    """Refuse a call whose attributes say that it runs something else than `main`."""
    version = op.attrs.get("version", _NEWEST)
    if not isinstance(version, int) or version > _NEWEST:
        raise InputError(f"the node '{op.name}' is an XlaCallModule of version {version}; up to {_NEWEST} is read.")
    for name, value in op.attrs.items():
        if name not in _IRRELEVANT and value not in (None, False, [], "", b""):
            raise InputError(f"the node '{op.name}' (XlaCallModule) has {name}={value!r}, which is not supported.")


def _platform(op: Op, module: bytecode.Module) -> int | None:
    """Return the number of the CPU, if `main` takes the number of the platform that it is to run on."""
    platforms = op.attrs.get("platforms") or []
    version, takes = op.attrs.get("version", _NEWEST), len(module.functions["main"].regions[0].arguments)
    if len(platforms) < 2 or version < _PLATFORM_INDEX or takes != len(op.operands) + 1:
        return None
    from fuseconv.load.stablehlo.platforms import index_of_cpu

    names = [name.decode() if isinstance(name, bytes) else f"{name}" for name in platforms]
    return index_of_cpu(module, op.name, names)
