"""Build TFLite ops: `tfl.conv_2d(x, w, b, padding="SAME")` for each operator of the table."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

import fuseconv.tfl.folders
import fuseconv.tfl.ops  # noqa: F401  (both fill the table)
from fuseconv.errors import ILL_FITTING, suggestion
from fuseconv.ir import budget, types
from fuseconv.ir.dims import Dim, Shape, Sym, is_empty, is_static, open_sizes
from fuseconv.ir.graph import STATEFUL, FuncRef, Graph, Op, Value, constant, empty_constants
from fuseconv.ir.types import DType
from fuseconv.tfl.kernel_limits import WANT_ELEMENTS
from fuseconv.tfl.opdef import KERNELS, TABLE, ResultType
from fuseconv.tfl.schema import check_option
from fuseconv.tfl.type_inference import ShapeError, result_content

Operand = Value | np.ndarray | np.generic | int | float | bool | list | tuple | None

# A fold that would make a constant much larger than what it is made from is left to the runtime.
FOLD_GROWTH_BYTES = 1 << 20
# What a flexbuffer holds of Python's.
_OPTIONS = (bool, int, float, str, bytes)


class Builder:
    """Append ops to `out`; each is stamped with `name` and `sources`. The functions of loops go to `functions`.

    An operand may be a Value, a numpy array, a Python number (an axis or a size is int32, others take the type of the
    first Value among the operands) or a list of ints (an int32 vector). A method returns the result, or the list of
    results where the op has several. Ops on constants are computed at once where a numpy kernel is known, and so are
    ops on sizes: what is known of the elements of a shape is kept as their content.
    """

    __slots__ = ("functions", "name", "out", "sources")

    def __init__(
        self,
        out: list[Op],
        name: str = "",
        sources: tuple[str, ...] = (),
        functions: dict[str, Graph] | None = None,
    ) -> None:
        self.out = out
        self.name = name
        self.sources = sources
        self.functions = functions if functions is not None else {}

    def __getattr__(self, name: str) -> Callable[..., Any]:
        kind = name.rstrip("_").upper()
        if kind not in TABLE:
            help = suggestion(kind, TABLE)
            raise AttributeError(f"TFLite has no operator {kind} in the table of fuseconv.tfl.ops{help}")

        def build(self: Builder, *operands: Operand, results: list[ResultType] | None = None, **attrs: Any) -> Any:
            built = self.op(kind, operands, attrs, results)
            return built[0] if len(built) == 1 else built

        setattr(Builder, name, build)  # the next use finds it, and does not come here
        return build.__get__(self)

    def op(
        self,
        kind: str,
        operands: tuple[Operand, ...],
        attrs: dict[str, Any],
        results: list[ResultType] | None = None,
    ) -> list[Value]:
        """Build one op of the table and returns its results. `results` are their types, for an op whose operands do
        not tell them. Raises ShapeError for operands that do not fit together."""
        definition = TABLE[kind]
        values = self._values(operands, definition.indices)
        try:
            result_types = definition.result_types(values, attrs, results)
            if result_types and 0 in (result_types[0][1] or ()):
                empty = empty_constants(result_types, self.name)
                if empty:
                    return empty
            if kind in WANT_ELEMENTS and any(value is not None and is_empty(value.shape) for value in values):
                raise ShapeError("an operand has no elements")
            folded = self._fold(kind, values, attrs, result_types)
            known = result_content(kind, values, attrs) if folded is None else None
        except ILL_FITTING as error:
            # All three look at nothing but the operands and attributes.
            raise ShapeError(f"{kind}: {error}") from error
        if folded is not None:
            return [folded]
        if known is not None and not any(isinstance(item, Sym) for item in known.flat):
            dtype = result_types[0][0]
            return [constant(known.astype(dtype.numpy), dtype, self.name)]
        if attrs:
            attrs = definition.without_defaults(attrs)
            if definition.options is not None:
                for key, value in attrs.items():
                    check_option(definition.options, key, value)
        op = Op(f"tfl.{kind}", values, attrs, self.name, self.sources)
        for dtype, shape in result_types:
            op.add_result(dtype, shape)
        if known is not None:
            op.result.content = known
        self.out.append(op)
        return op.results

    def again(self, op: Op, operands: Sequence[Operand], attrs: dict[str, Any]) -> Value:
        """Build an op with one result once more, on operands of the same types and shapes, with attributes that mean
        the same type and shape of the result: conv(x, w) -> conv(x, w', b). So these need not be inferred again."""
        (result,) = op.results
        if result.content is not None:  # of sizes, the elements may be others now
            return self.op(op.type, tuple(operands), attrs)[0]
        definition = TABLE[op.type]
        values = self._values(tuple(operands), definition.indices)
        return self.typed_op(op.type, values, [(result.dtype, result.shape)], definition.without_defaults(attrs))[0]

    def custom(
        self,
        code: str,
        operands: Sequence[Operand],
        result_types: Sequence[tuple[DType, Shape | None]],
        options: bytes | dict[str, Any] | list[str | bytes] = b"",
        stateful: bool = False,
    ) -> list[Value]:
        """Build a CUSTOM op: `options` are its raw bytes, or a map (of numbers, texts, maps and lists of them) or
        a vector (of texts) that is written as a flexbuffer. Raises TypeError if they are something else.

        stateful: it changes what outlives it, and runs though nothing reads its results; so does one without results.
        """
        if not isinstance(code, str) or not code:
            raise TypeError(f"a custom op has a name, and not {code!r}")
        if not _are_options(options):
            raise TypeError(f"the options of {code} are bytes, a map or a list of texts, not {options!r}")
        values = self._values(tuple(operands), frozenset())
        attrs = {"custom_code": code, "custom_options": options} | ({STATEFUL: True} if stateful else {})
        return self.typed_op("CUSTOM", values, result_types, attrs)

    def typed_op(
        self,
        kind: str,
        operands: Sequence[Value | None],
        result_types: Sequence[tuple[DType, Shape | None]],
        attrs: dict[str, Any],
    ) -> list[Value]:
        """Build an op whose result types the table cannot tell: a loop, a branch, a custom op."""
        op = Op(f"tfl.{kind}", operands, attrs, self.name, self.sources)
        for dtype, shape in result_types:
            if not isinstance(dtype, DType):
                raise TypeError(f"the type of a result is a DType, such as that of an operand, not {dtype!r}")
            op.add_result(dtype, shape)
        self.out.append(op)
        return op.results

    def composite(
        self,
        name: str,
        operands: Sequence[Operand],
        body: Callable[..., Value | Sequence[Value]],
        attributes: Mapping[str, bool | int | float | str] | None = None,
    ) -> Any:
        """Build STABLEHLO_COMPOSITE; return its result, or the list of results where it has several.

        name: "odml.rms_norm", "acme.norm", ... and attributes are what a runtime knows the composite by. body takes a
        builder and a value for each operand, may read nothing else but constants, and returns what the composite
        computes: runtimes that do not know the name run it. Floats among the attributes become float32: readers take no
        wider ones (XNNPACK's flexbuffers_util.h)."""
        values = self._values(tuple(operands), frozenset())
        function = f"{self.name}:{name}_{len(self.functions)}"
        graph = self.functions[function] = Graph(function)
        inputs = [graph.add_input(x.dtype, x.shape, f"operand_{i}") for i, x in enumerate(values) if x is not None]
        assert len(inputs) == len(values), "an operand of a composite cannot be left out"
        made = body(self.within(graph.ops), *inputs)
        graph.outputs = [made] if isinstance(made, Value) else list(made)
        told = {key: float(np.float32(v)) if isinstance(v, float) else v for key, v in (attributes or {}).items()}
        attrs = {"name": name, "decomposition_subgraph_index": FuncRef(function), "composite_attributes": told or None}
        results = [(value.dtype, value.shape) for value in graph.outputs]
        built = self.op("STABLEHLO_COMPOSITE", tuple(values), attrs, results)
        return built[0] if len(built) == 1 else built

    def loop(
        self,
        condition: Callable[..., Value],
        body: Callable[..., Sequence[Value]],
        carried: Sequence[Value],
    ) -> list[Value]:
        """Build WHILE; return the carried values after `condition` has failed. Both functions take a builder and a
        value for each of those carried, and may read nothing else but constants; `body` returns the next ones, of the
        same types and shapes."""
        refs = {}
        for part, function in (("cond", condition), ("body", body)):
            name = f"{self.name}:{part}_{len(self.functions)}"  # no function of TensorFlow has a colon in its name
            graph = self.functions[name] = Graph(name)
            values = [graph.add_input(x.dtype, x.shape, f"carried_{index}") for index, x in enumerate(carried)]
            made = function(self.within(graph.ops), *values)
            graph.outputs = [made] if isinstance(made, Value) else made
            refs[f"{part}_subgraph_index"] = FuncRef(name)
        return self.typed_op("WHILE", carried, [(x.dtype, x.shape) for x in carried], refs)

    def repeat(
        self, count: int | Value, body: Callable[..., Sequence[Value]], carried: Sequence[Value]
    ) -> list[Value]:
        """Build a loop that runs `body` for 0, 1, ... up to `count` (int32), which it gets before what is carried."""
        first = self.const(np.array(0, np.int32))
        limit = count if isinstance(count, Value) else self.const(np.array(count, np.int32))

        def more(tfl: Builder, step: Value, end: Value, *_: Value) -> Value:
            return tfl.less(step, end)

        def once(tfl: Builder, step: Value, end: Value, *values: Value) -> list[Value]:
            return [tfl.add(step, 1), end, *body(tfl, step, *values)]

        return self.loop(more, once, [first, limit, *carried])[2:]

    def within(self, ops: list[Op]) -> Builder:
        """Return the same builder for another graph: that of a function."""
        return Builder(ops, self.name, self.sources, self.functions)

    def const(self, data: Any, dtype: DType | None = None, name: str = "") -> Value:
        """Return a constant; anything but an array is converted to `dtype`."""
        return constant(data, dtype, name or self.name)

    def ints(self, dims: list[Dim] | tuple[Dim, ...]) -> Value:
        """Return an int32 vector of known sizes."""
        return constant(np.array(dims, np.int32), types.INT32, self.name)

    def static_shape(self, shape: Shape | None) -> list[int] | None:
        """Return the shape as a RESHAPE takes it, with at most one unknown dimension as -1; None if there are more."""
        if shape is None or sum(isinstance(dim, Sym) for dim in shape) > 1:
            return None
        if not is_static(shape) and 0 in shape:
            return None
        return open_sizes(shape)

    def _values(self, operands: tuple[Operand, ...], indices: frozenset[int]) -> list[Value | None]:
        """Return operands as values: arrays become constants, lists int32 vectors, numbers constants of the type that
        the first value has, or int32 where they are indices."""
        values: list[Any] = list(operands)
        for index, operand in enumerate(operands):
            if operand is None or isinstance(operand, Value):
                continue
            if isinstance(operand, (np.ndarray, np.generic)):
                values[index] = constant(np.asarray(operand), None, self.name)
            elif isinstance(operand, (list, tuple)):
                values[index] = self.ints(operand)
            else:
                like = next((o.dtype for o in operands if isinstance(o, Value)), None)
                values[index] = constant(operand, types.INT32 if index in indices else like, self.name)
        return values

    def _fold(
        self, kind: str, values: list[Value | None], attrs: dict[str, Any], result_types: list
    ) -> Value | None:
        """Fold an op on constants to a constant; None if an operand is none, no folder knows the op, or the result
        would be much larger than its operands."""
        if kind == "RANK" and values[0] is not None and values[0].rank is not None:
            return constant(np.array(values[0].rank, np.int32), types.INT32, self.name)
        compute = KERNELS.get(kind)
        if compute is None:
            return None
        for value in values:
            if value is not None and (value.data is None or value.quantization):
                return None
        arrays = [None if value is None else value.data for value in values]
        dtype, shape = result_types[0]
        size = math.prod(shape) * dtype.numpy.itemsize if is_static(shape) else 0
        if size > FOLD_GROWTH_BYTES and size > 4 * sum(a.nbytes for a in arrays if a is not None):
            return None
        if not budget.has_room(size):
            return None
        name = next((value.name for value in values if value is not None and value.name), self.name)
        result = compute(*arrays, **attrs)
        return None if result is None else constant(result, dtype, name)


def _are_options(options: Any) -> bool:
    """Return True for a value that can be the options of a custom op."""
    if isinstance(options, dict):
        items = [item for v in options.values() for item in (v if isinstance(v, (list, tuple)) else (v,))]
        held = all(type(item) in _OPTIONS or (isinstance(item, dict) and _are_options(item)) for item in items)
        return held and all(isinstance(key, str) for key in options)
    if isinstance(options, (list, tuple)):
        return all(isinstance(item, (str, bytes)) for item in options)
    return isinstance(options, bytes)


def with_shape(value: Value, shape: Shape | None) -> Value:
    """Return what was built with its shape, which is known better than its operands tell; a constant has its own."""
    if not value.is_const:
        value.shape = shape
    return value
