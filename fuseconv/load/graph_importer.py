"""Graph importer: GraphDef and FunctionDef -> `ir` graphs.

A node becomes an op of kind "tf.<its op>", a Const a constant value. Only what the outputs need is built, through data
and control edges, in an order in which it can run that stays as close to the file's as it may be.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from fuseconv.errors import InputError
from fuseconv.ir import budget, dims, types
from fuseconv.ir.graph import STATEFUL, FuncRef, Graph, Op, Value, constant
from fuseconv.ir.types import DType
from fuseconv.load import attrs, graph_validation
from fuseconv.load.annotation import KEYS, annotation
from fuseconv.load.function_library import FunctionLibrary
from fuseconv.load.node_table import Nodes, Ref, function_ref, graph_ref
from fuseconv.load.op_defs import Arg, OpDef, OpDefs, Outputs, is_custom
from fuseconv.tf import traits

CALLS = traits.node_ops(traits.CALLS)
_MERGES = frozenset({"Merge", "RefMerge"})
_NEXT_ITERATIONS = frozenset({"NextIteration", "RefNextIteration"})
# Attributes of bytes, such as serialized messages. Any other string is text, and read as such.
_BINARY = frozenset({
    "backend_config", "config", "config_proto", "delimiter", "descriptor_source", "dim_args_spec",
    "dimension_numbers", "element_spec", "embedding_config", "fill", "hbm_buffers_config", "key", "message",
    "metadata", "mlir_module", "module", "optimization_configs", "placeholder", "precision_config",
    "serialized_options", "sharding", "shared_name", "string_val", "token", "topology", "tpu_compile_options_proto",
    "tpu_embedding_config", "tpu_topology",
})  # fmt: skip
_ANNOTATION = "_implements"
_DAMAGED = graph_validation.DAMAGED
# What an op that nobody knows may say about its results, in the order of trust.
_RESULT_TYPES = ("_output_types", "Tout", "T", "dtype")


class Importer:
    """Build graphs from the nodes of one model.

    library: its FunctionDefs, or their bytes. `functions` are the graphs of those that something built here refers to,
    as soon as `build_functions` ran."""

    def __init__(self, library: Iterable[Any], op_defs: OpDefs) -> None:
        self.op_defs = op_defs
        self.library = FunctionLibrary(library)
        self.functions: dict[str, Graph] = {}
        self._callees: dict[str, graph_validation.Callee] = {}
        self._wanted: list[str] = []

    def build_functions(self) -> None:
        """Build all functions that are reachable from the graphs built so far."""
        while self._wanted:
            name = self._wanted.pop()
            if name not in self.functions:
                self.functions[name] = self._function(name)

    def build_graph(
        self, name: str, nodes: Nodes, inputs: Mapping[str, Value], outputs: Sequence[str], run: Sequence[str] = ()
    ) -> Graph:
        """Build a graph of a GraphDef's nodes.

        inputs: the values that stand for the tensors "node:index". outputs: the same way. run: names of nodes that must
        run though no output needs them."""
        graph = Graph(name)
        graph.inputs = list(inputs.values())
        _Builder(self, nodes, graph, dict(inputs), graph_ref).build(outputs, run)
        return graph

    def types(self, node: Any, kind: str) -> tuple[list[DType], Outputs] | None:
        """Return the types of the operands of a node of this kind, and its outputs by name, each with the types of its
        tensors, by its op's definition and its attributes. None if nobody knows the op.

        Raises InputError for attributes that its definition does not allow."""
        if kind in self.library:
            function = self.callee(kind)
            names = [arg.name for arg in self.library[kind].signature.output_arg]
            return function.takes, [(name, [dtype]) for name, dtype in zip(names, function.returns)]
        op_def = self.op_defs.get(kind)
        if op_def is None:
            return None
        held = node.attr
        key = tuple([graph_validation.raw(held, name, attr_type) for name, attr_type in op_def.typing])
        found = op_def.known_types.get(key)
        if found is None:
            for name, attr_type in op_def.typing:
                graph_validation.attribute(_stated(name, attr_type, node, op_def), name, node, op_def)
            takes = [dtype for arg in op_def.inputs for dtype in _arg_types(arg, node, op_def)]
            found = takes, [(arg.name, _arg_types(arg, node, op_def)) for arg in op_def.outputs]
            op_def.remember_types(key, found)
        return found

    def callee(self, name: str) -> graph_validation.Callee:
        """Return the types of the arguments and results of a function."""
        found = self._callees.get(name)
        if found is None:
            signature = self.library[name].signature
            if any(arg.number_attr or arg.type_list_attr or arg.type_attr for arg in signature.input_arg):
                raise InputError(f"the function '{name}' has arguments of no certain type; it cannot be converted.")
            takes, returns = ([attrs.dtype(arg.type) for arg in a] for a in (signature.input_arg, signature.output_arg))
            found = self._callees[name] = graph_validation.Callee(takes, returns)
        return found

    def output_types(self, node: Any) -> Outputs | None:
        """Return the outputs of a node by name, each with the types of its tensors; None if the op has no known
        definition."""
        found = self.types(node, node.op)
        return None if found is None else found[1]

    def tensor_type(self, nodes: Nodes, ref: str) -> DType:
        """Return the type of the tensor "node:index" of a GraphDef. Raises InputError if there is no such tensor."""
        name, _, index = graph_ref(ref)
        if name not in nodes:
            raise InputError(f"'{ref}' is no tensor of the model: it has no node '{name}'.")
        dtypes = [dtype for _, dtypes in self.output_types(nodes.by_name[name]) or [] for dtype in dtypes]
        if index >= len(dtypes):
            raise InputError(f"'{ref}' is no tensor of the model: '{name}' is known to have {len(dtypes)} results.")
        return dtypes[index]

    def want(self, ref: FuncRef, node: str) -> None:
        """Let `build_functions` build a function that a node refers to. Raises InputError if the model lacks it."""
        if ref.name not in self.library:
            raise InputError(f"the node '{node}' calls the function '{ref.name}', which the model does not contain.")
        self._wanted.append(ref.name)

    def _function(self, name: str) -> Graph:
        """Return the graph of a function of the library: FunctionDef -> Graph, with its annotation."""
        proto = self.library[name]
        signature = proto.signature
        self.callee(name)
        # As of nodes, what else begins with an underscore tells where and how TensorFlow runs it.
        named = [item for item in attrs.sorted_items(proto.attr) if item[0] not in KEYS and item[0][:1] != "_"]
        graph = Graph(name, {key: attrs.attr(value) for key, value in named})
        implemented = annotation(proto.attr)
        if implemented is not None:
            graph.attrs[_ANNOTATION] = implemented
        nodes = Nodes(proto.node_def)
        feeds: dict[str, Value] = {}
        arg_attr = proto.arg_attr
        for index, arg in enumerate(signature.input_arg):
            value = _function_input(graph, arg_attr.get(index), arg)
            feeds[f"{value.name}:0"] = value
        graph_validation.function_header(proto, nodes.by_name)
        results = dict(proto.ret)
        outputs = [results.get(arg.name, "") for arg in signature.output_arg]
        if "" in outputs:
            raise InputError(f"the function '{name}' does not say what it returns: {_DAMAGED}")
        run = list(proto.control_ret.values())
        if not run and signature.is_stateful:
            # Functions older than control outputs run all that has an effect.
            run = [node for node in nodes.by_name if self._stateful(nodes.op(node))]
        _Builder(self, nodes, graph, feeds, function_ref).build(outputs, run)
        graph_validation.function_results(graph, proto)
        return graph

    def _stateful(self, op: str) -> bool:
        if op in self.library:
            return self.library[op].signature.is_stateful
        op_def = self.op_defs.get(op)
        return op_def is not None and op_def.stateful


def _function_input(graph: Graph, arg_attrs: Any, arg: Any) -> Value:
    """Add the input of a graph for an argument of its FunctionDef. arg_attrs: the ArgAttrs that this has; None if the
    function says nothing of it."""
    said = arg_attrs.attr.get("_output_shapes") if arg_attrs is not None else None
    shapes = said.list.shape[:1] if said is not None else []
    shape = attrs.shape(shapes[0]) if shapes else None
    name = arg.name
    return graph.add_input(attrs.dtype(arg.type), symbolic(shape, f"{graph.name}/{name}"), name)


def symbolic(shape: tuple[int | None, ...] | None, name: str) -> dims.Shape | None:
    """Return a shape with each unknown dimension a symbol of its own, `name.axis`."""
    if shape is None or None not in shape:
        return shape  # type: ignore[return-value]
    return tuple(dims.symbol(f"{name}.{axis}") if dim is None else dim for axis, dim in enumerate(shape))


class _Builder:
    """Build one graph. `feeds` are the values that stand for tensors, by reference."""

    def __init__(
        self, importer: Importer, nodes: Nodes, graph: Graph, feeds: dict[str, Value], parse: Callable[[str], Ref]
    ) -> None:
        self.importer = importer
        self.nodes = nodes
        self.graph = graph
        self.parse = parse
        self.feeds = feeds | {ref[:-2]: value for ref, value in feeds.items() if ref.endswith(":0")}
        self.results: dict[str, list[Value]] = {}
        self.starts: dict[str, dict[str, int]] = {}
        self.outputs: Sequence[str] = ()
        self.readers: dict[str, dict[str, int]] | None = None
        # What each op must be given (None: nobody knows), and the ops that run functions.
        self.takes: list[list[DType] | None] = []
        self.calls: list[Op] = []

    def build(self, outputs: Sequence[str], run: Sequence[str]) -> None:
        """Build the ops that the outputs need, and the nodes to run besides. outputs: references of tensors; run: names
        of nodes. Raises InputError for operands of other types than an op's definition takes."""
        self.outputs = outputs
        roots = [self.parse(ref)[0] for ref in outputs if ref not in self.feeds]
        reached = self._reach((*roots, *run))
        ops, operands = [], []
        read = self.nodes.read
        for name in self._order(reached):
            kind, data, _ = read(name)
            if kind == "Const":
                self.results[name] = [self._constant(name)]
            else:
                ops.append(self._add(name, kind, reached))
                operands.append(data)
        for op, data, takes in zip(ops, operands, self.takes):
            op.set_operands([self._value(ref, op.name) for ref in data])
            if takes is not None and [value.dtype for value in op.operands] != takes:  # type: ignore[union-attr]
                graph_validation.operands(op, takes)
        for op in self.calls:
            graph_validation.call(op, self.importer.callee)
        self.graph.ops = self._gated(ops) if "tf.Switch" in {op.kind for op in ops} else ops
        self.graph.outputs = [self._value(ref, self.graph.name) for ref in outputs]

    def _gated(self, ops: list[Op]) -> list[Op]:
        """Return the ops of a graph with TF1 branches, which place constants by control edges alone, with these
        constants behind a Switch like all other values that a branch reads."""
        placed: list[Op] = []
        for op in ops:
            for index, ref in enumerate(self.nodes.inputs(op.name)[0]):
                value = op.operands[index]
                if value is None or not value.is_const:
                    continue
                side = self._side(self.parse(ref)[0]) or self._side(op.name)
                if side is not None:
                    gate = Op("tf.Switch", [value, side.op.operands[1]], {}, value.name)  # type: ignore[union-attr]
                    results = [gate.add_result(value.dtype, None) for _ in range(2)]
                    op.set_operand(index, results[side.index])
                    placed.append(gate)
            placed.append(op)
        return placed

    def _side(self, name: str) -> Value | None:
        """Return the result of a Switch that a node waits for: the side of the branch that the node is on."""
        for pivot in self.nodes.inputs(name)[1] if name in self.nodes else ():
            if pivot in self.nodes and self.nodes.op(pivot) == "Identity":
                value = self._value(self.nodes.inputs(pivot)[0][0], pivot)
                condition = value.op.operands[1] if value.op is not None and value.op.kind == "tf.Switch" else None
                if condition is not None and not (condition.op is not None and condition.op.kind == "tf.LoopCond"):
                    return value
        return None

    def _reach(self, roots: Iterable[str]) -> dict[str, list[str]]:
        """Return the nodes that the roots need, each with the nodes that come before it."""
        nodes, feeds, by_name = self.nodes, self.feeds, self.nodes.by_name
        reached: dict[str, list[str]] = {}
        stack = list(roots)
        while stack:
            name = stack.pop()
            if name in reached:
                continue
            if name not in by_name:
                raise InputError(f"'{self.graph.name}' reads the node '{name}', which the model does not contain.")
            kind, data, control = nodes.read(name)
            before = [ref.partition(":")[0] for ref in data if ref not in feeds]
            before += [node for node in control if node not in feeds]
            stack += before
            if kind in _MERGES:
                # The back edge of a loop of TF1: what it brings is made after the merge ran.
                before = [node for node in before if node not in nodes or nodes.op(node) not in _NEXT_ITERATIONS]
            reached[name] = before
        return reached

    def _order(self, reached: Mapping[str, list[str]]) -> list[str]:
        """Sort the reached nodes: each stands after those that it needs, else in the file's order."""
        order: dict[str, None] = {}
        entered: set[str] = set()
        for root in self.nodes.by_name:
            if root not in reached or root in order:
                continue
            if all(map(order.__contains__, reached[root])):  # as in most files
                order[root] = None
                continue
            stack = [root]
            while stack:
                name = stack[-1]
                missing = [before for before in reached[name] if before not in order]
                if not missing or name in order:
                    order[stack.pop()] = None
                    continue
                entered.add(name)
                for before in missing:
                    if before in entered:
                        raise InputError(f"the nodes of '{self.graph.name}' form a cycle through '{before}'.")
                stack += reversed(missing)
        return list(order)

    def _constant(self, name: str) -> Value:
        known = self.nodes.constants.get(name)
        if known is None:
            node = self.nodes.by_name[name]
            proto = node.attr["value"].tensor
            stated = node.attr.get("dtype")
            if (stated is not None and stated.type != proto.dtype) or self.nodes.read(name)[1]:
                raise InputError(f"the constant '{name}' is of another type than its value, or reads one: {_DAMAGED}")
            known = constant(attrs.tensor(proto, name), attrs.dtype(proto.dtype), name)
            self.nodes.constants[name] = known
        return known

    def _add(self, name: str, kind: str, reached: Mapping[str, list[str]]) -> Op:
        """Make the op of a node, without operands yet; a node whose op is a function of the library becomes a call of
        it."""
        node = self.nodes.by_name[name]
        if kind in self.importer.library:
            op = Op("tf.PartitionedCall", (), {"f": FuncRef(kind)}, name, (name,))
        else:
            op = Op(f"tf.{kind}", (), self._attrs(node, self.importer.op_defs.get(kind)), name, (name,))
        self._add_results(op, node, kind, reached)
        runs = False
        for key, value in op.attrs.items():
            if value.__class__ is not list and value.__class__ is not FuncRef:
                continue
            for item in value if isinstance(value, list) else (value,):
                if isinstance(item, FuncRef) and key != _ANNOTATION:
                    self.importer.want(item, name)
                    runs = True
        if runs:
            self.calls.append(op)
        return op

    def _attrs(self, node: Any, op_def: OpDef | None) -> dict[str, Any]:
        """Return the attributes of a node that its results may depend on. Left out are types and counts, which operands
        and results tell, where the node is to run, and defaults. Raises InputError for one that is missing, of another
        type, or that the definition does not allow."""
        if op_def is None:
            return {key: attrs.attr(value) for key, value in attrs.sorted_items(node.attr) if not key.startswith("_")}
        found: dict[str, Any] = {}
        left_out, defaults = op_def.left_out, op_def.defaults
        held = node.attr
        # Most attributes are left out; what they hold is not looked at.
        for key in sorted(set(held).difference(left_out)):
            if key[:1] == "_" and key != _ANNOTATION:
                continue
            attr_type = op_def.attr_types.get(key, "")
            decoded = attrs.attr(held[key], attr_type)
            if attr_type and not attrs.is_a(decoded, attr_type):
                raise InputError(f"the attribute '{key}' of the node '{node.name}' is no {attr_type}: {_DAMAGED}")
            if type(decoded) is bytes and key not in _BINARY and not is_custom(op_def.name):
                raise InputError(f"the attribute '{key}' of the node '{node.name}' is no text of UTF-8: {_DAMAGED}")
            if key in op_def.allowed or key in op_def.least:
                graph_validation.attribute(decoded, key, node, op_def)
            if key not in defaults or not _same(decoded, defaults[key]):
                found[key] = decoded
        if op_def.stateful and is_custom(op_def.name):
            found[STATEFUL] = True
        if not op_def.required.issubset(found):
            missing = op_def.required.difference(found)
            raise InputError(f"the node '{node.name}' ({node.op}) lacks '{', '.join(sorted(missing))}': {_DAMAGED}")
        return found

    def _add_results(self, op: Op, node: Any, kind: str, reached: Mapping[str, list[str]]) -> None:
        """Add the results of an op, by its definition or, of an op that nobody knows, by what its readers ask for."""
        types = self.importer.types(node, kind)
        self.takes.append(None if types is None else types[0])
        outputs = self._guessed_types(node, reached) if types is None else types[1]
        self.results[op.name] = op.results
        if len(outputs) == 1 and len(outputs[0][1]) == 1:
            op.add_result(outputs[0][1][0], None)
            return
        starts = self.starts[op.name] = {}
        for output, dtypes in outputs:
            if len(dtypes) > 1:  # else the node's own bytes stand for it
                budget.spend_results(len(dtypes), op.name)
            starts[output] = len(op.results)
            for dtype in dtypes:
                op.add_result(dtype, None)

    def _guessed_types(self, node: Any, reached: Mapping[str, list[str]]) -> list[tuple[str, list[DType]]]:
        """Return the outputs of an op without a known definition: those with readers."""
        if not node.op:
            raise InputError(f"the node '{node.name}' names no operation: {_DAMAGED}")
        if self.readers is None:
            self.readers = {}
            refs = (ref for reader in reached for ref in self.nodes.inputs(reader)[0])
            for name, output, index in map(self.parse, itertools.chain(refs, self.outputs)):
                counts = self.readers.setdefault(name, {})
                counts[output] = max(counts.get(output, 0), index + 1)
        counts = self.readers.get(node.name, {})
        said = (_dtypes(attrs.attr(node.attr[key])) for key in _RESULT_TYPES if key in node.attr)
        listed = next(filter(None, said), [types.VARIANT])
        budget.require_results(sum(counts.values()), node.name)
        last = listed[-1]
        if len(counts) == 1 and len(listed) > 1:
            counts = {output: max(count, len(listed)) for output, count in counts.items()}
        every = iter(listed)
        return [(output, [next(every, last) for _ in range(count)]) for output, count in counts.items()]

    def _value(self, ref: str, reader: str) -> Value:
        fed = self.feeds.get(ref)
        if fed is not None:
            return fed
        name, output, index = self.parse(ref)
        results = self.results[name]
        if output and name in self.starts:
            index += self.starts[name].get(output, len(results))  # beyond the last: no such output
        if index >= len(results):
            raise InputError(f"'{reader}' reads '{ref}', but '{name}' has {len(results)} results: {_DAMAGED}")
        return results[index]


def _arg_types(arg: Arg, node: Any, op_def: OpDef) -> list[DType]:
    if arg.list_attr:
        return _stated(arg.list_attr, "list(type)", node, op_def)
    dtype = arg.dtype or _stated(arg.type_attr, "type", node, op_def)
    if not arg.number_attr:
        return [dtype]
    count = _stated(arg.number_attr, "int", node, op_def)
    budget.require_results(count, node.name)
    return [dtype] * count


def _dtypes(value: Any) -> list[DType]:
    items = value if isinstance(value, list) else [value]
    return items if all(isinstance(item, DType) for item in items) else []


def _stated(key: str, attr_type: str, node: Any, op_def: OpDef) -> Any:
    held = node.attr.get(key)
    value = attrs.attr(held, attr_type) if held is not None else op_def.defaults.get(key)
    if not attrs.is_a(value, attr_type):
        raise InputError(f"the node '{node.name}' ({node.op}) lacks its attribute '{key}': {_DAMAGED}")
    return value


def _same(a: Any, b: Any) -> bool:
    return type(a) is type(b) and not hasattr(a, "__array__") and a == b
