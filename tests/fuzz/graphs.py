"""Damage to the meaning of a graph: operands, types, attributes, constants, functions, signatures that disagree."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

import numpy as np

from tests.fuzz.messages import Model, all_nodes, graph_of

INTS = (-(2**63), -(2**31), -2, -1, 0, 1, 2, 3, 5, 127, 1000, 2**31 - 1, 2**31, 2**32, 2**40, 2**63 - 1)
# Numbers of types: the ordinary ones, then resource, variant, quantized ones, references, none, unknown ones.
TYPES = (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 14, 17, 19, 22, 23, 20, 21, 11, 12, 13, 15, 16, 101, 103, 0, 99)
_STRINGS = (b"", b"SAME", b"VALID", b"EXPLICIT", b"NCHW", b"NCDHW", b"ij,jk->ik", b"...,...", b"\xff", b"x" * 999)
_REFERENCES = ("", "nothing:0", "x:y", ":")
_CALLS = ("PartitionedCall", "StatefulPartitionedCall")


def mutate(rng: Random, model: Model) -> None:
    """Makes one to three changes that a broken or hostile exporter could."""
    graph = graph_of(model)
    for _ in range(min(3, 1 + int(rng.expovariate(1.2)))):
        change = rng.choice(_CHANGES)
        if change in (_signature_type, _signature_shape, _signature_name):
            if hasattr(model, "meta_graphs"):
                change(rng, model.meta_graphs[0])
        elif all_nodes(graph):
            change(rng, graph)


def resize(rng: Random, model: Model) -> None:
    """Gives a dimension or two of the inputs another size, most often none, and leaves the rest of the graph to
    find out what that means: ops whose operands no longer fit, and tensors without elements.

    What TensorFlow noted of shapes is dropped, so that nothing contradicts the new size but the ops themselves."""
    graph = graph_of(model)
    inputs = [node for node in graph.node if node.op == "Placeholder" and node.attr["shape"].shape.dim]
    dims = [(node.name, axis) for node in inputs for axis in range(len(node.attr["shape"].shape.dim))]
    nodes = {node.name: node for node in inputs}
    signatures = model.meta_graphs[0].signature_def.values() if hasattr(model, "meta_graphs") else ()
    infos = [info for signature in signatures for info in signature.inputs.values()]
    for name, axis in rng.sample(dims, min(len(dims), rng.choice((1, 1, 2)))):
        size = rng.choice((0, 0, 0, 1, 2, 3, 5, 7, -1))
        nodes[name].attr["shape"].shape.dim[axis].size = size
        for info in infos:
            if info.name.partition(":")[0] == name and axis < len(info.tensor_shape.dim):
                info.tensor_shape.dim[axis].size = size
    for function in graph.library.function:
        for argument in function.arg_attr.values():
            argument.attr.pop("_output_shapes", None)
    for node in all_nodes(graph):
        node.attr.pop("_output_shapes", None)


def _node(rng: Random, graph: Any, wanted: Callable[[Any], bool] = lambda node: True) -> Any:
    """A node by chance, of a function or of the graph; None if none is wanted."""
    found = [node for node in all_nodes(graph) if wanted(node)]
    return rng.choice(found) if found else None


def _neighbors(graph: Any, node: Any) -> list[str]:
    """The results that the nodes around a node read, in its graph or function."""
    for nodes in (graph.node, *(f.node_def for f in graph.library.function)):
        if any(other is node or other.name == node.name for other in nodes):
            return sorted({ref for other in nodes for ref in other.input} | {other.name for other in nodes})
    return []


def _rename_input(rng: Random, graph: Any) -> None:
    node = _node(rng, graph, lambda node: len(node.input) > 0)
    if node is not None:
        ref = rng.choice([*_neighbors(graph, node), node.name, "nothing", f"{node.name}:99", ":0"])
        node.input[rng.randrange(len(node.input))] = ref


def _add_input(rng: Random, graph: Any) -> None:
    node = _node(rng, graph)
    node.input.append(rng.choice([*_neighbors(graph, node), node.name]))


def _drop_input(rng: Random, graph: Any) -> None:
    node = _node(rng, graph, lambda node: len(node.input) > 0)
    if node is not None:
        del node.input[rng.randrange(len(node.input))]


def _swap_inputs(rng: Random, graph: Any) -> None:
    node = _node(rng, graph, lambda node: len(node.input) > 1)
    if node is not None:
        first, second = rng.sample(range(len(node.input)), 2)
        node.input[first], node.input[second] = node.input[second], node.input[first]


def _other_op(rng: Random, graph: Any) -> None:
    node = _node(rng, graph)
    node.op = rng.choice([_node(rng, graph).op, *_OPS])


# Operations of every family, with and without a rule.
_OPS = (
    "Add", "AddN", "AddV2", "ArgMax", "AssignVariableOp", "BatchMatMulV2", "BiasAdd", "BroadcastTo", "Cast", "Concat",
    "ConcatV2", "Const", "Conv2D", "Conv3D", "Cumsum", "DepthToSpace", "DepthwiseConv2dNative", "Einsum", "Enter",
    "Exit", "ExpandDims", "Fill", "FusedBatchNormV3", "Gather", "GatherV2", "GatherNd", "Identity", "IdentityN", "If",
    "LookupTableFindV2", "LoopCond", "MatMul", "MatrixDiagV3", "MaxPool", "Mean", "Merge", "MirrorPad", "Multinomial",
    "NextIteration", "NoOp", "OneHot", "Pack", "PadV2", "Placeholder", "Prod", "PyFunc", "Range", "ReadFile",
    "ReadVariableOp", "Reshape", "ResizeBilinear", "ReverseV2", "Roll", "ScatterNd", "SegmentSum", "SelectV2", "Shape",
    "Slice", "Softmax", "SpaceToBatchND", "Split", "SplitV", "Squeeze", "StatelessWhile", "StridedSlice", "Sum",
    "Switch", "TensorArrayV3", "TensorListFromTensor", "TensorListGetItem", "TensorListReserve", "Tile", "TopKV2",
    "Transpose", "Unique", "Unpack", "VarHandleOp", "Where", "While", "WriteFile", "XlaDynamicSlice",
)  # fmt: skip


def _attribute(rng: Random, graph: Any) -> None:
    node = _node(rng, graph, lambda node: len(node.attr) > 0)
    if node is None:
        return
    value = node.attr[rng.choice(sorted(node.attr))]
    kind = value.WhichOneof("kind")
    if kind == "type":
        value.type = rng.choice(TYPES)
    elif kind == "i":
        value.i = rng.choice(INTS)
    elif kind == "b":
        value.b = not value.b
    elif kind == "f":
        value.f = rng.choice((0.0, -1.0, float("nan"), float("inf"), 1e30))
    elif kind == "s":
        value.s = rng.choice(_STRINGS)
    elif kind == "shape":
        _reshape(rng, value.shape)
    elif kind == "list":
        _list(rng, value.list)
    elif kind == "func":
        names = [f.signature.name for f in graph.library.function]
        value.func.name = rng.choice([*names, "nothing"])
    elif kind == "tensor":
        _tensor(rng, value.tensor)


def _list(rng: Random, value: Any) -> None:
    """Of integers (strides, paddings, axes), types, shapes: shorter, longer, other."""
    for field, items in value.ListFields():
        if field.name in ("i", "type"):
            way = rng.randrange(3)
            if way == 0:
                del items[rng.randrange(len(items))]
            elif way == 1:
                items.extend([items[0]] * rng.choice((1, 2, 20)))
            else:
                items[rng.randrange(len(items))] = rng.choice(INTS if field.name == "i" else TYPES)
        elif field.name == "shape":
            _reshape(rng, items[rng.randrange(len(items))])
        else:
            items.append(items[0])


def _reshape(rng: Random, shape: Any) -> None:
    way = rng.randrange(4)
    if way == 0 and len(shape.dim):
        del shape.dim[rng.randrange(len(shape.dim))]
    elif way == 1 and len(shape.dim):
        shape.dim[rng.randrange(len(shape.dim))].size = rng.choice(INTS)
    elif way == 2:
        shape.unknown_rank = not shape.unknown_rank
    else:
        for _ in range(rng.choice((1, 1, 3, 300))):
            shape.dim.add(size=rng.choice(INTS))


def _tensor(rng: Random, tensor: Any) -> None:
    """A constant's type, shape or content."""
    way = rng.randrange(4)
    if way == 0:
        tensor.dtype = rng.choice(TYPES)
    elif way == 1:
        _reshape(rng, tensor.tensor_shape)
    elif way == 2:
        content = tensor.tensor_content
        tensor.tensor_content = rng.choice((b"", content + content, content[:-1], rng.randbytes(len(content) or 4)))
    else:
        _values(rng, tensor)


def _values(rng: Random, tensor: Any) -> None:
    """Other numbers, in a type and shape that stay."""
    numpy = {1: np.float32, 2: np.float64, 3: np.int32, 9: np.int64, 10: np.bool_}.get(tensor.dtype)
    count = 1
    for dim in tensor.tensor_shape.dim:
        count *= dim.size
    if numpy is None or not 0 < count < 1 << 20:
        return
    if np.issubdtype(numpy, np.integer):
        limits = np.iinfo(numpy)
        chosen: list[float] = [min(max(rng.choice(INTS), limits.min), limits.max) for _ in range(min(count, 64))]
    else:
        chosen = [rng.choice((0.0, -1.0, np.nan, np.inf, 1e30)) for _ in range(min(count, 64))]
    for field in ("float_val", "double_val", "int_val", "int64_val", "bool_val"):
        tensor.ClearField(field)
    tensor.tensor_content = np.resize(np.array(chosen, numpy), count).tobytes()


def _constant(rng: Random, graph: Any) -> None:
    node = _node(rng, graph, lambda node: node.op == "Const" and "value" in node.attr)
    if node is not None:
        _tensor(rng, node.attr["value"].tensor)


def _small_constant(rng: Random, graph: Any) -> None:
    """Axes, shapes, permutations, paddings: the constants of few integers, which say what an operation does."""
    node = _node(
        rng, graph, lambda node: node.op == "Const" and "value" in node.attr
        and node.attr["value"].tensor.dtype in (3, 9) and len(node.attr["value"].tensor.tensor_content) <= 64,
    )  # fmt: skip
    if node is not None:
        _values(rng, node.attr["value"].tensor)


def _function(rng: Random, graph: Any) -> Any:
    return rng.choice(graph.library.function) if len(graph.library.function) else None


def _recurse(rng: Random, graph: Any) -> None:
    """A function that calls itself, or another one in a circle."""
    function, other = _function(rng, graph), _function(rng, graph)
    if function is None:
        return
    arguments = function.signature.input_arg
    call = function.node_def.add(name="again", op=rng.choice(_CALLS), input=[arg.name for arg in arguments])
    call.attr["f"].func.name = rng.choice((function.signature.name, other.signature.name))
    call.attr["Tin"].list.type.extend([arg.type for arg in arguments])
    call.attr["Tout"].list.type.extend([arg.type for arg in function.signature.output_arg])
    for index, result in enumerate(function.signature.output_arg):
        function.ret[result.name] = f"again:output:{index}"


def _arity(rng: Random, graph: Any) -> None:
    """A function with other arguments or results than its callers think."""
    function = _function(rng, graph)
    if function is None:
        return
    args = rng.choice((function.signature.input_arg, function.signature.output_arg))
    way = rng.randrange(4)
    if way == 0 and len(args):
        del args[rng.randrange(len(args))]
    elif way == 1:
        args.add(name="more", type=rng.choice(TYPES))
    elif way == 2 and len(args):
        args[rng.randrange(len(args))].type = rng.choice(TYPES)
    elif function.ret:
        key = rng.choice(sorted(function.ret))
        function.ret[key] = rng.choice([*(ref for n in function.node_def for ref in n.input), "nothing:0", key, ""])


def _branches(rng: Random, graph: Any) -> None:
    """The functions of a While or If, or of a call, exchanged with each other or with any."""
    node = _node(rng, graph, lambda node: any(v.WhichOneof("kind") == "func" for v in node.attr.values()))
    if node is None:
        return
    keys = sorted(key for key, value in node.attr.items() if value.WhichOneof("kind") == "func")
    first, second = rng.choice(keys), rng.choice(keys)
    if first == second:
        node.attr[first].func.name = _function(rng, graph).signature.name if graph.library.function else "nothing"
    else:
        names = node.attr[first].func.name, node.attr[second].func.name
        node.attr[second].func.name, node.attr[first].func.name = names


def _cycle(rng: Random, graph: Any) -> None:
    node = _node(rng, graph, lambda node: len(node.input) > 0)
    if node is not None:
        reader = _node(rng, graph, lambda other: any(ref.partition(":")[0] == node.name for ref in other.input))
        node.input[0] = reader.name if reader is not None else node.name


def _signature_type(rng: Random, meta: Any) -> None:
    info = _info(rng, meta)
    if info is not None:
        info.dtype = rng.choice(TYPES)
        node = next((n for n in meta.graph_def.node if n.name == info.name.partition(":")[0]), None)
        if node is not None and "dtype" in node.attr and rng.random() < 0.5:
            node.attr["dtype"].type = info.dtype


def _signature_shape(rng: Random, meta: Any) -> None:
    info = _info(rng, meta)
    if info is not None:
        _reshape(rng, info.tensor_shape)


def _signature_name(rng: Random, meta: Any) -> None:
    info = _info(rng, meta)
    if info is not None:
        names = [node.name for node in meta.graph_def.node]
        info.name = rng.choice([f"{rng.choice(names)}:{rng.choice((0, 0, 1, 9))}", rng.choice(names), *_REFERENCES])


def _info(rng: Random, meta: Any) -> Any:
    """One of the tensors that a signature names; None if there is none."""
    found = []
    for name in sorted(meta.signature_def):
        signature = meta.signature_def[name]
        for ends in (signature.inputs, signature.outputs):
            found += [ends[key] for key in sorted(ends)]
    return rng.choice(found) if found else None


_CHANGES: tuple[Callable[[Random, Any], None], ...] = (
    _rename_input, _rename_input, _add_input, _drop_input, _swap_inputs, _other_op, _other_op, _attribute, _attribute,
    _attribute, _attribute, _constant, _constant, _small_constant, _small_constant, _recurse, _arity, _arity,
    _branches, _cycle, _signature_type, _signature_shape, _signature_name,
)  # fmt: skip
