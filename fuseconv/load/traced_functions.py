"""Functions that TensorFlow traced in this process -> `ir` module, without a way over the disk.

What a function captures - variables, lookup tables, tensors - becomes a handle op or constant of the main graph, as in
the graph of a SavedModel. It has the contents of this moment.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from fuseconv.errors import InputError
from fuseconv.ir.graph import Module, Signature, Table, Value, Variable, constant
from fuseconv.ir.types import DType
from fuseconv.load import attrs, protos
from fuseconv.load.graph_importer import Importer, symbolic
from fuseconv.load.node_table import Nodes
from fuseconv.load.op_defs import OpDefs, is_custom
from fuseconv.load.signature_equivalence import SignatureComparison
from fuseconv.load.unique_names import unique
from fuseconv.process import native_logs_muted
from fuseconv.tf.traits import TABLES, VARIABLES

SIGNATURE = "serving_default"
# What inputs and outputs may not be.
NOT_DENSE = (
    "sparse, ragged or no tensor, of which TFLite has none; let it take and return dense tensors (to_tensor, "
    "tf.sparse.to_dense), or the parts of such a one (values and row_splits; indices, values and dense_shape)"
)


@dataclass(frozen=True)
class Traced:
    """A model, or a signature of one, as a graph of TensorFlow's.

    function: a ConcreteFunction. inputs, outputs: names for the tensors that it takes and returns, in the order of
    tf.nest. model: what must live as long as the function, since that refers to its variables weakly. notes: what the
    user should know of the loading."""

    function: Any
    inputs: list[str]
    outputs: list[str]
    model: Any = None
    notes: tuple[str, ...] = ()

    @cached_property
    def graph_def(self) -> Any:
        """Return the graph, and the functions that it calls."""
        return protos.classes["GraphDef"].FromString(self.function.graph.as_graph_def().SerializeToString())


def traced(function: Any, model: Any = None) -> Traced:
    """Return a ConcreteFunction with the names that its SavedModel would give to its tensors: those of its arguments,
    the keys of a dict of outputs, "output_0" and so on for others.

    Raises InputError if it takes or returns something else than dense tensors."""
    import tensorflow as tf

    function_name = f"the function {function.name.decode() if isinstance(function.name, bytes) else function.name}"
    specs = [leaf for leaf in tf.nest.flatten(function.structured_input_signature) if isinstance(leaf, tf.TypeSpec)]
    results = [(path, leaf) for path, leaf in _leaves(function.structured_outputs) if leaf is not None]
    for kind, leaves in (("an input", specs), ("an output", [leaf for _, leaf in results])):
        if any(not isinstance(leaf, (tf.TensorSpec, tf.Tensor)) for leaf in leaves):
            raise InputError(f"{kind} of {function_name} is {NOT_DENSE}")
    inputs = [spec.name for spec in specs]
    if not all(inputs) or len(set(inputs)) < len(inputs):
        inputs = [f"input_{index}" for index in range(len(inputs))]
    outputs = ["_".join(path) or "0" for path, _ in results]
    if len(outputs) != len(function.outputs):
        outputs = [str(index) for index in range(len(function.outputs))]
    if not outputs:
        raise InputError(f"{function_name} returns no tensor; it cannot be converted")
    return Traced(function, inputs, [f"output_{name}" if name[0].isdigit() else name for name in outputs], model)


def _leaves(value: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Yield the leaves of what a function returns in the order of tf.nest, each with its path."""
    if isinstance(value, Mapping):
        items = [(str(key), value[key]) for key in sorted(value)]
    elif isinstance(value, (list, tuple)):
        items = list(zip(getattr(value, "_fields", map(str, itertools.count())), value))
    else:
        yield path, value
        return
    for name, item in items:
        yield from _leaves(item, (*path, name))


def size(functions: Mapping[str, Traced]) -> int:
    """Return the bytes that functions take: of their graphs, and of the variables in these."""
    distinct = {id(item.function): item for item in functions.values()}.values()
    variables = {id(variable): variable for item in distinct for variable in item.function.graph.variables}
    known = [variable for variable in variables.values() if variable.shape.is_fully_defined()]
    held = sum(variable.dtype.size * variable.shape.num_elements() for variable in known)
    return held + sum(item.graph_def.ByteSize() for item in distinct)


def load(functions: Mapping[str, Traced]) -> Module:
    """Load functions as a module, each the signature of this name. Raises InputError for what TFLite cannot hold, such
    as a dataset that a function captures."""
    library = {proto.signature.name: proto for item in functions.values() for proto in item.graph_def.library.function}
    comparison = SignatureComparison(Nodes(()), library)
    distinct: list[tuple[Traced, list[str]]] = []
    for name, item in functions.items():
        names = next((names for known, names in distinct if _same(known, item, comparison)), None)
        if names is None:
            distinct.append((item, [name]))
        else:
            names.append(name)
    importer = _Functions([item for item, _ in distinct])
    for item, names in distinct:
        importer.add(names, item)
    return importer.finish()


def _same(one: Traced, other: Traced, comparison: SignatureComparison) -> bool:
    """Return whether two functions have the same names for what they take and return, and compute the same."""
    if (one.inputs, one.outputs) != (other.inputs, other.outputs):
        return False
    f, g = one.function, other.function
    if f is g:
        return True
    if [id(capture) for capture in f.captured_inputs] != [id(capture) for capture in g.captured_inputs]:
        return False
    # What is captured has a number for its name, which is another one in each trace.
    renamed = {p.op.name: q.op.name for p, q in zip(f.inputs, g.inputs, strict=True)}
    return _ends(f, renamed) == _ends(g, {}) and comparison.same_nodes(
        one.graph_def.node, other.graph_def.node, renamed
    )


def _ends(function: Any, renamed: Mapping[str, str]) -> tuple[list[tuple[str, int]], list[str]]:
    """Return the tensors that a function returns and the ops that it runs besides, by names of nodes."""
    returned = [(renamed.get(tensor.op.name, tensor.op.name), tensor.value_index) for tensor in function.outputs]
    return returned, [op.name for op in function.graph.control_outputs]


class _Functions:
    """Import functions into one module; `names` are those of variables and tables, by the identity of their handles,
    and `captured` those of the nodes that stand for what is captured."""

    def __init__(self, distinct: Sequence[Traced]) -> None:
        # Each graph has names of its own.
        self.prefixed = len(distinct) > 1
        library = itertools.chain.from_iterable(item.graph_def.library.function for item in distinct)
        self.importer = Importer(library, OpDefs(_op_list(distinct)))
        self.module = Module()
        self.names: dict[int, str] = {}
        self.captured: set[str] = set()

    def add(self, names: list[str], item: Traced) -> None:
        """Add a function as the signature of these names."""
        self.module.signatures.append(self._signature(names, item))

    def finish(self) -> Module:
        """Build the functions that the signatures call, and return the module."""
        self.importer.build_functions()
        self.module.functions = self.importer.functions
        self.module.attributes = self.importer.op_defs.attributes
        self._refuse_inner_handles()
        return self.module

    def _refuse_inner_handles(self) -> None:
        """Refuse a variable or table that a function makes itself, as those of a SavedModel of TF1 do that TensorFlow
        has loaded: what it holds, TensorFlow keeps to itself."""
        outer = {op for signature in self.module.signatures for op in signature.graph.ops if op.name in self.captured}
        for graph in self.module.graphs():
            for op in graph.ops:
                if op.kind in VARIABLES | TABLES and op not in outer:
                    kind = "table" if op.kind in TABLES else "variable"
                    raise InputError(
                        f"the function makes the {kind} '{op.name}' itself, and what it holds cannot be read. Make it "
                        "outside the function, or convert the directory that the model was loaded from."
                    )

    def _signature(self, names: list[str], item: Traced) -> Signature:
        """Build the graph of a traced function, whose inputs and outputs have the names that it was traced with."""
        function, name = item.function, names[0]
        prefix = f"{name}/" if self.prefixed else ""
        nodes = Nodes(_with_prefix(item.graph_def.node, prefix))
        arguments = function.inputs[: len(item.inputs)]
        placeholders = function.inputs[len(arguments) :]
        self._bind(function, zip(placeholders, function.captured_inputs, strict=True), prefix, nodes)
        inputs: dict[str, Value] = {}
        for key, tensor in zip(item.inputs, arguments, strict=True):
            shape = None if tensor.shape.rank is None else tuple(tensor.shape.as_list())
            inputs[prefix + tensor.name] = Value(_dtype(tensor), symbolic(shape, key), key)
        outputs = [prefix + tensor.name for tensor in function.outputs]
        run = [prefix + op.name for op in function.graph.control_outputs]
        graph_name = f"{name} (signature)" if name in self.importer.library else name
        graph = self.importer.build_graph(graph_name, nodes, inputs, outputs, run)
        return Signature(names, graph, list(item.inputs), list(item.outputs))

    def _bind(self, function: Any, captures: Iterable[tuple[Any, Any]], prefix: str, nodes: Nodes) -> None:
        """Turn the node of each (placeholder, captured tensor) into the node of a saved graph: a variable, table or
        constant."""
        import tensorflow as tf

        variables = {id(variable.handle): variable for variable in function.graph.variables}
        for placeholder, capture in captures:
            node = nodes.by_name[prefix + placeholder.op.name]
            node.attr.clear()
            self.captured.add(node.name)
            if id(capture) in variables:
                self._bind_variable(capture, variables[id(capture)], node)
            elif capture.dtype == tf.resource:
                self._bind_table(capture, node)
            elif capture.dtype != tf.variant and hasattr(capture, "numpy"):
                node.op = "Const"
                value = capture.numpy()
                nodes.constants[node.name] = constant(value, _dtype(capture), node.name)
            else:
                raise InputError(f"the model reads '{node.name}', a {capture.dtype.name} that cannot be converted.")

    def _bind_variable(self, handle: Any, variable: Any, node: Any) -> None:
        """Turn a node into the handle of a variable, with the value that it holds now."""
        dtype = _dtype(variable)
        if id(handle) not in self.names:
            name = self._new(handle, variable.name.partition(":")[0], self.module.variables)
            shape = None if variable.shape.rank is None else tuple(variable.shape.as_list())
            self.module.variables[name] = Variable(name, dtype, symbolic(shape, name), variable.numpy())
        node.op = "VarHandleOp"
        node.attr["dtype"].type = dtype.tf
        variable_shape = variable.shape.as_proto()
        node.attr["shape"].shape.ParseFromString(variable_shape.SerializeToString())
        node.attr["shape"].shape.SetInParent()
        node.attr["shared_name"].s = self.names[id(handle)].encode()

    def _bind_table(self, handle: Any, node: Any) -> None:
        """Turn a node into the handle of a table, with what it holds now. Raises InputError for any other resource."""
        if id(handle) not in self.names:
            types = _table_types(handle)
            if types is None:
                raise InputError(f"the model reads '{node.name}', a resource that is no variable and no table.")
            keys, values = _exported(handle, types)
            name = self._new(handle, "table", self.module.tables)
            self.module.tables[name] = Table(name, _dtype(keys), _dtype(values), keys.numpy(), values.numpy())
        name = self.names[id(handle)]
        table = self.module.tables[name]
        node.op = "HashTableV2"
        node.attr["key_dtype"].type = table.key_dtype.tf
        node.attr["value_dtype"].type = table.value_dtype.tf
        node.attr["shared_name"].s = name.encode()

    def _new(self, handle: Any, name: str, taken: Mapping[str, Any]) -> str:
        """Return a name for what a handle stands for, which nothing else of its kind has."""
        found = self.names[id(handle)] = unique([*taken, name or "resource"])[-1]
        return found


def _table_types(handle: Any) -> tuple[Any, Any] | None:
    """Return the types of a table's keys and values; None if the handle is of something else.

    The handle does not tell them, and to export a table by wrong ones ends the process, but a lookup of no keys is
    refused."""
    import tensorflow as tf

    kinds = (tf.int64, tf.string, tf.int32, tf.float32, tf.float64, tf.bool)
    for pair in ((tf.string, tf.int64), (tf.int64, tf.string), *itertools.product(kinds[:3], kinds)):
        try:
            with native_logs_muted():
                tf.raw_ops.LookupTableFindV2(
                    table_handle=handle, keys=tf.zeros([0], pair[0]), default_value=tf.zeros([], pair[1])
                )
        except (tf.errors.InvalidArgumentError, tf.errors.NotFoundError):
            continue
        except tf.errors.FailedPreconditionError as error:
            raise InputError(f"the model reads a table that nothing has filled yet: {error.message}") from None
        return pair
    return None


def _exported(handle: Any, types: tuple[Any, Any]) -> tuple[Any, Any]:
    import tensorflow as tf

    try:
        exported = tf.raw_ops.LookupTableExportV2(table_handle=handle, Tkeys=types[0], Tvalues=types[1])
    except tf.errors.OpError as error:
        raise InputError(f"the model reads a table whose content TensorFlow does not tell: {error.message}") from None
    return exported.keys, exported.values


def _with_prefix(nodes: Iterable[Any], prefix: str) -> list[Any]:
    """Return copies of nodes, with a prefix before their names and before those that they read."""
    copies = []
    for node in nodes:
        copy = protos.classes["NodeDef"]()
        copy.CopyFrom(node)
        copy.name = prefix + node.name
        if prefix:
            copy.input[:] = [f"^{prefix}{ref[1:]}" if ref.startswith("^") else prefix + ref for ref in node.input]
        copies.append(copy)
    return copies


def _op_list(functions: Iterable[Traced]) -> Any:
    """Return the definitions of ops that are not TensorFlow's own, as the libraries registered them which have them."""
    found = protos.classes["OpList"]()
    named: set[str] = set()
    for item in functions:
        inner = {function.signature.name for function in item.graph_def.library.function}
        every = [item.graph_def.node, *(function.node_def for function in item.graph_def.library.function)]
        custom = {node.op for nodes in every for node in nodes if is_custom(node.op)} - inner - named
        for name in sorted(custom):
            found.op.add().ParseFromString(item.function.graph.op_def_for_type(name).SerializeToString())
        named |= custom
    return found


def _dtype(tensor: Any) -> DType:
    return attrs.dtype(tensor.dtype.as_datatype_enum)
