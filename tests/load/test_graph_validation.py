"""Nodes, calls, functions and signatures that do not hold what they must."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fuseconv
from fuseconv.errors import InputError
from fuseconv.ir import types
from fuseconv.load import load, protos
from fuseconv.load.op_defs import OpDefs
from tests.frozen import FLOAT, INT32, INT64, STRING, Frozen

MODEL = Path(__file__).parents[2] / "testdata" / "keras2_lstm"
RESOURCE, VARIANT, QINT8 = (dtype.tf for dtype in (types.RESOURCE, types.VARIANT, types.QINT8))
T = {"T": {"type": FLOAT}}


def type_that_disagrees(graph: Frozen) -> None:
    graph.node("y", "Neg", "x", T={"type": INT32})


def operand_too_few(graph: Frozen) -> None:
    graph.node("y", "AddV2", "x", **T)


def operand_too_many(graph: Frozen) -> None:
    graph.node("y", "Neg", "x", "x", **T)


def number_that_disagrees(graph: Frozen) -> None:
    graph.node("y", "AddN", "x", "x", N={"i": 3}, **T)


def number_too_small(graph: Frozen) -> None:
    graph.node("y", "AddN", N={"i": 0}, **T)


def list_too_short(graph: Frozen) -> None:
    graph.node("y", "MaxPool", "x", ksize={"list": {"i": [1, 2]}}, strides={"list": {"i": [1, 2, 2, 1]}},
               padding={"s": b"SAME"}, **T)  # fmt: skip


def type_not_allowed(graph: Frozen) -> None:
    graph.node("s", "AsString", "x", **T)
    graph.node("y", "Neg", "s", T={"type": STRING})


def text_not_allowed(graph: Frozen) -> None:
    graph.node("y", "MaxPool", "x", ksize={"list": {"i": [1] * 4}}, strides={"list": {"i": [1] * 4}},
               padding={"s": b"MOST"}, **T)  # fmt: skip


def bytes_for_a_text(graph: Frozen) -> None:
    graph.node("y", "Einsum", "x", equation={"s": b"\xff->\xff"}, N={"i": 1}, **T)


def index_of_another_type(graph: Frozen) -> None:
    graph.node("y", "Sum", "x", graph.constant("axes", np.float32(0)), Tidx={"type": INT32}, **T)


def switch_without_condition(graph: Frozen) -> None:
    graph.node("y", "Switch", "x", **T)


def constant_of_two_types(graph: Frozen) -> None:
    graph.constant("c", np.float32(1))
    graph.graph.node[-1].attr["dtype"].type = INT32
    graph.node("y", "AddV2", "x", "c", **T)


def two_nodes_of_a_name(graph: Frozen) -> None:
    graph.node("y", "Neg", "x", **T)
    graph.node("y", "Abs", "x", **T)


@pytest.mark.parametrize(
    ("damage", "sentence"),
    [
        (type_that_disagrees, r"'y' \(Neg\) takes int32 as operand 0, and gets float32"),
        (operand_too_few, r"'y' \(AddV2\) has 1 operands where it takes 2"),
        (operand_too_many, r"'y' \(Neg\) has 2 operands where it takes 1"),
        (number_that_disagrees, r"'y' \(AddN\) has 2 operands where it takes 3"),
        (number_too_small, "'N' of the node 'y' has less than 1 as its value"),
        (list_too_short, "'ksize' of the node 'y' has less than 4 items"),
        (type_not_allowed, r"'T' of the node 'y' \(Neg\) is string, which is none of"),
        (text_not_allowed, r"'padding' of the node 'y' \(MaxPool\) is MOST, which is none of SAME, VALID"),
        (bytes_for_a_text, "'equation' of the node 'y' is no text of UTF-8"),
        (index_of_another_type, r"'y' \(Sum\) takes int32 as operand 1, and gets float32"),
        (switch_without_condition, r"'y' \(Switch\) has 1 operands where it takes 2"),
        (constant_of_two_types, "constant 'c' is of another type than its value"),
        (two_nodes_of_a_name, "two nodes of the name 'y'"),
    ],
)
def test_nodes(damage: Callable[[Frozen], None], sentence: str, tmp_path: Path) -> None:
    graph = Frozen(2, 4, 4, 1)
    damage(graph)
    with pytest.raises(InputError, match=f"{sentence}.*the model file is damaged"):
        load(graph.write(tmp_path), outputs=["y"])


def test_a_merge_of_a_node_that_is_gone(tmp_path: Path) -> None:
    graph = Frozen(1)
    graph.node("m", "Merge", "x", "gone", N={"i": 2}, **T)
    graph.node("y", "Neg", "m", **T)
    with pytest.raises(InputError, match="reads the node 'gone', which it does not contain"):
        load(graph.write(tmp_path))


@pytest.mark.parametrize("dtype", [RESOURCE, VARIANT, QINT8])
def test_types_that_no_input_has(dtype: int, tmp_path: Path) -> None:
    graph = Frozen(1)
    graph.node("in", "Placeholder", dtype={"type": dtype})
    graph.node("y", "Identity", "in", T={"type": dtype})
    with pytest.raises(InputError, match=f"the input 'in' .* is a {types.BY_TF[dtype]}, and a TFLite file has no such"):
        load(graph.write(tmp_path))


def calls(graph: Frozen, op: str, functions: dict[str, Any], *operands: str, **attrs: Any) -> None:
    refs = {key: {"func": {"name": name}} for key, name in functions.items()}
    graph.node("y", op, *operands, **refs, **attrs)


def with_function(damage: Callable[[Any], None]) -> Callable[[Frozen], None]:
    def build(graph: Frozen) -> None:
        graph.function("f", [])
        graph.call("y", "f", "x")
        damage(graph.graph.library.function[0])

    return build


def another_argument(function: Any) -> None:
    function.signature.input_arg.add(name="more", type=FLOAT)


def argument_of_another_type(function: Any) -> None:
    function.signature.input_arg[0].type = INT64


def no_result(function: Any) -> None:
    del function.signature.output_arg[:]


def result_of_another_type(function: Any) -> None:
    function.signature.output_arg[0].type = INT64


def another_result(function: Any) -> None:
    function.node_def[0].op = "IsNan"


def argument_twice(function: Any) -> None:
    function.node_def[0].name = "a"


def loop(graph: Frozen) -> None:
    graph.function("f", [])
    graph.function("g", [])
    del graph.graph.library.function[1].signature.output_arg[:]
    calls(graph, "While", {"cond": "g", "body": "f"}, "x", T={"list": {"type": [FLOAT]}})


def loop_of_more(graph: Frozen) -> None:
    graph.function("f", [])
    calls(graph, "While", {"cond": "f", "body": "f"}, "x", "x", T={"list": {"type": [FLOAT, FLOAT]}})


def branch(graph: Frozen) -> None:
    graph.function("f", [])
    graph.constant("yes", np.bool_(True))
    calls(graph, "If", {"then_branch": "f", "else_branch": "f"}, "yes", "x", "x", Tcond={"type": types.BOOL.tf},
          Tin={"list": {"type": [FLOAT, FLOAT]}}, Tout={"list": {"type": [FLOAT]}})  # fmt: skip


def two_functions_of_a_name(graph: Frozen) -> None:
    graph.function("f", [])
    graph.function("g", ["f"])
    graph.graph.library.function[1].signature.name = "f"
    graph.call("y", "f", "x")


@pytest.mark.parametrize(
    ("damage", "sentence"),
    [
        (with_function(another_argument), r"'f' takes \(float32, float32\), and gets \(float32\) where the node 'y'"),
        (with_function(argument_of_another_type), r"'f' takes \(int64\), and gets \(float32\) where the node 'y'"),
        (with_function(no_result), r"'f' returns \(\), and is to make \(float32\) where the node 'y'"),
        (with_function(result_of_another_type), r"'f' returns \(int64\), and is to make \(float32\)"),
        (with_function(another_result), "'f' says that its result 'b' is float32, and returns bool"),
        (with_function(argument_twice), "'f' has two arguments or nodes of the name 'a'"),
        (loop, r"condition 'g' of the loop 'y' returns \(\) where it must tell one bool"),
        (loop_of_more, r"'f' takes \(float32\), and gets \(float32, float32\) where the node 'y' \(While\)"),
        (branch, r"'f' takes \(float32\), and gets \(float32, float32\) where the node 'y' \(If\)"),
        (two_functions_of_a_name, "two functions of the name 'f', which are not the same"),
    ],
)
def test_calls(damage: Callable[[Frozen], None], sentence: str, tmp_path: Path) -> None:
    graph = Frozen(2)
    damage(graph)
    with pytest.raises(InputError, match=f"{sentence}.*the model file is damaged"):
        load(graph.write(tmp_path), outputs=["y"])


def saved(tmp_path: Path, damage: Callable[[Any], None]) -> Path:
    """A SavedModel of which one thing is changed."""
    proto = protos.classes["SavedModel"].FromString((MODEL / "saved_model.pb").read_bytes())
    damage(proto.meta_graphs[0])
    (tmp_path / "saved_model.pb").write_bytes(proto.SerializeToString())
    (tmp_path / "variables").mkdir()
    for file in (MODEL / "variables").iterdir():
        (tmp_path / "variables" / file.name).write_bytes(file.read_bytes())
    return tmp_path


@pytest.mark.parametrize("side", ["inputs", "outputs"])
def test_a_signature_that_tells_another_type(side: str, tmp_path: Path) -> None:
    def damage(meta: Any) -> None:
        for info in getattr(meta.signature_def["serving_default"], side).values():
            info.dtype = INT64

    with pytest.raises(InputError, match=r"of the signature 'serving_default' is int64, and the tensor .* is float32"):
        fuseconv.convert(saved(tmp_path, damage))


def test_a_models_definition_of_a_known_op_cannot_lie(tmp_path: Path) -> None:
    def damage(meta: Any) -> None:
        for op in meta.meta_info_def.stripped_op_list.op:
            del op.input_arg[:]
            del op.output_arg[:]

    truth = fuseconv.convert(MODEL, verify_fusions="never").data
    assert fuseconv.convert(saved(tmp_path, damage), verify_fusions="never").data == truth


def test_limits_of_attributes_are_in_the_table() -> None:
    max_pool, add_n = OpDefs().get("MaxPool"), OpDefs().get("AddN")
    assert max_pool is not None and add_n is not None
    assert max_pool.least == {"ksize": 4, "strides": 4}
    assert types.FLOAT32 in max_pool.allowed["T"] and types.STRING not in max_pool.allowed["T"]
    assert add_n.least == {"N": 1}
