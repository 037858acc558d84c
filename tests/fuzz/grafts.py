"""Damage to a graph by what other graphs have: functions and nodes of another model, attributes of other kinds, names
that are there twice, control inputs, resources that several parts share, an object graph that means another model."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

from tests.fuzz.graphs import INTS, TYPES
from tests.fuzz.messages import Model, all_nodes, graph_of

_TEXTS = (b"", b"SAME", b"\xff\xfe", b"NHWC", b"ij,jk->ik", b"\0", b"w" * 400)
_KINDS = ("s", "i", "f", "b", "type", "shape", "tensor", "list", "func", "placeholder", "none")


def graft(rng: Random, model: Model, other: Model) -> None:
    """Makes one to three changes, some with what another model has."""
    graph, donor = graph_of(model), graph_of(other)
    for _ in range(min(3, 1 + int(rng.expovariate(1.2)))):
        change = rng.choice(WAYS)
        if change in _OF_OBJECTS:
            if hasattr(model, "meta_graphs"):
                change(rng, model.meta_graphs[0], other)
        elif all_nodes(graph) and all_nodes(donor):
            change(rng, graph, donor)


def _node(rng: Random, graph: Any, wanted: Callable[[Any], bool] = lambda node: True) -> Any:
    found = [node for node in all_nodes(graph) if wanted(node)]
    return rng.choice(found) if found else None


def _other_kind(rng: Random, graph: Any, donor: Any) -> None:
    """An attribute of another kind: a list for a number, a function for a text, nothing at all."""
    node = _node(rng, graph, lambda node: len(node.attr) > 0)
    if node is not None:
        set_kind(rng, node.attr[rng.choice(sorted(node.attr))], graph)


def set_kind(rng: Random, value: Any, graph: Any) -> None:
    """Make an attribute one of any kind."""
    kind = rng.choice(_KINDS)
    value.Clear()
    if kind == "s":
        value.s = rng.choice(_TEXTS)
    elif kind == "i":
        value.i = rng.choice(INTS)
    elif kind == "f":
        value.f = rng.choice((0.0, -1.0, float("nan"), 1e38))
    elif kind == "b":
        value.b = rng.random() < 0.5
    elif kind == "type":
        value.type = rng.choice(TYPES)
    elif kind == "shape":
        for _ in range(rng.choice((0, 1, 4))):
            value.shape.dim.add(size=rng.choice(INTS))
        value.shape.unknown_rank = rng.random() < 0.2
    elif kind == "tensor":
        value.tensor.dtype = rng.choice(TYPES)
        value.tensor.tensor_shape.dim.add(size=rng.choice(INTS))
    elif kind == "list":
        _fill(rng, value.list)
    elif kind == "func":
        value.func.name = rng.choice([f.signature.name for f in graph.library.function] or ["nothing"])
    elif kind == "placeholder":
        value.placeholder = rng.choice(("T", "x", ""))


def _fill(rng: Random, value: Any) -> None:
    for _ in range(rng.choice((0, 1, 2, 4, 5))):
        way = rng.randrange(6)
        if way == 0:
            value.i.append(rng.choice(INTS))
        elif way == 1:
            value.type.append(rng.choice(TYPES))
        elif way == 2:
            value.s.append(rng.choice(_TEXTS))
        elif way == 3:
            value.shape.add().dim.add(size=rng.choice(INTS))
        elif way == 4:
            value.b.append(True)
        else:
            value.func.add(name="nothing")


def _attributes_of(rng: Random, graph: Any, donor: Any) -> None:
    """A node with the attributes of another one, of the other model or of this."""
    node, from_ = _node(rng, graph), _node(rng, rng.choice((graph, donor)))
    for name in sorted(from_.attr):
        if rng.random() < 0.6:
            node.attr[name].CopyFrom(from_.attr[name])


def _node_of(rng: Random, graph: Any, donor: Any) -> None:
    """A node of the other model in the place of one here, which reads what that read."""
    node, from_ = _node(rng, graph), _node(rng, donor)
    name, inputs = node.name, list(node.input)
    node.CopyFrom(from_)
    node.name = name
    wanted = len(from_.input)
    del node.input[:]
    node.input.extend((inputs * (wanted + 1))[:wanted] if inputs and rng.random() < 0.8 else inputs)


def _function_of(rng: Random, graph: Any, donor: Any) -> None:
    """A function of the other model under the name of one here; or one here under the name of another."""
    mine = list(graph.library.function)
    theirs = list(donor.library.function) or mine
    if not mine:
        return
    target, from_ = rng.choice(mine), rng.choice(theirs if rng.random() < 0.6 else mine)
    name = target.signature.name
    if target is not from_:
        target.CopyFrom(from_)
        target.signature.name = name
    known = {function.signature.name for function in graph.library.function}
    for function in theirs if theirs is not mine and rng.random() < 0.7 else ():
        if function.signature.name not in known:
            graph.library.function.add().CopyFrom(function)


def _body_of(rng: Random, graph: Any, donor: Any) -> None:
    """A function with its own signature and the nodes of another one, which its results are read from."""
    functions = list(graph.library.function)
    if len(functions) > 1:
        target, from_ = rng.sample(functions, 2)
        del target.node_def[:]
        target.node_def.extend(from_.node_def)
        if rng.random() < 0.5:
            values = [from_.ret[key] for key in sorted(from_.ret)]
            for at, key in enumerate(sorted(target.ret)):
                target.ret[key] = values[at % len(values)] if values else ""


def _other_signature(rng: Random, graph: Any, donor: Any) -> None:
    """A call with the operands and types of another call."""
    calls = [node for node in all_nodes(graph) if any(v.WhichOneof("kind") == "func" for v in node.attr.values())]
    if len(calls) > 1:
        target, from_ = rng.sample(calls, 2)
        for name in ("Tin", "Tout", "T", "output_shapes", "f", "body", "cond", "then_branch", "branches"):
            if name in from_.attr and rng.random() < 0.6:
                target.attr[name].CopyFrom(from_.attr[name])
        if rng.random() < 0.3:
            target.op = from_.op


def _double_name(rng: Random, graph: Any, donor: Any) -> None:
    """Two nodes, arguments, results or functions of one name."""
    for items in rng.sample(_lists(graph), 1):
        if len(items) > 1:
            first, second = rng.sample(range(len(items)), 2)
            named = [item.signature if hasattr(item, "signature") else item for item in (items[first], items[second])]
            named[0].name = named[1].name
        elif items and rng.random() < 0.5:
            items.add().CopyFrom(items[0])


def _lists(graph: Any) -> list[Any]:
    found = [graph.node, graph.library.function]
    for function in graph.library.function:
        found += [function.node_def, function.signature.input_arg, function.signature.output_arg]
    return found


def _control(rng: Random, graph: Any, donor: Any) -> None:
    """Control inputs of nodes that there are not, of itself, before data; and control outputs of nothing."""
    node = _node(rng, graph)
    name = rng.choice(("nothing", node.name, _node(rng, graph).name, "", ":0", "a:0"))
    node.input.insert(rng.randint(0, len(node.input)), f"^{name}")
    for function in graph.library.function:
        if rng.random() < 0.3:
            function.control_ret["c"] = rng.choice(("nothing", "", name))
            function.signature.control_output.append(rng.choice(("c", "d", "")))


def _share(rng: Random, graph: Any, donor: Any) -> None:
    """Resources that are one, or are read in another type or shape than they are written in."""
    handles = [n for n in all_nodes(graph) if n.op in _RESOURCES]
    if len(handles) > 1 and rng.random() < 0.6:
        first, second = rng.sample(handles, 2)
        for name in ("shared_name", "container", "shape", "dtype"):
            if name in second.attr and rng.random() < 0.7:
                first.attr[name].CopyFrom(second.attr[name])
    else:
        users = [n for n in all_nodes(graph) if n.op in ("ReadVariableOp", "AssignVariableOp", "ResourceGather")]
        if users:
            rng.choice(users).attr["dtype"].type = rng.choice(TYPES)


_RESOURCES = frozenset({"VarHandleOp", "HashTableV2", "MutableHashTableV2", "VariableV2", "TensorArrayV3", "Variable"})


_CALLS = frozenset({"While", "StatelessWhile", "If", "StatelessIf", "Case", "PartitionedCall"})


def _loop_types(rng: Random, graph: Any, donor: Any) -> None:
    """A loop or a branch whose function makes another type or shape than it takes."""
    loops = [n for n in all_nodes(graph) if n.op in _CALLS]
    names = {v.func.name for n in loops for v in n.attr.values() if v.WhichOneof("kind") == "func"}
    functions = [f for f in graph.library.function if f.signature.name in names]
    if not functions:
        return
    function = rng.choice(functions)
    ends = list(function.signature.input_arg if rng.random() < 0.5 else function.signature.output_arg)
    if ends and rng.random() < 0.5:
        rng.choice(ends).type = rng.choice(TYPES)
    elif function.ret:
        key = rng.choice(sorted(function.ret))
        source = function.ret[key]
        first = rng.choice([arg.name for arg in function.signature.input_arg] or [source])
        op, dtype = rng.choice((("Cast", "DstT"), ("ExpandDims", "T"), ("Shape", "T"), ("Squeeze", "T")))
        inputs = [source] if op in ("Cast", "Shape", "Squeeze") else [source, first]
        made = function.node_def.add(name="made", op=op, input=inputs)
        made.attr[dtype].type = rng.choice((1, 3, 9, 2))
        if op == "Cast":
            made.attr["SrcT"].type = rng.choice((1, 3))
        function.ret[key] = f"made:{'y' if op == 'Cast' else 'output'}:0"


def _gradients(rng: Random, graph: Any, donor: Any) -> None:
    """Operations of gradients in the place of others."""
    node = _node(rng, graph, lambda node: len(node.input) > 0)
    if node is not None:
        node.op = rng.choice(_GRADIENTS)


_GRADIENTS = (
    "BroadcastGradientArgs", "ConcatOffset", "SymbolicGradient", "ShapeN", "ReluGrad", "TanhGrad", "BiasAddGrad",
    "MaxPoolGrad", "Conv2DBackpropInput", "Conv2DBackpropFilter", "FusedBatchNormGradV3", "StridedSliceGrad",
    "InvertPermutation", "TensorScatterUpdate",
)  # fmt: skip


def _objects(rng: Random, meta: Any, other: Any) -> None:
    """The graph of objects: what are children of what, which functions and variables they are."""
    nodes = meta.object_graph_def.nodes
    if not len(nodes):
        return
    node = rng.choice(nodes)
    way = rng.randrange(5)
    if way == 0 and len(node.children):
        child = rng.choice(node.children)
        child.node_id = rng.choice((-1, 0, len(nodes), 2**31 - 1, rng.randrange(len(nodes))))
    elif way == 1 and len(node.children):
        rng.choice(node.children).local_name = rng.choice(("signatures", "", "x", "_self", "a/b", "\0", ".."))
    elif way == 2:
        node.CopyFrom(rng.choice(nodes))
    elif way == 3 and hasattr(other, "meta_graphs") and len(other.meta_graphs[0].object_graph_def.nodes):
        node.CopyFrom(rng.choice(other.meta_graphs[0].object_graph_def.nodes))
    else:
        _inside(rng, node)


def _inside(rng: Random, node: Any) -> None:
    """A variable of another type, shape or name; a function bound to other captures; an asset that is elsewhere."""
    kind = node.WhichOneof("kind")
    if kind == "variable":
        node.variable.dtype = rng.choice(TYPES)
        node.variable.name = rng.choice((node.variable.name, "", "x", "\0"))
        node.variable.shape.dim.add(size=rng.choice(INTS))
    elif kind == "asset":
        node.asset.asset_file_def_index = rng.choice((-1, 1, 2**31 - 1))
    elif kind in ("function", "bare_concrete_function"):
        made = node.function.concrete_functions if kind == "function" else []
        if len(made):
            made.append(rng.choice(("nothing", "", made[0])))


def _captures(rng: Random, meta: Any, other: Any) -> None:
    """What a concrete function is bound to: other objects, fewer, more, none that there is."""
    concrete = meta.object_graph_def.concrete_functions
    if not len(concrete):
        return
    function = concrete[rng.choice(sorted(concrete))]
    inputs = function.bound_inputs
    way = rng.randrange(4)
    if way == 0 and len(inputs):
        del inputs[rng.randrange(len(inputs))]
    elif way == 1:
        inputs.append(rng.choice((-1, 0, 2**31 - 1)))
    elif way == 2 and len(inputs):
        inputs[rng.randrange(len(inputs))] = rng.choice((-1, 0, 2**31 - 1, len(meta.object_graph_def.nodes)))
    else:
        function.CopyFrom(concrete[rng.choice(sorted(concrete))])


def _collections(rng: Random, meta: Any, other: Any) -> None:
    """The collections, assets, tags and signatures of the older kind of SavedModels."""
    way = rng.randrange(5)
    if way == 0:
        key = rng.choice(("saved_model_main_op", "legacy_init_op", "asset_filepaths", "table_initializer"))
        meta.collection_def[key].node_list.value.append(rng.choice(("nothing", "", meta.graph_def.node[0].name)))
    elif way == 1:
        meta.saver_def.filename_tensor_name = rng.choice(("nothing:0", "", meta.graph_def.node[0].name))
    elif way == 2:
        asset = meta.asset_file_def.add(filename=rng.choice(("../../../outside/secret", "/etc/hostname", "", ".", "x")))
        asset.tensor_info.name = meta.graph_def.node[rng.randrange(len(meta.graph_def.node))].name
    elif way == 3:
        del meta.meta_info_def.tags[:]
        meta.meta_info_def.tags.extend(rng.choice(([], ["serve", "serve"], ["train"], ["\0"])))
    elif len(meta.signature_def):
        one = meta.signature_def[rng.choice(sorted(meta.signature_def))]
        new = meta.signature_def[rng.choice(("", "x", "__saved_model_init_op", "é", "a/b", "serving_default"))]
        new.CopyFrom(one)
        for ends in (new.inputs, new.outputs):
            if len(ends) and rng.random() < 0.5:
                ends[rng.choice(("", "x", "\0", "é"))].CopyFrom(ends[sorted(ends)[0]])


_OF_OBJECTS = (_objects, _captures, _collections)
WAYS: tuple[Callable[[Random, Any, Any], None], ...] = (
    _other_kind, _other_kind, _attributes_of, _attributes_of, _node_of, _node_of, _function_of, _body_of,
    _other_signature, _double_name, _control, _share, _loop_types, _loop_types, _gradients, _objects, _objects,
    _captures, _collections,
)  # fmt: skip
