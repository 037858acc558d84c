"""The IR prints as text and parses back to the same text."""

from __future__ import annotations

import numpy as np
import pytest

from fuseconv.errors import FuseconvError
from fuseconv.ir import dims, types
from fuseconv.ir.graph import FuncRef, Graph, Module, Op, Quantization, Rejection, Signature, constant
from fuseconv.ir.text import parse_module, print_module
from fuseconv.ir.verifier import check

GOLDEN = """\
graph "main" {
  attrs {'_implements': 'lstm_1'}
  input %0 "x": float32[x.0,3]
  const %1 "w": float32[3,1] = [[1.0], [nan], [inf]]
  %2 "a": float32[2*x.0+1,1]; %3 "a:1": int32[*] = tf.Some(%0, %1, _) {'f': {'function': 'body'}, 'T': {'dtype': \
'int8'}, 'k': [1, 2]} "a" from ["a", "b"]
  const %4 "s": string[1] = strings:[b'x']
  %5 "state": int8[((x.0)//(2))]<0.5:-3> {'variable': True} = tfl.ADD(%2, %4) {} "c" from []
  return %5, %3
}
graph "body" {
  return
}
signature ["serving_default", "serve"] "main" ["x"] ["p", "q"]
"""


def _module() -> Module:
    graph = Graph("main", {"_implements": "lstm_1"})
    b = dims.symbol("x.0")
    x = graph.add_input(types.FLOAT32, (b, 3), "x")
    w = constant(np.array([[1], [np.nan], [np.inf]], np.float32), name="w")
    attrs = {"f": FuncRef("body"), "T": types.INT8, "k": [1, 2]}
    first = Op("tf.Some", [x, w, None], attrs, "a", ("a", "b"))
    first.add_result(types.FLOAT32, (b * 2 + 1, 1))
    first.add_result(types.INT32, None)
    second = Op("tfl.ADD", [first.result, constant(np.array([b"x"], object), name="s")], {}, "c")
    state = second.add_result(types.INT8, (b // 2,), "state")
    state.variable = True
    state.quantization = Quantization((0.5,), (-3,))
    graph.ops = [first, second]
    graph.outputs = [state, first.results[1]]
    signature = Signature(["serving_default", "serve"], graph, ["x"], ["p", "q"])
    return Module([signature], {"body": Graph("body")})


def test_text_is_the_golden_one() -> None:
    assert print_module(_module()) == GOLDEN


def test_text_parses_back() -> None:
    parsed = parse_module(GOLDEN)
    check(parsed)
    assert print_module(parsed) == GOLDEN
    assert parsed.signatures[0].graph.ops[0].result.shape == (dims.symbol("x.0") * 2 + 1, 1)


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16", "int64", "uint8", "bool", "complex64"])
def test_large_constants_survive(dtype: str) -> None:
    array = (np.random.default_rng(0).normal(size=(5, 7)) * 9).astype(types.BY_NAME[dtype].numpy)
    module = _module()
    module.signatures[0].graph.outputs = [constant(array, types.BY_NAME[dtype], "c")]
    parsed = parse_module(print_module(module)).signatures[0].graph.outputs[0]
    np.testing.assert_array_equal(parsed.data, array)


def test_attributes_that_are_named_like_kinds_of_values_survive() -> None:
    graph = Graph("main", {"function": FuncRef("main", {"dtype": types.INT8})})
    graph.ops.append(Op("tf.Some", [], {"dtype": types.FLOAT16}, "a", ()))
    module = Module([Signature(["serving_default"], graph, [], [])])
    again = parse_module(print_module(module)).signatures[0].graph
    assert again.attrs == graph.attrs and again.ops[0].attrs == graph.ops[0].attrs


def test_symbols_with_odd_names_survive() -> None:
    shape = (dims.symbol("a/b:0.1") * 3, 2)
    graph = Graph("main")
    graph.outputs = [graph.add_input(types.FLOAT32, shape, 'a"b')]
    module = Module([Signature(["s"], graph, ["x"], ["y"])])
    assert parse_module(print_module(module)).signatures[0].graph.inputs[0].shape == shape


def test_elided_constants_are_for_reading_only() -> None:
    text = print_module(_module(), elide=2)
    assert "... (3 elements)" in text
    with pytest.raises(FuseconvError, match="print it whole"):
        parse_module(text)


def test_nonsense_is_refused() -> None:
    with pytest.raises(FuseconvError, match="cannot read"):
        parse_module("hello\n")


@pytest.mark.parametrize("rejection", [None, Rejection('no "kernel"]'), Rejection("it is lost", hopeless=True)])
def test_the_rejection_of_an_op_is_printed_and_parsed(rejection: Rejection | None) -> None:
    module = _module()
    (graph, *_) = module.graphs()
    graph.ops[0].rejection = rejection
    text = print_module(module)
    parsed = parse_module(text)
    assert next(iter(parsed.graphs())).ops[0].rejection == rejection
    assert print_module(parsed) == text
