"""Operators as ops: none is left out, none is taken that is not known."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from ai_edge_litert import schema_py_generated as schema

from fuseconv.errors import InputError, UnsupportedError
from fuseconv.ir import types
from fuseconv.ir.graph import STATEFUL, Module, Quantization
from fuseconv.load.tflite.reader import module_of_bytes
from fuseconv.write.flatbuffer_export import to_bytes
from tests.load.tflite.files import BATCH, changed, changed_dense, dense
from tests.tfl.interpret import module_of


def read(data: bytes) -> Module:
    return module_of_bytes(data, "it")


def test_ops_bear_the_names_of_their_results():
    product, softmax = read(to_bytes(dense())).signatures[0].graph.ops
    assert (product.kind, softmax.kind) == ("tfl.FULLY_CONNECTED", "tfl.SOFTMAX")
    assert product.attrs == {"fused_activation_function": "RELU"} and product.sources == ("op",)
    assert softmax.operands == [product.result]


def test_names_of_several_layers_are_sources():
    def change(model: Any) -> None:
        model.subgraphs[0].tensors[3].name = b"net/dense/MatMul;net/dense/BiasAdd;2"

    assert read(changed_dense(change)).signatures[0].graph.ops[0].sources == ("net/dense/MatMul", "net/dense/BiasAdd")


@pytest.mark.parametrize("stateful", [True, False])
def test_custom_ops_are_carried_as_they_stand(stateful: bool) -> None:
    def build(tfl: Any, x: Any) -> Any:
        first = tfl.custom("Acme", [x, None], [(types.FLOAT32, x.shape)], {"a": 1}, stateful=stateful)
        return tfl.custom("Acme", first, [(types.FLOAT32, x.shape)], b"\1\2", stateful=stateful)

    data = to_bytes(module_of(build, (types.FLOAT32, (BATCH, 3))))
    first, second = read(data).signatures[0].graph.ops
    assert first.attrs["custom_code"] == "Acme" and first.operands[1] is None
    assert second.attrs["custom_options"] == b"\1\2" and (STATEFUL in second.attrs) == stateful
    assert to_bytes(read(data)) == data


def test_sizes_are_followed_through_a_file():
    def build(tfl: Any, x: Any) -> Any:
        count = tfl.strided_slice(tfl.shape(x), [0], [1], [1], shrink_axis_mask=1)
        return tfl.reshape(x, tfl.pack(count, 3, 2))

    graph = read(to_bytes(module_of(build, (types.FLOAT32, (BATCH, 6))))).signatures[0].graph
    assert graph.outputs[0].shape == (graph.inputs[0].shape[0], 3, 2)  # type: ignore[index]


def test_ops_that_are_not_known_are_refused_by_name():
    def change(model: Any) -> None:
        model.operatorCodes[1].builtinCode = 209

    with pytest.raises(UnsupportedError, match="not know, STABLEHLO_CASE at 0:1: update fuseconv") as caught:
        read(changed_dense(change))
    assert [(op, places) for op, places, _ in caught.value.ops] == [("STABLEHLO_CASE", ["0:1"])]


def test_an_operator_of_files_from_before_there_were_127():
    def change(model: Any) -> None:
        model.operatorCodes[1].builtinCode = 0
        assert model.operatorCodes[1].deprecatedBuiltinCode == 25

    assert read(changed_dense(change)).signatures[0].graph.ops[1].kind == "tfl.SOFTMAX"


def _op(**fields: Any) -> Callable[[Any], None]:
    def change(model: Any) -> None:
        for name, value in fields.items():
            setattr(model.subgraphs[0].operators[0], name, value)

    return change


@pytest.mark.parametrize(
    ("change", "match"),
    [
        (_op(opcodeIndex=7), "operator 7, which is not there"),
        (_op(inputs=[0]), "do not fit together"),
        (_op(inputs=[0, 1, 2, 2]), "do not fit together"),
        (_op(inputs=[4, 1, 2]), "nothing makes it"),
        (_op(inputs=[3, 1, 2]), "nothing makes it"),
        (_op(inputs=[0, 1, -2]), "does not have"),
        (_op(outputs=[3, 4]), "makes 1 results, and not 2"),
        (_op(outputs=[]), "makes 1 results, and not 0"),
        (_op(outputs=[0]), "is made or read twice"),
        (_op(outputs=[1]), "has contents already"),
        (_op(customOptions=[1]), "options of a custom one"),
    ],
)
def test_damaged_operators(change: Callable[[Any], None], match: str) -> None:
    with pytest.raises(InputError, match=match):
        read(changed_dense(change))


def test_damaged_custom_operators():
    data = to_bytes(module_of(lambda tfl, x: tfl.custom("A", [x], [(x.dtype, x.shape)]), (types.FLOAT32, (2,))))

    def unnamed(model: Any) -> None:
        model.operatorCodes[0].customCode = b""

    def later(model: Any) -> None:
        model.operatorCodes[0].version = 2

    with pytest.raises(InputError, match="has no name"):
        read(changed(data, unnamed))
    with pytest.raises(UnsupportedError, match=r"custom op \w+ \(.+\) has a version of its own, .* converted$"):
        read(changed(data, later))


def _integers(model: Any) -> None:
    model.subgraphs[0].tensors[0].type = schema.TensorType.INT64


def test_a_result_of_another_type_than_its_op_makes_is_damage():
    """The kernel of RESHAPE copies all bytes of its operand, whatever room the result has."""
    data = to_bytes(module_of(lambda tfl, x: tfl.reshape(x, [3, 2]), (types.FLOAT32, (2, 3))))
    with pytest.raises(InputError, match=r"damaged .* makes int64, but its result is of type float32"):
        read(changed(data, _integers))


def test_a_cast_is_to_the_type_of_its_result():
    """The kernel goes by it, and TFLiteConverter's files have casts without options."""

    def change(model: Any) -> None:
        cast = model.subgraphs[0].operators[0]
        cast.builtinOptionsType, cast.builtinOptions = 0, None

    data = to_bytes(module_of(lambda tfl, x: tfl.cast(x, out_data_type="INT32"), (types.FLOAT32, (2, 3))))
    assert to_bytes(read(changed(data, change))) == data


def test_bytes_with_scales_beside_bytes_without_are_damage():
    """LiteRT's kernel of ADD divides by the scale that is not there, and aborts."""

    def build(tfl: Any, x: Any) -> Any:
        x.quantization = Quantization((0.1,), (0,))
        total = tfl.add(x, x)
        total.quantization = Quantization((0.2,), (0,))
        return total

    def change(model: Any) -> None:
        model.subgraphs[0].tensors[1].quantization = None

    data = to_bytes(module_of(build, (types.INT8, (2, 3))))
    assert read(data).signatures[0].graph.ops[0].type == "ADD"
    with pytest.raises(InputError, match=r"damaged .* of ADD .* have scales, and others have none"):
        read(changed(data, change))


@pytest.mark.parametrize("index", range(3))
def test_operands_that_a_kernel_requires(index: int) -> None:
    def change(model: Any) -> None:
        slice_ = model.subgraphs[0].operators[0]
        slice_.inputs = [-1 if place == index else each for place, each in enumerate(slice_.inputs)]

    data = to_bytes(module_of(lambda tfl, x: tfl.slice(x, [0, 0], [1, 2]), (types.FLOAT32, (4, 3))))
    with pytest.raises(InputError, match=rf"SLICE \(op\) lacks an operand that it needs: number {index}"):
        read(changed(data, change))


def test_operands_of_a_list_are_there() -> None:
    def change(model: Any) -> None:
        model.subgraphs[0].operators[0].inputs = [0, -1]

    data = to_bytes(module_of(lambda tfl, x: tfl.concatenation(x, x, axis=0), (types.FLOAT32, (4, 3))))
    with pytest.raises(InputError, match=r"CONCATENATION \(op\) lacks an operand that it needs: number 1"):
        read(changed(data, change))
