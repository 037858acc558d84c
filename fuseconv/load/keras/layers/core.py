"""Dense and embedding layers, and those that hand on what they get where nothing is trained."""

from __future__ import annotations

import math
import string
from collections.abc import Callable, Sequence
from typing import Any

from fuseconv.ir import types
from fuseconv.ir.graph import Value
from fuseconv.load.keras.call import Call
from fuseconv.load.keras.layers.activations import activate, added, number
from fuseconv.load.keras.layers.quantized import quantized_kernel, quantized_table, reversed_table
from fuseconv.load.keras.parts import UNNAMED
from fuseconv.load.keras.registry import ANY, OWN, PASS, PASS_IN_3, builtin

NO_LORA: dict[str, Any] = {"lora_rank": None, "lora_alpha": None}


def product(k: Call, x: Value, matrix: Value) -> Value:
    """Multiply the last dimension of x by a matrix: [..., n] x [n, m] -> [..., m]."""
    rank = len(k.shape(x))
    if rank == 2:
        return k.tf.MatMul(x, matrix)
    rows = k.tf.MatMul(k.tf.reshaped(x, [-1, k.known(matrix, 0)]), matrix)
    return k.tf.Reshape(rows, sizes_of(k, x, [*map(str, range(rank - 1)), k.known(matrix, 1)]))


def sizes_of(k: Call, x: Value, dims: Sequence[Any]) -> Value:
    """Return a vector of sizes: ints as they are, and those of x by their position as text."""
    sizes = [k.tf.ints(dim) if isinstance(dim, int) else k.tf.dim(x, int(dim)) for dim in dims]
    if all(size.is_const for size in sizes):
        return k.tf.ints([int(size.data) for size in sizes])  # type: ignore[arg-type]
    return k.tf.Pack(*sizes)


@builtin("Dense", masks=PASS, half=True, quantized=True, **NO_LORA)
def dense(
    k: Call, x: Value, *, units: int, activation: str | dict | None = None, use_bias: bool = True,
    quantization_config: dict | None = None,
) -> Value:  # fmt: skip
    size = k.known(x, -1)
    quantized = quantized_kernel(k, [size, units], size, [units], quantization_config)
    if quantized is None:
        made = product(k, x, k.weight("kernel", [size, units]))
    else:
        x, scale = quantized.inputs(k, x, [-1])
        made = quantized.scaled(k, product(k, x, quantized.matrix), scale)
    if use_bias:
        made = k.tf.BiasAdd(made, k.weight("bias", [units]))
    return activate(k, made, activation)


@builtin(
    "Dropout", "SpatialDropout1D", "SpatialDropout2D", "SpatialDropout3D", "GaussianDropout", "GaussianNoise",
    "AlphaDropout", "ActivityRegularization", masks=PASS, takes=ANY, half=True,
)  # fmt: skip
def training_only(
    k: Call, x: Value, *, rate: float = 0.0, stddev: float = 0.0, l1: float = 0.0, l2: float = 0.0,
    data_format: str | None = None,
) -> Value:  # fmt: skip
    """Hand on the input: the layer does something in training only."""
    return x


@builtin("Identity", masks=PASS_IN_3, takes=ANY, half=True)
def identity(k: Call, x: Value) -> Value:
    return x


@builtin("LayerScale", "keras.src.applications.convnext>LayerScale",
         "tf_keras.src.applications.convnext>LayerScale", masks=PASS, half=True)  # fmt: skip
def layer_scale(k: Call, x: Value, *, projection_dim: int, init_values: Any = None) -> Value:
    return k.tf.Mul(x, k.weight(UNNAMED if k.model.keras3 else "gamma", [projection_dim]))


@builtin("CustomScaleLayer", "Custom>CustomScaleLayer", "keras.src.applications.inception_resnet_v2>CustomScaleLayer")
def custom_scale(k: Call, inputs: Any, *, scale: float) -> Value:
    first, second = inputs
    return k.tf.AddV2(first, k.tf.Mul(second, k.tf.number(scale, second.dtype)))


def take(k: Call, rows: Value, ids: Value) -> Value:
    """Take rows of a table by their numbers; in Keras 3, negative ones count from the end."""
    tf = k.tf
    if not k.model.keras3:
        return tf.GatherV2(rows, ids, tf.ints(0), dtype=rows.dtype)
    zero = tf.number(0, ids.dtype)
    count = tf.number(k.known(rows, 0), ids.dtype)
    wrapped = tf.SelectV2(tf.Less(ids, zero, dtype=types.BOOL), tf.AddV2(ids, count), ids, dtype=ids.dtype)
    return tf.GatherV2(rows, wrapped, tf.ints(0), dtype=rows.dtype)


@builtin("Embedding", masks=OWN, takes=ANY, half=True, quantized=True, casts=False, **NO_LORA, sparse=False)
def embedding(
    k: Call, x: Value, *, input_dim: int, output_dim: int, mask_zero: bool = False,
    quantization_config: dict | None = None,
) -> Value:  # fmt: skip
    table = quantized_table(k, input_dim, output_dim, quantization_config)
    if table is not None:
        return _embedded(k, x, mask_zero, lambda ids: table.rows(k, lambda rows: take(k, rows, ids)))
    rows = k.weight("embeddings", [input_dim, output_dim])
    return _embedded(k, x, mask_zero, lambda ids: take(k, rows, ids))


def _embedded(k: Call, x: Value, mask_zero: bool, look_up: Callable[[Value], Value]) -> Value:
    made = look_up(x if x.dtype in (types.INT32, types.INT64) else k.tf.Cast(x, dtype=types.INT32))
    if mask_zero:
        k.set_mask(made, k.tf.NotEqual(x, k.tf.number(0, x.dtype), dtype=types.BOOL))
    return made


@builtin("ReversibleEmbedding", masks=OWN, takes=ANY, half=True, quantized=True, casts=False, **NO_LORA)
def reversible_embedding(
    k: Call, x: Value, *, input_dim: int, output_dim: int, mask_zero: bool = False, tie_weights: bool = True,
    reverse_dtype: str | None = None, logit_soft_cap: float | None = None, quantization_config: dict | None = None,
) -> Value:  # fmt: skip
    """Take rows of a table, or in reverse multiply by it."""
    tf, back = k.tf, bool(k.option("reverse", False))
    if back and not x.dtype.is_float:
        k.refuse(f"it is called in reverse on {x.dtype}")
    table = quantized_table(k, input_dim, output_dim, quantization_config)
    if table is not None:
        kernel = reversed_table(k, table, tie_weights, quantization_config)
        if not back:  # whose mask Keras forgets
            return _embedded(k, x, False, lambda ids: table.rows(k, lambda rows: take(k, rows, ids)))
        whole, scale = kernel.inputs(k, k.autocast(x), [-1])
        return _capped(k, kernel.scaled(k, product(k, whole, kernel.matrix), scale), logit_soft_cap)
    rows = k.weight("embeddings", [input_dim, output_dim])
    matrix = tf.Transpose(rows, [1, 0]) if tie_weights else k.weight("reverse_embeddings", [output_dim, input_dim])
    if not back:
        return _embedded(k, x, mask_zero, lambda ids: take(k, rows, ids))
    common = k.dtype if x.dtype is k.dtype else types.FLOAT32
    dtype = common if reverse_dtype is None else types.BY_NAME.get(reverse_dtype)
    if dtype is None or not dtype.is_float:
        k.refuse(f"reverse_dtype={reverse_dtype!r}")
    x, matrix = (each if each.dtype is dtype else tf.Cast(each, dtype=dtype) for each in (x, matrix))
    return _capped(k, product(k, x, matrix), logit_soft_cap)


def _capped(k: Call, x: Value, most: float | None) -> Value:
    """Hold numbers softly below `most`, if that is given."""
    return x if most is None else k.tf.Mul(k.tf.Tanh(k.tf.RealDiv(x, number(k, x, most))), number(k, x, most))


@builtin("Masking", masks=OWN, half=True)
def masking(k: Call, x: Value, *, mask_value: float = 0.0) -> Value:
    tf = k.tf
    differs = tf.NotEqual(x, tf.number(mask_value, x.dtype), dtype=types.BOOL)
    kept = tf.Any(differs, tf.ints(-1), dtype=types.BOOL, keep_dims=True)
    made = tf.SelectV2(kept, x, tf.number(0, x.dtype), dtype=x.dtype)
    k.set_mask(made, tf.Squeeze(kept, dtype=types.BOOL, squeeze_dims=[len(k.shape(x)) - 1]))
    return made


@builtin("EinsumDense", half=True, quantized=True, **NO_LORA)
def einsum_dense(
    k: Call, x: Value, *, equation: str, output_shape: int | list, activation: str | dict | None = None,
    bias_axes: str | None = None, quantization_config: dict | None = None,
) -> Value:  # fmt: skip
    """Multiply by a kernel as the equation says, whose sizes come from the input and `output_shape`; "..." is spelled
    out first. Refuses a letter that a term has twice."""
    plain = equation.replace(" ", "")
    left, _, result = _spelled_out(plain, len(k.shape(x))).partition("->")
    inputs, _, kernel = left.partition(",")
    if "." in left + result or not result or len(inputs) != len(k.shape(x)) or any(
        len(set(letters)) < len(letters) for letters in (inputs, kernel, result)
    ):
        k.refuse(f"the equation {equation!r} is not read as data")
    # Keras is told all sizes of the result but those that an ellipsis stands for, and that of the batch.
    named = plain.partition("->")[2]
    named = named[3:] if named.startswith("...") else named.replace("...", "")[1:]
    given = [output_shape] if isinstance(output_shape, int) else list(output_shape)
    sizes = dict(zip(named, given, strict=True))
    shape = [k.known(x, inputs.index(letter)) if letter in inputs else sizes[letter] for letter in kernel]
    made = _einsum(k, x, (inputs, kernel, result), shape, quantization_config)
    if bias_axes:
        first = min(result.index(letter) for letter in bias_axes)
        wide = [k.known(made, at) if result[at] in bias_axes else 1 for at in range(first, len(result))]
        made = added(k, made, k.weight("bias", wide))
    return activate(k, made, activation)


def _einsum(
    k: Call, x: Value, terms: tuple[str, str, str], shape: list[int], quantization_config: dict[str, Any] | None
) -> Value:
    """Multiply by a kernel of a shape; terms: the letters of input, kernel and result."""
    inputs, kernel, result = terms
    equation = f"{inputs},{kernel}->{result}"
    reduced = math.prod(size for letter, size in zip(kernel, shape) if letter not in result)
    scales = [shape[kernel.index(letter)] if letter in kernel else 1 for letter in result]
    quantized = quantized_kernel(k, shape, reduced, scales, quantization_config)
    if quantized is None:
        return k.tf.Einsum(x, k.weight("kernel", shape), equation=equation)
    x, scale = quantized.inputs(k, x, [at for at, letter in enumerate(inputs) if letter not in result])
    made = k.tf.Einsum(x, quantized.matrix, equation=equation)
    if scale is not None:  # of the dimensions of the input, those that it shares with the result
        kept = [letter for letter in result if letter in inputs]
        scale = k.tf.transpose(scale, [inputs.index(letter) for letter in [*kept, *sorted(set(inputs) - set(kept))]])
        scale = k.tf.reshaped(scale, [str(kept.index(letter)) if letter in kept else 1 for letter in result])
    return quantized.scaled(k, made, scale)


def _spelled_out(equation: str, rank: int) -> str:
    """Return an equation with letters of their own for the dimensions that an ellipsis stands for, at the start or the
    end of input and result; the equation itself if it has no ellipsis, or others."""
    inputs, result = equation.partition(",")[0], equation.partition("->")[2]
    count = rank - len(inputs.replace("...", ""))
    free = [letter for letter in string.ascii_letters if letter not in equation]
    ahead = inputs.startswith("...") and result.startswith("...") and count > 0
    behind = inputs.endswith("...") and result.endswith("...") and count >= 0
    if (ahead == behind) or equation.count("...") != 2 or count > len(free):
        return equation
    return equation.replace("...", "".join(free[:count]))
