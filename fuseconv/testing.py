"""For the tests of rules and fusions, plug-ins' included: converts a TensorFlow function and holds the file against it.

    def test_a_dense_layer_is_one_op():
        w = np.random.default_rng(0).standard_normal((5, 3), np.float32)
        check(lambda x: tf.matmul(x, w), tf.TensorSpec([None, 5]), ops=["FULLY_CONNECTED"])

Assertions are plain ones, so that any test runner shows them. Needs TensorFlow and ai-edge-litert.
"""

from __future__ import annotations

import itertools
import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from fuseconv.api import convert
from fuseconv.custom_op_file import CustomFunction, CustomOpFile
from fuseconv.errors import InputError, UnsupportedError, needing_packages
from fuseconv.fuse.isolation import signature_tensors
from fuseconv.ir import types
from fuseconv.report.records import Report
from fuseconv.runners import as_array, scalar_string
from fuseconv.tfl.generated_schema import generated

Draw = Callable[[np.random.Generator, tuple[int, ...], np.dtype], np.ndarray]
Inputs = Sequence[np.ndarray] | Draw


@dataclass(frozen=True)
class Converted:
    """A function and what it became.

    function: the traced function, from tensors to a flat list of tensors. data: the file. ops: the types of its ops, in
    their order, those of loops' and branches' subgraphs last; custom ops by their own code.
    """

    function: Callable[..., list[Any]]
    data: bytes
    report: Report
    ops: list[str]

    @property
    def fused(self) -> list[str]:
        """Return the names of the fusions that were made, in their order."""
        return [record.rule for record in self.report.records if record.kind == "fused"]

    @property
    def refused(self) -> dict[str, str]:
        """Return the fusions that were not made, each with the last reason."""
        return {record.rule: record.why for record in self.report.records if record.kind == "refused"}

    def custom_options(self, code: str) -> bytes:
        """Return the options of the first custom op of this name, as bytes: `flexbuffers.Loads` reads a map."""
        model = generated.Model.GetRootAs(self.data, 0)
        for number in range(model.SubgraphsLength()):
            graph = model.Subgraphs(number)
            for index in range(graph.OperatorsLength()):
                op = graph.Operators(index)
                if model.OperatorCodes(op.OpcodeIndex()).CustomCode() == code.encode():
                    return b"" if op.CustomOptionsIsNone() else op.CustomOptionsAsNumpy().tobytes()
        raise AssertionError(f"there is no custom op {code}, the ops are {self.ops}")


def implements(name: str, /, **attrs: bool | int | float | str | list) -> str:
    """Return the annotation for `tf.function(experimental_implements=...)`: a composite's name with attributes."""
    signature = f"name: {json.dumps(name)}"
    for key, value in attrs.items():
        items = value if isinstance(value, list) else [value]
        text = " ".join(f"{_attr_kind(items[0])}: {json.dumps(item)}" for item in items)
        text = f"list {{ {text} }}" if value is items else text
        signature += f" attr {{ key: {json.dumps(key)} value {{ {text} }} }}"
    return signature


def _attr_kind(value: Any) -> str:
    """Return the field of TensorFlow's AttrValue that holds a value."""
    kinds = {bool: "b", int: "i", float: "f", str: "s"}
    if type(value) not in kinds:
        raise TypeError(f"an attribute is a bool, int, float, str, or a list of one of these, not {value!r}")
    return kinds[type(value)]


def convert_function(fn: Callable[..., Any], *specs: Any, **options: Any) -> Converted:
    """Convert a function of tensors.

    fn: a plain function, a `tf.function` or a layer; returns a tensor or a structure of them. specs: a `tf.TensorSpec`
    for each argument, unknown dimensions included. options: those of `fuseconv.convert`. Raises what that raises.
    """
    with needing_packages("fuseconv.testing"):
        import tensorflow as tf

    if not callable(fn):
        raise InputError(f"a function of tensors is converted here, and not {fn!r}: fuseconv.convert takes models")
    for spec in specs:
        if not isinstance(getattr(spec, "shape", None), tf.TensorShape):
            raise InputError(f"an argument is told by a tf.TensorSpec, such as tf.TensorSpec([None, 3]), not {spec!r}")

    def run(*args: Any) -> dict[str, Any]:
        results = tf.nest.flatten(fn(*args))
        return {f"y{index}": result for index, result in enumerate(results)}

    named = [tf.TensorSpec(spec.shape, spec.dtype, f"x{index}") for index, spec in enumerate(specs)]
    concrete = _traced(run, named)
    conversion = convert(concrete, **options)
    assert conversion.data is not None

    def function(*args: Any) -> list[Any]:
        results = concrete(*args)
        return [results[f"y{index}"] for index in range(len(results))]

    return Converted(function, conversion.data, conversion.report, [op.type for op in conversion.report.emitted])


def _traced(fn: Callable[..., Any], specs: Sequence[Any]) -> Any:
    """Return the concrete function of a plain one; AutoGraph, which takes longer to read a function's source than
    TensorFlow to trace it, has a say only where Python's own branches, loops and numbers are not enough."""
    import tensorflow as tf

    try:
        return tf.function(fn, autograph=False).get_concrete_function(*specs)
    except TypeError:  # what a tensor that is not known yet says to `if`, `while`, `for`, `range` and `int`
        return tf.function(fn).get_concrete_function(*specs)


def check(
    fn: Callable[..., Any],
    *specs: Any,
    batches: Sequence[int] = (2, 3),
    atol: float = 1e-5,
    ops: Iterable[str] | None = None,
    inputs: Inputs | None = None,
    seed: int = 0,
    static: bool = True,
    reference: Callable[..., Any] | None = None,
    custom_ops: Mapping[str, CustomFunction] | Sequence[str] = (),
    **options: Any,
) -> Converted:
    """Convert a function and assert that the file computes what TensorFlow does, and the report tells of every node.

    The file runs in LiteRT with its default delegates and without any, twice in a row on different inputs for each size
    of the batch. Dtypes and shapes must be TensorFlow's; whole numbers, booleans and strings must be equal, NaNs and
    infinities in the same places, and other numbers within `atol` of the largest one, or two units of their precision.

    batches: the sizes that an unknown first dimension takes; other unknown ones are 5 larger. ops: the types of the
    file's ops, in any order. inputs: arrays, used in every run, or a function of a generator, a shape and a numpy type
    that draws one. By default floats are normally distributed, integers of 8 bits come from their whole range, and
    others lie within 10 of zero, or of the largest of 32 or 64 bits. static: convert a second time with the unknown
    dimensions fixed. reference: a function that computes the same, where TensorFlow does not run the ops on a CPU.
    custom_ops: what custom ops
    of the file compute, by their names: functions of arrays, as `CustomOpFile` calls them; or names alone, as an
    option. options: those of `fuseconv.convert`.
    """
    rng = np.random.default_rng(seed)
    functions = custom_ops if isinstance(custom_ops, Mapping) else {}
    options["custom_ops"] = list(custom_ops)
    converted = _converted(fn, specs, reference, options)
    lost = [name for name, fate in converted.report.account().items() if not fate]
    assert not lost, f"the report does not say what became of {lost}"
    if ops is not None:
        wanted = list(ops)
        assert Counter(converted.ops) == Counter(wanted), f"the ops are {converted.ops}, and not {wanted}"
    dynamic = any(None in spec.shape.as_list() for spec in specs)
    sizes = batches if dynamic else batches[:1]
    _compare(converted, specs, sizes, inputs, atol, rng, functions)
    if dynamic and static and _fixes_sizes():
        fixed = [_fixed(spec, sizes[-1]) for spec in specs]
        _compare(_converted(fn, fixed, reference, options), fixed, sizes[-1:], inputs, atol, rng, functions)
    return converted


def _fixes_sizes() -> bool:
    """Return whether `check` converts a second time. fuseconv's own tests leave it out in some of many like cases."""
    return True


def _converted(
    fn: Callable[..., Any], specs: Sequence[Any], reference: Callable[..., Any] | None, options: dict[str, Any]
) -> Converted:
    converted = convert_function(fn, *specs, **options)
    if reference is None:
        return converted
    import tensorflow as tf

    return replace(converted, function=lambda *args: tf.nest.flatten(reference(*args)))


def check_refused(fn: Callable[..., Any], *specs: Any, match: str = "", **options: Any) -> UnsupportedError:
    """Assert that a function is refused for a reason in which the pattern `match` is found; return the error."""
    try:
        convert_function(fn, *specs, **options)
    except UnsupportedError as error:
        reasons = [f"{op}: {why}" for op, _, why in error.ops]
        assert any(re.search(match, reason) for reason in reasons), f"{match!r} is not in {reasons}"
        return error
    raise AssertionError("the function was converted")


def assert_close(actual: np.ndarray, expected: np.ndarray, atol: float = 1e-5) -> None:
    """Assert that an array is the expected one, as `check` does."""
    assert actual.dtype == expected.dtype, f"dtype {actual.dtype}, not {expected.dtype}"
    assert actual.shape == expected.shape, f"shape {actual.shape}, not {expected.shape}"
    dtype = types.of_array(expected)
    if not (dtype.is_float or dtype.is_complex):
        np.testing.assert_array_equal(actual, expected)
        return
    wide = np.complex128 if dtype.is_complex else np.float64
    a, b = actual.astype(wide), expected.astype(wide)
    finite = np.isfinite(b)
    np.testing.assert_array_equal(a[~finite], b[~finite])
    if not finite.any():
        return
    tolerance = atol if dtype.is_complex else max(atol, 2 * _epsilon(dtype))
    error = np.abs(a[finite] - b[finite]).max()
    scale = np.abs(b[finite]).max()
    assert error <= tolerance * (scale or 1), f"an error of {error:.3g} where values reach {scale:.3g}"


def _epsilon(dtype: types.DType) -> float:
    return 2.0**-8 if dtype is types.BFLOAT16 else float(np.finfo(dtype.numpy).eps)


def _fixed(spec: Any, batch: int) -> Any:
    """Return the spec with sizes for its unknown dimensions."""
    import tensorflow as tf

    given = spec.shape.as_list()
    sizes = [batch if axis == 0 else batch + 5 for axis in range(len(given))]
    return tf.TensorSpec([size if dim is None else dim for dim, size in zip(given, sizes)], spec.dtype)


def _compare(
    converted: Converted, specs: Sequence[Any], batches: Sequence[int], inputs: Inputs | None, atol: float, rng: Any,
    functions: Mapping[str, CustomFunction],
) -> None:
    """Run a file on random batches, twice each, with and without delegates, and hold it to what the function returns.
    Raises AssertionError, which tells the run."""
    from ai_edge_litert.interpreter import Interpreter, OpResolverType

    runs = list(itertools.product(batches, range(2)))
    given = [_arrays([_fixed(spec, batch) for spec in specs], inputs, rng) for batch, _ in runs]
    with _as_traced():
        made = [converted.function(*_tensors(arrays, specs)) for arrays in given]
        wanted = [[as_array(result.numpy()) for result in results] for results in made]
    if functions:
        _compare_cut(converted, functions, runs, given, wanted, atol)
        return
    for resolver in (OpResolverType.AUTO, OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES):
        interpreter = Interpreter(model_content=converted.data, experimental_op_resolver_type=resolver)
        for (batch, number), arrays, expected in zip(runs, given, wanted):
            actual = _invoke(interpreter, arrays, allocate=number == 0)
            assert len(actual) == len(expected), f"{len(actual)} results, not {len(expected)}"
            where = f"batch {batch}, invoke {number + 1}, {resolver.name}, ops {converted.ops}"
            try:
                _assert_all_close(actual, expected, atol, where)
            except AssertionError:
                if number or arrays is given[0] or resolver is not OpResolverType.AUTO:
                    raise
                # Once in some 100,000 resizes XNNPACK (LiteRT 2.3) leaves out a RESHAPE or a like copy between its own
                # memory and a tensor of LiteRT's: when the memory that its runtimes share moves, and the copy's new
                # place happens to be the other tensor's old one, it counts as needless until the next resize.
                _invoke(interpreter, given[0], allocate=True)
                _assert_all_close(_invoke(interpreter, arrays, allocate=True), expected, atol, where)


def _compare_cut(
    converted: Converted, functions: Mapping[str, CustomFunction], runs: Sequence[Any], given: Sequence[Any],
    wanted: Sequence[Any], atol: float,
) -> None:  # fmt: skip
    """Compare a file whose custom ops functions compute, with the default delegates and without."""
    for delegates in (True, False):
        file = CustomOpFile(converted.data, functions, delegates)
        for (batch, number), arrays, expected in zip(runs, given, wanted):
            results = file.run({f"x{index}": array for index, array in enumerate(arrays)})
            where = f"batch {batch}, invoke {number + 1}, cut at custom ops, ops {converted.ops}"
            _assert_all_close([results[f"y{index}"] for index in range(len(results))], expected, atol, where)


def _assert_all_close(actual: Sequence[np.ndarray], expected: Sequence[Any], atol: float, where: str) -> None:
    for index, (a, b) in enumerate(zip(actual, expected)):
        try:
            assert_close(a, np.asarray(b), atol)
        except AssertionError as error:
            raise AssertionError(f"result {index}, {where}: {error}") from None


@contextmanager
def _as_traced() -> Iterator[None]:
    """Let TensorFlow run functions as they were traced: to rewrite a graph takes it longer than the few runs."""
    import tensorflow as tf

    options = tf.config.optimizer
    before = options.get_experimental_options().get("disable_meta_optimizer", False)
    options.set_experimental_options({"disable_meta_optimizer": True})
    try:
        yield
    finally:
        options.set_experimental_options({"disable_meta_optimizer": before})


def _tensors(arrays: Sequence[np.ndarray], specs: Sequence[Any]) -> list[Any]:
    import tensorflow as tf

    return [tf.constant(array, spec.dtype) for array, spec in zip(arrays, specs)]


def _arrays(specs: Sequence[Any], inputs: Inputs | None, rng: np.random.Generator) -> list[np.ndarray]:
    if inputs is not None and not callable(inputs):
        return list(inputs)
    draw = inputs or _draw
    dtypes = [types.BY_TF[spec.dtype.as_datatype_enum].numpy for spec in specs]
    return [draw(rng, tuple(spec.shape.as_list()), dtype) for spec, dtype in zip(specs, dtypes)]


def _draw(rng: np.random.Generator, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    """Draw an array: normal numbers, integers as `check` tells, words of three letters."""
    if dtype == np.bool_:
        return rng.integers(0, 2, shape).astype(bool)
    if dtype.kind == "O":
        words = [bytes(word) for word in rng.integers(97, 123, (int(np.prod(shape)), 3)).astype(np.uint8)]
        return np.array(words, object).reshape(shape)
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        low, high = (info.min, info.max + 1) if info.bits == 8 else (max(info.min, -10), 11)
        drawn = rng.integers(low, high, shape).astype(dtype)
        if info.bits > 16:  # no narrower type holds every fourth, and no float
            drawn = np.where(rng.integers(0, 4, shape) == 0, info.max - np.abs(drawn), drawn).astype(dtype)
        return drawn
    real = rng.standard_normal(shape)
    return (real + 1j * rng.standard_normal(shape) if dtype.kind == "c" else real).astype(dtype)


def _invoke(interpreter: Any, arrays: Sequence[np.ndarray], allocate: bool) -> list[np.ndarray]:
    """Run the file's only signature once; tensors are kept from the last run unless it is to allocate."""
    inputs, outputs = signature_tensors(interpreter)
    if allocate:
        for index, array in zip(inputs, arrays):
            interpreter.resize_tensor_input(index, array.shape)
        interpreter.allocate_tensors()
    for index, array in zip(inputs, arrays):
        if array.size:
            interpreter.set_tensor(index, scalar_string(array))
    interpreter.invoke()
    details = {detail["index"]: detail for detail in interpreter.get_output_details()}
    return [_result(interpreter, details[index]) for index in outputs]


def _result(interpreter: Any, detail: dict[str, Any]) -> np.ndarray:
    if 0 in detail["shape"]:  # the interpreter has no buffer to give
        return np.empty(detail["shape"], detail["dtype"])
    return interpreter.get_tensor(detail["index"])
