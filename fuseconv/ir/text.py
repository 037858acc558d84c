"""The IR as text, and back.

    graph "main" {
      input %0 "x": float32[x.0,8]
      const %1 "dense/kernel": float32[8,2] = zlib:eJxj...
      variable %3 "lstm/c": float32[1,4] {'variable': True}
      %2 "dense/MatMul": float32[x.0,2] = tfl.FULLY_CONNECTED(%0, %1, _) {} "dense/MatMul" from ["dense/MatMul"]
      return %2
    }
    signature ["serving_default"] "main" ["x"] ["dense"]

A value of quantized numbers tells their scale and zero point behind its shape, `int8[2,3]<0.5:-3>`, or those along an
axis, `int8[2,3]<0.5,0.25@0>`; a zero point of 0 is left out. An op that is to be refused ends in `rejected "why"`, or
in `hopeless "why"` if no kernel could run it. Constants are written whole, so that what is printed can be parsed;
`elide` leaves the larger ones out for reading.
"""

from __future__ import annotations

import ast
import base64
import json
import re
import zlib
from collections.abc import Iterator
from typing import Any

import numpy as np

from fuseconv.errors import FuseconvError
from fuseconv.ir import dims, types
from fuseconv.ir.dims import Dim, Shape, Sym
from fuseconv.ir.graph import FuncRef, Graph, Module, Op, Quantization, Rejection, Signature, Value, constant

_SYMBOL = re.compile(r"[A-Za-z_?][\w.?]*")
_PLAIN_SYMBOL = re.compile(r"[A-Za-z_?][\w.?]*\Z")
_VALUE = re.compile(r'%(\d+) ("(?:[^"\\]|\\.)*"): (\w+)\[(.*?)\](?:<(.*?)>)?(?: \{(.*)\})?$')
_OP = re.compile(
    r'(?:(.*?) = )?([\w.]+)\((.*?)\) (\{.*\}) ("(?:[^"\\]|\\.)*") from (\[.*\])'
    r'(?: (rejected|hopeless) ("(?:[^"\\]|\\.)*"))?$'
)


def print_module(module: Module, elide: int | None = None) -> str:
    """Print the text of a module. elide: leave out the contents of constants with more elements than this."""
    lines = [line for graph in module.graphs() for line in _graph_lines(graph, elide)]
    for s in module.signatures:
        parts = (s.names, s.graph.name, s.inputs, s.outputs)
        lines.append("signature " + " ".join(json.dumps(part) for part in parts))
    return "\n".join(lines) + "\n"


def parse_module(text: str) -> Module:
    """Parse the module that `print_module` printed. Raises FuseconvError on a line that it cannot read."""
    return _Parser(text).module()


def _graph_lines(graph: Graph, elide: int | None) -> Iterator[str]:
    """Yield the lines of a graph. Values have numbers in the order in which they come; a constant stands in front of
    the first op that reads it. elide: as for `print_module`."""
    numbers: dict[Value, int] = {}

    def declare(value: Value) -> str:
        return _value_text(value, numbers.setdefault(value, len(numbers)))

    yield f"graph {json.dumps(graph.name)} {{"
    if graph.attrs:
        yield f"  attrs {_encode(graph.attrs)!r}"
    for value in graph.inputs:
        yield f"  input {declare(value)}"
    for op in (*graph.ops, graph.terminator):
        for operand in op.operands:
            if operand is not None and operand.data is not None and operand not in numbers:
                yield f"  const {declare(operand)} = {_array_text(operand.data, elide)}"
            elif operand is not None and operand.variable and operand.op is None and operand not in numbers:
                yield f"  variable {declare(operand)}"
        operands = ", ".join("_" if v is None else f"%{numbers[v]}" for v in op.operands)
        if op is graph.terminator:
            yield f"  return {operands}".rstrip()
            continue
        results = "; ".join(declare(value) for value in op.results)
        attrs = repr(_encode(op.attrs))
        call = f"{op.kind}({operands}) {attrs} {json.dumps(op.name)} from {json.dumps(op.sources)}"
        if op.rejection is not None:
            call += f" {'hopeless' if op.rejection.hopeless else 'rejected'} {json.dumps(op.rejection.why)}"
        yield f"  {results} = {call}" if results else f"  {call}"
    yield "}"


def _value_text(value: Value, number: int) -> str:
    extras: dict[str, Any] = {}
    if value.variable:
        extras["variable"] = True
    suffix = f" {extras!r}" if extras else ""
    quantization = _quantization_text(value.quantization)
    return f"%{number} {json.dumps(value.name)}: {value.dtype}[{_shape_text(value.shape)}]{quantization}{suffix}"


def _quantization_text(quantization: Quantization | None) -> str:
    if quantization is None:
        return ""
    if quantization.blocks is not None:
        return f"<in blocks: {quantization.blocks.shape[1]}>"  # type: ignore[index]
    pairs = zip(quantization.scale, quantization.zero_point, strict=True)
    items = ",".join(f"{scale!r}:{zero}" if zero else repr(scale) for scale, zero in pairs)
    return f"<{items}@{quantization.axis}>" if len(quantization.scale) > 1 or quantization.axis else f"<{items}>"


def _parse_quantization(text: str) -> Quantization:
    items, _, axis = text.partition("@")
    pairs = [item.partition(":") for item in items.split(",")]
    return Quantization(
        tuple(float(scale) for scale, _, _ in pairs), tuple(int(zero or 0) for _, _, zero in pairs), int(axis or 0)
    )


def _shape_text(shape: Shape | None) -> str:
    return "*" if shape is None else ",".join(map(_dim_text, shape))


def _dim_text(dim: Dim) -> str:
    """Return a size as `_parse_dim` reads it: 3*n+((n)//(2))+1. Symbols that are no plain names are written in
    hexadecimal."""
    if not isinstance(dim, Sym):
        return str(dim)
    terms = []
    for monomial, coefficient in dim.terms:
        factors = [str(coefficient)] if coefficient != 1 or not monomial else []
        for atom in monomial:
            if not isinstance(atom, str):
                factors.append(f"(({_dim_text(atom[1])})//({_dim_text(atom[2])}))")
            elif _PLAIN_SYMBOL.match(atom):
                factors.append(atom)
            else:
                factors.append(f"sym{atom.encode().hex()}")
        terms.append("*".join(factors))
    return "+".join(terms)


def _array_text(array: np.ndarray, elide: int | None) -> str:
    if elide is not None and array.size > elide:
        return f"... ({array.size} elements)"
    if array.dtype == object:
        return "strings:" + repr([bytes(x) for x in array.flat])
    if array.size <= 16 and array.dtype.kind in "biuf":
        return repr(array.tolist())
    return "zlib:" + base64.b64encode(zlib.compress(np.ascontiguousarray(array).tobytes())).decode()


def _encode(value: Any) -> Any:
    """Encode attributes as Python literals."""
    if isinstance(value, dict):
        return {key: _encode(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(_encode(item) for item in value)
    if isinstance(value, types.DType):
        return {"dtype": value.name}
    if isinstance(value, FuncRef):
        return {"function": value.name} | ({"attrs": _encode(value.attrs)} if value.attrs else {})
    if isinstance(value, Value):
        return {"value": _value_text(value, 0)}
    if isinstance(value, np.ndarray):
        dtype = types.of_array(value).name
        return {"array": dtype, "shape": value.shape, "data": _array_text(value, None)}
    return value.item() if isinstance(value, np.generic) else value


def _decode(value: Any) -> Any:
    """Decode the literal that `_encode` made of an attribute."""
    if isinstance(value, (list, tuple)):
        return type(value)(_decode(item) for item in value)
    if not isinstance(value, dict):
        return value
    if value.keys() == {"dtype"}:
        return types.BY_NAME[value["dtype"]]
    if value.keys() == {"value"}:
        return _parse_value(value["value"])[1]
    if value.keys() <= {"function", "attrs"} and "function" in value:
        return FuncRef(value["function"], _decode_attributes(value.get("attrs", {})))
    if value.keys() == {"array", "shape", "data"}:
        return _parse_array(value["data"], types.BY_NAME[value["array"]], value["shape"])
    return _decode_attributes(value)


def _decode_attributes(attributes: dict[str, Any]) -> dict[str, Any]:
    """Decode attributes by name, whatever the names: "dtype" is one of many ops'."""
    return {key: _decode(item) for key, item in attributes.items()}


def _parse_array(text: str, dtype: types.DType, shape: Any) -> np.ndarray:
    if text.startswith("..."):
        raise FuseconvError("text with elided constants cannot be parsed; print it whole")
    if text.startswith("zlib:"):
        return np.frombuffer(zlib.decompress(base64.b64decode(text[5:])), dtype.numpy).reshape(shape)
    if text.startswith("strings:"):
        array = np.empty(shape, object)
        array[...] = np.array(ast.literal_eval(text[8:]), object).reshape(shape)
        return array
    # float() reads the "nan" and "inf" that a list's repr holds.
    return np.array(json.loads(_json_numbers(text)), dtype.numpy).reshape(shape)


def _json_numbers(text: str) -> str:
    for python, javascript in (("nan", "NaN"), ("inf", "Infinity"), ("True", "true"), ("False", "false")):
        text = text.replace(python, javascript)
    return text


def _parse_dim(text: str) -> Dim:
    """Parse a size: sums, products and // of integers and names. Raises FuseconvError for anything else."""
    names: list[str] = []

    def replace(match: re.Match) -> str:
        names.append(match.group())
        return f"s{len(names) - 1}"

    tree = ast.parse(_SYMBOL.sub(replace, text), mode="eval").body

    def evaluate(node: ast.expr) -> Dim:
        if isinstance(node, ast.Constant) and isinstance(node.value, int):
            return node.value
        if isinstance(node, ast.Name):
            name = names[int(node.id[1:])]
            hexadecimal = re.fullmatch(r"sym((?:[0-9a-f]{2})+)", name)
            return dims.symbol(bytes.fromhex(hexadecimal.group(1)).decode() if hexadecimal else name)
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            return -evaluate(node.operand)
        if isinstance(node, ast.BinOp):
            left, right = evaluate(node.left), evaluate(node.right)
            if isinstance(node.op, ast.Add):
                return left + right
            if isinstance(node.op, ast.Mult):
                return left * right
            if isinstance(node.op, ast.FloorDiv):
                return dims.floordiv(left, right)
        raise FuseconvError(f"{text} is not a dimension")

    return evaluate(tree)


class _Parser:
    """Lines that are still to be parsed, and the graphs that were, by their names."""

    def __init__(self, text: str) -> None:
        self.lines = iter(text.splitlines())
        self.graphs: dict[str, Graph] = {}

    def module(self) -> Module:
        """Parse all graphs and signatures; graphs that no signature names are functions."""
        module = Module()
        for line in self.lines:
            if line.startswith("graph "):
                self.graph(json.loads(line[6:-2]))
            elif line.startswith("signature "):
                names, graph, inputs, outputs = json.loads(f"[{_between(line[10:])}]")
                module.signatures.append(Signature(names, self.graphs[graph], inputs, outputs))
            elif line.strip():
                raise FuseconvError(f"cannot read the line: {line}")
        entries = {signature.graph.name for signature in module.signatures}
        module.functions = {name: graph for name, graph in self.graphs.items() if name not in entries}
        return module

    def graph(self, name: str) -> None:
        """Parse the lines of a graph, up to its closing brace."""
        graph = self.graphs[name] = Graph(name)
        values: dict[int, Value] = {}
        for line in self.lines:
            head, _, rest = line.strip().partition(" ")
            if head == "}":
                return
            if not head:
                continue
            if head == "attrs":
                graph.attrs = _decode_attributes(ast.literal_eval(rest))
            elif head == "input":
                number, value = _parse_value(rest)
                values[number] = value
                graph.inputs.append(value)
            elif head == "const":
                declared, _, data = rest.partition(" = ")
                number, value = _parse_value(declared)
                array = _parse_array(data, value.dtype, value.shape)
                values[number] = constant(array, value.dtype, value.name)
                values[number].quantization = value.quantization
            elif head == "variable":
                number, value = _parse_value(rest)
                values[number] = value
            elif head == "return":
                graph.outputs = [values[int(n[1:])] for n in rest.split(", ") if n]
            else:
                graph.ops.append(_parse_op(line.strip(), values))


def _between(text: str) -> str:
    """Return the JSON values of a line that stand side by side, with commas between them."""
    decoder, parts = json.JSONDecoder(), []
    while text:
        value, end = decoder.raw_decode(text)
        parts.append(json.dumps(value))
        text = text[end:].lstrip()
    return ",".join(parts)


def _parse_value(text: str) -> tuple[int, Value]:
    """Parse a value: %3 "name": float32[2,n]<quantization> {extras} -> its number, and the value."""
    match = _VALUE.match(text)
    if match is None:
        raise FuseconvError(f"cannot read the value: {text}")
    number, name, dtype, shape, quantization, extras = match.groups()
    parsed = None if shape == "*" else tuple(_parse_dim(dim) for dim in shape.split(",") if dim)
    value = Value(types.BY_NAME[dtype], parsed, json.loads(name))
    for key, extra in ast.literal_eval(f"{{{extras}}}").items() if extras else ():
        setattr(value, key, extra)
    if quantization is not None:
        value.quantization = _parse_quantization(quantization)
    return int(number), value


def _parse_op(line: str, values: dict[int, Value]) -> Op:
    """Parse the line of an op, and note its results by their numbers in `values`."""
    match = _OP.match(line)
    if match is None:
        raise FuseconvError(f"cannot read the op: {line}")
    results, kind, operands, attrs, name, sources, rejected, why = match.groups()
    read = [None if text == "_" else values[int(text[1:])] for text in operands.split(", ") if text]
    op = Op(kind, read, _decode_attributes(ast.literal_eval(attrs)), json.loads(name), tuple(json.loads(sources)))
    if rejected:
        op.rejection = Rejection(json.loads(why), rejected == "hopeless")
    for text in results.split("; ") if results else ():
        number, value = _parse_value(text)
        value.op, value.index = op, len(op.results)
        op.results.append(value)
        values[number] = value
    return op
