"""GraphDef and FunctionDef -> graphs, on protobufs written by hand."""

from __future__ import annotations

from typing import Any

import pytest

from fuseconv.errors import InputError
from fuseconv.ir import types
from fuseconv.ir.dims import symbol
from fuseconv.ir.graph import FuncRef, Graph, Value
from fuseconv.load import protos
from fuseconv.load.graph_importer import Importer
from fuseconv.load.node_table import Nodes
from fuseconv.load.op_defs import OpDefs
from tests.work import count_calls

AttrValue = protos.classes["AttrValue"]
FLOAT = AttrValue(type=1)


def node(name: str, op: str, *inputs: str, **attributes: Any) -> Any:
    return protos.classes["NodeDef"](name=name, op=op, input=inputs, attr=attributes)


def function(name: str, nodes: list[Any], returns: dict[str, str], inputs: dict[str, int], **others: Any) -> Any:
    proto = protos.classes["FunctionDef"](node_def=nodes, ret=returns, **others)
    proto.signature.name = name
    for arg, number in inputs.items():
        proto.signature.input_arg.add(name=arg, type=number)
    for arg in returns:
        proto.signature.output_arg.add(name=arg, type=1)
    return proto


def build(nodes: list[Any], outputs: list[str], library: list[Any] = [], run: list[str] = []) -> Graph:  # noqa: B006
    importer = Importer(library, OpDefs())
    x = Value(types.FLOAT32, None, "x")
    graph = importer.build_graph("main", Nodes(nodes), {"x:0": x}, outputs, run)
    importer.build_functions()
    graph.attrs["functions"] = importer.functions
    return graph


def names(graph: Graph) -> list[str]:
    return [op.name for op in graph.ops]


X = node("x", "Placeholder", dtype=FLOAT)


def test_only_what_is_needed_is_built_in_the_files_order() -> None:
    nodes = [
        node("late", "Neg", "early", T=FLOAT),
        X,
        node("unused", "Neg", "x", T=FLOAT),
        node("before", "NoOp"),
        node("early", "Abs", "x", "^before", T=FLOAT),
        node("last", "Add", "late", "early:0", T=FLOAT),
    ]
    graph = build(nodes, ["last:0"])
    assert names(graph) == ["before", "early", "late", "last"]
    assert [v.name for v in graph.ops[-1].operands if v] == ["late", "early"]
    assert graph.outputs == [graph.ops[-1].result]


def test_nodes_that_must_run() -> None:
    graph = build([X, node("a", "NoOp", "^b"), node("b", "NoOp")], ["x:0"], run=["a"])
    assert names(graph) == ["b", "a"]
    assert graph.outputs == graph.inputs


def test_attributes() -> None:
    conv = node(
        "y", "Conv2D", "x", "x", T=FLOAT, padding=AttrValue(s=b"SAME"), data_format=AttrValue(s=b"NHWC"),
        strides=AttrValue(list={"i": [1, 2, 2, 1]}), dilations=AttrValue(list={"i": [1, 1, 1, 1]}),
        _class=AttrValue(s=b"loc"), _implements=AttrValue(s=b"this"), _output_shapes=AttrValue(list={}),
    )  # fmt: skip
    (op,) = build([X, conv], ["y:0"]).ops
    assert op.attrs == {"padding": "SAME", "strides": [1, 2, 2, 1], "_implements": "this"}


def test_a_string_of_an_op_of_the_models_own_may_be_bytes() -> None:
    text = protos.classes["OpList"]()
    text.op.add(name="AcmeScale").attr.add(name="table", type="string")
    text.op[0].input_arg.add(name="x", type=1)
    text.op[0].output_arg.add(name="y", type=1)
    importer = Importer([], OpDefs(text))
    nodes = [X, node("y", "AcmeScale", "x", table=AttrValue(s=b"\xff\x00"))]
    (op,) = importer.build_graph("main", Nodes(nodes), {"x:0": Value(types.FLOAT32, None, "x")}, ["y:0"], []).ops
    assert op.attrs["table"] == b"\xff\x00"


def test_type_that_no_operand_or_result_tells_stays_an_attribute() -> None:
    handle = node("v", "VarHandleOp", dtype=FLOAT, shape=AttrValue(shape={"dim": [{"size": 2}]}))
    (op,) = build([handle], ["v:0"]).ops
    assert op.attrs == {"dtype": types.FLOAT32, "shape": (2,)}
    assert op.result.dtype is types.RESOURCE


def test_results_by_number_and_list() -> None:
    types_ = AttrValue(list={"type": [1, 3]})
    nodes = [
        X,
        node("axis", "Const", value=AttrValue(tensor={"dtype": 3, "tensor_shape": {}, "int_val": [0]})),
        node("parts", "Split", "axis", "x", T=FLOAT, num_split=AttrValue(i=3)),
        node("pair", "IdentityN", "parts:2", "axis", T=types_),
    ]
    split, pair = build(nodes, ["pair:1"]).ops
    assert [v.dtype for v in split.results] == [types.FLOAT32] * 3
    assert [v.dtype for v in pair.results] == [types.FLOAT32, types.INT32]
    assert [v.name for v in pair.results] == ["pair", "pair:1"]
    assert pair.operands[0] is split.results[2]
    assert pair.operands[1].data == 0  # type: ignore[union-attr]


def test_unknown_op_has_the_results_that_are_read() -> None:
    nodes = [
        X,
        node("u", "Unheard", "x", T=AttrValue(type=3), n=AttrValue(i=4), _hidden=AttrValue(i=1)),
        node("w", "Unseen", "x", _output_types=AttrValue(list={"type": [1, 3]})),
        node("y", "IdentityN", "u:2", "w", T=AttrValue(list={"type": [3, 1]})),
    ]
    u, w, _ = build(nodes, ["y:0"]).ops
    assert u.attrs == {"T": types.INT32, "n": 4}
    assert [v.dtype for v in u.results] == [types.INT32] * 3
    assert [v.dtype for v in w.results] == [types.FLOAT32, types.INT32]


def test_function_bodies_name_outputs_by_argument() -> None:
    body = [
        node("k", "Const", value=AttrValue(tensor={"dtype": 3, "tensor_shape": {}, "int_val": [2]})),
        node("top", "TopKV2", "a", "k:output:0", T=FLOAT),
        node("u", "Unique", "top:values:0", T=FLOAT, out_idx=AttrValue(type=9)),
        node("cast", "Cast", "top:indices:0", SrcT=AttrValue(type=3), DstT=FLOAT),
        node("sum", "AddN", "cast:y:0", "u:y:0", T=FLOAT, N=AttrValue(i=2)),
    ]
    f = function("f", body, {"out": "sum:sum:0", "same": "a"}, {"a": 1}, attr={"note": AttrValue(s=b"kept")})
    f.arg_attr[0].attr["_output_shapes"].list.shape.add().dim.add(size=-1)
    f.signature.output_arg[0].name, f.signature.output_arg[1].name = "out", "same"
    call = node(
        "y", "PartitionedCall", "x", f=AttrValue(func={"name": "f"}), Tin=AttrValue(list={"type": [1]}),
        Tout=AttrValue(list={"type": [1, 1]}), config_proto=AttrValue(s=b"where"),
    )  # fmt: skip
    graph = build([X, call], ["y:1"], [f])
    assert graph.ops[0].attrs == {"f": FuncRef("f")}
    built = graph.attrs["functions"]["f"]
    assert built.attrs == {"note": "kept"}
    assert built.inputs[0].shape == (symbol("f/a.0"),)
    top, unique, cast, total = built.ops
    assert cast.operands == [top.results[1]]
    assert unique.operands == [top.results[0]]
    assert [v.dtype for v in unique.results] == [types.FLOAT32, types.INT64]
    assert total.operands == [cast.result, unique.results[0]]
    assert built.outputs == [total.result, built.inputs[0]]


def test_only_reachable_functions_are_built() -> None:
    def wrapper(name: str, callee: str) -> Any:
        call = node(
            "c", "PartitionedCall", "a", f=AttrValue(func={"name": callee}), Tin=AttrValue(list={"type": [1]}),
            Tout=AttrValue(list={"type": [1]}),
        )  # fmt: skip
        return function(name, [call], {"out": "c:output:0"}, {"a": 1})

    library = [wrapper("f", "g"), wrapper("g", "f"), wrapper("h", "f")]
    called = node("y", "f", "x")
    graph = build([X, called], ["y:0"], library)
    assert graph.ops[0].kind == "tf.PartitionedCall"
    assert graph.ops[0].attrs == {"f": FuncRef("f")}
    assert graph.attrs["functions"].keys() == {"f", "g"}


def test_effects_of_a_function_are_kept() -> None:
    def body(**others: Any) -> list[str]:
        assign = node("set", "AssignVariableOp", "v", "a", dtype=FLOAT)
        read = node("get", "ReadVariableOp", "v", dtype=FLOAT)
        f = function("f", [assign, read], {"out": "a"}, {"v": 20, "a": 1}, **others)
        f.signature.is_stateful = True
        handle = node("v", "VarHandleOp", dtype=FLOAT, shape=AttrValue(shape={}))
        return names(build([X, handle, node("y", "f", "v", "x")], ["y:0"], [f]).attrs["functions"]["f"])

    assert body(control_ret={"effect": "set"}) == ["set"]
    assert body() == ["set", "get"]  # a function without control outputs runs all that is stateful


def test_loop_of_tf1() -> None:
    frame = {"frame_name": AttrValue(s=b"loop")}
    nodes = [
        X,
        node("enter", "Enter", "x", T=FLOAT, **frame),
        node("merge", "Merge", "enter", "next", T=FLOAT, N=AttrValue(i=2)),
        node("next", "NextIteration", "body", T=FLOAT),
        node("body", "Neg", "merge", T=FLOAT),
        node("exit", "Exit", "merge", T=FLOAT),
    ]
    graph = build(nodes, ["exit:0"])
    assert names(graph) == ["enter", "merge", "body", "next", "exit"]
    merge = graph.ops[1]
    assert merge.operands == [graph.ops[0].result, graph.ops[3].result]
    assert [v.dtype for v in merge.results] == [types.FLOAT32, types.INT32]


@pytest.mark.parametrize(
    "nodes, outputs, message",
    [
        ([X, node("y", "Neg", "y", T=FLOAT)], ["y:0"], "cycle through 'y'"),
        ([X, node("y", "Neg", "z", T=FLOAT)], ["y:0"], "reads the node 'z'"),
        ([X, node("y", "Neg", "x", T=FLOAT)], ["y:1"], "'y' has 1 results"),
        ([X, node("y", "Neg", "x")], ["y:0"], "lacks its attribute 'T'"),
        ([X, node("y", "Neg", "x", T=AttrValue(type=77))], ["y:0"], "number 77"),
        ([X, node("y", "Conv2D", "x", "x", T=FLOAT, padding=AttrValue(s=b"SAME"))], ["y:0"], "lacks 'strides'"),
        ([X, node("y", "Sum", "x", "x", T=FLOAT, keep_dims=AttrValue(i=1))], ["y:0"], "'keep_dims' .* is no bool"),
        ([X, node("y", "Unpack", "x", T=FLOAT, num=AttrValue(i=1 << 40))], ["y:0"], "claims .* results"),
        ([X, node("y", "Neg", "x:z", T=FLOAT)], ["y:0"], "'x:z' is not the name"),
        ([X, node("y", "Neg", "", T=FLOAT)], ["y:0"], "reads the node ''"),
        (
            [X, node("y", "MirrorPad", "x", "x", T=FLOAT, mode=AttrValue(s=b"REFLECS"))],
            ["y:0"],
            "which is none of REFLECT, SYMMETRIC",
        ),
        (
            [
                X,
                node(
                    "y", "PartitionedCall", f=AttrValue(func={"name": "f"}), Tin=AttrValue(list={}),
                    Tout=AttrValue(list={}),
                ),
            ],
            ["y:0"],
            "calls the function 'f'",
        ),
    ],
)
def test_malformed_graphs(nodes: list[Any], outputs: list[str], message: str) -> None:
    with pytest.raises(InputError, match=message):
        build(nodes, outputs)


def test_an_attribute_without_a_name_means_nothing() -> None:
    (op,) = build([X, node("y", "Neg", "x", T=FLOAT, **{"": AttrValue(i=1)})], ["y:0"]).ops
    assert op.attrs == {"": 1}


def test_function_of_no_certain_type() -> None:
    f = function("f", [], {"out": "a"}, {"a": 0})
    f.signature.input_arg[0].type_attr = "T"
    with pytest.raises(InputError, match=r"no certain type"):
        build([X, node("y", "f", "x")], ["y:0"], [f])


def test_long_chains_are_built_in_linear_time() -> None:
    """And without recursion: each node is written before the one that it reads."""

    def calls(count: int) -> int:
        nodes = [node(f"n{i}", "Neg", f"n{i - 1}" if i else "x", T=FLOAT) for i in range(count)][::-1]
        return count_calls(lambda: build([X, *nodes], [f"n{count - 1}:0"]))

    assert calls(4000) < 2.1 * calls(2000)
