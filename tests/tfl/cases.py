"""Operands and options with which each op of the table is tried, and numpy's answer where numpy has a short one.

An operand is an Input of the graph, or an array, a constant."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random
from typing import Any

import numpy as np

_RNG = np.random.default_rng(0)


@dataclass
class Input:
    """An input of the graph, with what it is fed."""

    array: np.ndarray


@dataclass
class Case:
    kind: str
    operands: tuple[Input | np.ndarray | None, ...]
    options: dict[str, Any] = field(default_factory=dict)
    expected: Callable[..., Any] | None = None

    @property
    def inputs(self) -> list[np.ndarray]:
        return [operand.array for operand in self.operands if isinstance(operand, Input)]

    def __str__(self) -> str:
        return self.kind


def f(*shape: int) -> Input:
    return Input(_RNG.normal(size=shape).astype(np.float32))


def positive(*shape: int) -> Input:
    return Input(_RNG.uniform(0.5, 2, size=shape).astype(np.float32))


def floats(*items: Any) -> np.ndarray:
    return np.array(items, np.float32)


def i64(*items: Any) -> np.ndarray:
    return np.array(items, np.int64)


def i32(*items: Any) -> np.ndarray:
    return np.array(items, np.int32)


def ints(*shape: int, low: int = -9, high: int = 9) -> Input:
    return Input(_RNG.integers(low, high, shape).astype(np.int32))


def flags(*shape: int) -> Input:
    return Input(_RNG.random(shape) < 0.5)


def weights(*shape: int) -> np.ndarray:
    return (_RNG.normal(size=shape) / 2).astype(np.float32)


def scalar(value: float, dtype: Any = np.int32) -> np.ndarray:
    return np.array(value, dtype)


def case(kind: str, *operands: Any, expected: Callable[..., Any] | None = None, **options: Any) -> Case:
    return Case(kind, operands, options, expected)


def changed(case: Case, rng: Random) -> Case:
    """Returns the case with one or two changes: of an operand's sizes, of a number in a constant, of an option."""
    operands, options = [*case.operands], dict(case.options)
    for _ in range(rng.choice((1, 1, 2))):
        if options and rng.random() < 0.3:
            name = rng.choice(sorted(options))
            options[name] = _other_option(options[name], rng)
            continue
        place = rng.choice([place for place, operand in enumerate(operands) if operand is not None])
        operand = operands[place]
        assert operand is not None
        if isinstance(operand, Input):
            operands[place] = Input(_resized(operand.array, rng))
        elif operand.size and operand.dtype.kind == "i" and rng.random() < 0.6:
            array = operand.copy()
            array.flat[rng.randrange(array.size)] = rng.choice((*_SIZES, 100, 2**31 - 1, -(2**31)))
            operands[place] = array
        else:
            operands[place] = _resized(operand, rng)
    return Case(case.kind, tuple(operands), options)


_SIZES = (0, 1, 2, 3, 4, 5, 7, -1, -2)


def _other_option(value: Any, rng: Random) -> Any:
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return rng.choice(_SIZES)
    if isinstance(value, tuple):
        return rng.choice((value[:-1], value + value[-1:], value[::-1]))
    return value


def _resized(array: np.ndarray, rng: Random) -> np.ndarray:
    """Returns the numbers of an array in other dimensions: one of another size, one more or less, another order."""
    shape = [*array.shape]
    way = rng.randrange(5) if shape else 2
    if way == 0:
        shape[rng.randrange(len(shape))] = rng.choice(_SIZES[:7])
    elif way == 1:
        del shape[rng.randrange(len(shape))]
    elif way == 2:
        shape.insert(rng.randint(0, len(shape)), rng.choice(_SIZES[:4]))
    elif way == 3:
        shape = []
    else:
        rng.shuffle(shape)
    return np.resize(array, shape).astype(array.dtype)


SAME22: dict[str, Any] = {"padding": "SAME", "stride_h": 2, "stride_w": 2}
VALID: dict[str, Any] = {"padding": "VALID", "stride_h": 1, "stride_w": 1}
POOL: dict[str, Any] = {**SAME22, "filter_height": 3, "filter_width": 2}

ELEMENTWISE = [
    case("add", f(2, 3), f(3), expected=np.add),
    case("add", f(2, 3), f(2, 3), fused_activation_function="RELU", expected=lambda a, b: np.maximum(a + b, 0)),
    case("sub", f(2, 3), f(2, 1), expected=np.subtract),
    case("sub", ints(2, 3), ints(2, 3), expected=np.subtract),
    case("mul", f(2, 3), f(1, 3), expected=np.multiply),
    case("div", f(2, 3), positive(2, 3), expected=np.divide),
    case("floor_div", ints(2, 3), i32(2), expected=lambda x: x // 2),
    case("floor_mod", ints(2, 3), i32(4), expected=lambda x: x % 4),
    case("pow", positive(2, 3), f(2, 3), expected=np.power),
    case("maximum", f(2, 3), f(3), expected=np.maximum),
    case("minimum", f(2, 3), f(3), expected=np.minimum),
    case("squared_difference", f(2, 3), f(3), expected=lambda a, b: (a - b) ** 2),
    case("atan2", f(2, 3), f(2, 3), expected=np.arctan2),
    case("bitwise_xor", ints(2, 3, low=0), ints(2, 3, low=0), expected=np.bitwise_xor),
    case("right_shift", ints(2, 3, low=0), ints(2, 3, low=1), expected=np.right_shift),
    case("stablehlo_and", ints(2, 3, low=0), ints(2, 3, low=0), expected=np.bitwise_and),
    case("add_n", f(2, 3), f(2, 3), f(2, 3), expected=lambda *xs: sum(xs)),
    case("equal", ints(2, 3, high=0), ints(3, high=0), expected=np.equal),
    case("not_equal", ints(2, 3, high=0), ints(3, high=0), expected=np.not_equal),
    case("less", f(2, 3), f(3), expected=np.less),
    case("less_equal", f(2, 3), f(3), expected=np.less_equal),
    case("greater", f(2, 3), f(3), expected=np.greater),
    case("greater_equal", f(2, 3), f(3), expected=np.greater_equal),
    case("logical_and", flags(2, 3), flags(3), expected=np.logical_and),
    case("logical_or", flags(2, 3), flags(3), expected=np.logical_or),
    case("logical_not", flags(2, 3), expected=np.logical_not),
    case("abs", f(2, 3), expected=np.abs),
    case("neg", f(2, 3), expected=np.negative),
    case("sign", f(2, 3), expected=np.sign),
    case("square", f(2, 3), expected=np.square),
    case("exp", f(2, 3), expected=np.exp),
    case("log", positive(2, 3), expected=np.log),
    case("sqrt", positive(2, 3), expected=np.sqrt),
    case("rsqrt", positive(2, 3), expected=lambda x: 1 / np.sqrt(x)),
    case("sin", f(2, 3), expected=np.sin),
    case("cos", f(2, 3), expected=np.cos),
    case("floor", f(2, 3), expected=np.floor),
    case("ceil", f(2, 3), expected=np.ceil),
    case("round", Input(floats(0.5, 1.5, -0.5, 2.4)), expected=np.round),
    case("tanh", f(2, 3), expected=np.tanh),
    case("logistic", f(2, 3), expected=lambda x: 1 / (1 + np.exp(-x))),
    case("relu", f(2, 3), expected=lambda x: np.maximum(x, 0)),
    case("relu6", f(2, 3), expected=lambda x: np.clip(x, 0, 6)),
    case("relu_n1_to_1", f(2, 3), expected=lambda x: np.clip(x, -1, 1)),
    case("relu_0_to_1", f(2, 3), expected=lambda x: np.clip(x, 0, 1)),
    case("elu", f(2, 3), expected=lambda x: np.where(x < 0, np.expm1(x), x)),
    case("leaky_relu", f(2, 3), alpha=0.3, expected=lambda x: np.where(x < 0, x * np.float32(0.3), x)),
    case("prelu", f(2, 3), weights(3)),
    case("hard_swish", f(2, 3), expected=lambda x: x * np.clip(x + 3, 0, 6) / 6),
    case("gelu", f(2, 3), approximate=True),
    case("cast", f(2, 3), out_data_type="INT32", expected=lambda x: x.astype(np.int32)),
    case("cast", flags(2, 3), out_data_type="FLOAT32", expected=lambda x: x.astype(np.float32)),
    case("dequantize", Input(np.array([[1, 2.5]], np.float16)), expected=lambda x: x.astype(np.float32)),
    case("fake_quant", f(2, 3), min=-1.0, max=1.0, num_bits=8),
    case("real", Input(np.array([[1 + 2j]], np.complex64)), expected=np.real),
    case("imag", Input(np.array([[1 + 2j]], np.complex64)), expected=np.imag),
    case("complex_abs", Input(np.array([[3 + 4j]], np.complex64)), expected=np.abs),
    case("select", flags(2, 3), f(2, 3), f(2, 3), expected=np.where),
    case("select_v2", flags(2, 1), f(2, 3), f(3), expected=np.where),
    case("where", flags(4, 3), expected=np.argwhere),
    case("bucketize", f(2, 3), boundaries=(-0.5, 0.5), expected=lambda x: np.digitize(x, [-0.5, 0.5])),
]

REDUCTION = [
    case("sum", f(2, 3, 4), i32(1), expected=lambda x: x.sum(1)),
    case("mean", f(2, 3, 4), i32(1, -1), keep_dims=True, expected=lambda x: x.mean((1, 2), keepdims=True)),
    case("reduce_prod", f(2, 3), i32(0), expected=lambda x: x.prod(0)),
    case("reduce_max", f(2, 3), i32(1), keep_dims=True, expected=lambda x: x.max(1, keepdims=True)),
    case("reduce_min", f(2, 3), i32(0, 1), expected=lambda x: x.min()),
    case("reduce_any", flags(2, 3), i32(1), expected=lambda x: x.any(1)),
    case("reduce_all", flags(2, 3), i32(0), expected=lambda x: x.all(0)),
    case("arg_max", f(2, 3), scalar(1), expected=lambda x: x.argmax(1)),
    case("arg_min", f(2, 3), scalar(0), output_type="INT32", expected=lambda x: x.argmin(0)),
    case("cumsum", f(2, 3), scalar(1), expected=lambda x: np.cumsum(x, 1)),
    case("topk_v2", f(2, 5), scalar(3), expected=lambda x: -np.sort(-x)[:, :3]),
    case("segment_sum", f(4, 3), i32(0, 0, 1, 1), expected=lambda x: np.stack([x[:2].sum(0), x[2:].sum(0)])),
    case("unsorted_segment_sum", f(2, 3), i32(2, 0), scalar(3)),
    case("unsorted_segment_prod", f(2, 3), i32(2, 0), scalar(3)),
    case("unsorted_segment_max", f(2, 3), i32(2, 0), scalar(3)),
    case("unsorted_segment_min", f(2, 3), i32(2, 0), scalar(3)),
    case(
        "reduce_window", f(5, 7), scalar(0, np.float32), i64(2, 3), i64(2, 1), i64(1, 2),
        reduce_function="ADD",
    ),
]  # fmt: skip

CONVOLUTION = [
    case("conv_2d", f(2, 7, 8, 3), weights(4, 3, 2, 3), weights(4), **SAME22),
    case("conv_2d", f(2, 7, 8, 3), weights(4, 3, 2, 3), weights(4), **VALID, dilation_h_factor=2),
    case("depthwise_conv_2d", f(2, 7, 8, 3), weights(1, 3, 2, 6), weights(6), **SAME22, depth_multiplier=2),
    case("transpose_conv", i32(2, 14, 16, 4), weights(4, 3, 2, 3), f(2, 7, 8, 3), **SAME22),
    case("conv_3d", f(1, 5, 6, 7, 2), weights(2, 3, 2, 2, 4), weights(4), **SAME22, stride_d=2),
    case("conv_3d_transpose", i32(1, 6, 8, 8, 4), weights(2, 3, 2, 4, 2), f(1, 5, 6, 7, 2), **VALID, stride_d=1),
    case("average_pool_2d", f(2, 7, 8, 3), **POOL),
    case("max_pool_2d", f(2, 7, 8, 3), **{**POOL, "padding": "VALID"}),
    case("l2_pool_2d", f(2, 7, 8, 3), **POOL),
    case("fully_connected", f(2, 5), (w := weights(3, 5)), (b := weights(3)), expected=lambda x: x @ w.T + b),
    case("fully_connected", f(2, 7, 5), weights(3, 5), weights(3), keep_num_dims=True),
    case("fully_connected", f(2, 7, 5), weights(3, 5), weights(3)),
    case("batch_matmul", f(2, 4, 5), f(5, 3), expected=np.matmul),
    case("batch_matmul", f(2, 5, 4), f(2, 3, 5), adj_x=True, adj_y=True),
    case("l2_normalization", f(2, 3), expected=lambda x: x / np.linalg.norm(x, axis=-1, keepdims=True)),
    case("local_response_normalization", f(1, 2, 3, 5), radius=2, bias=1.0, alpha=0.5, beta=0.75),
    case("softmax", f(2, 3), beta=1.0, expected=lambda x: np.exp(x) / np.exp(x).sum(-1, keepdims=True)),
    case("log_softmax", f(2, 3), expected=lambda x: x - np.log(np.exp(x).sum(-1, keepdims=True))),
    case("resize_bilinear", f(1, 2, 3, 4), i32(5, 7), half_pixel_centers=True),
    case("resize_nearest_neighbor", f(1, 2, 3, 4), i32(5, 7), align_corners=True),
    case("embedding_lookup", Input(i32(2, 0)), (table := weights(4, 3)), expected=lambda ids: table[ids]),
    case(
        "embedding_lookup_sparse", i32(1, 3), i32([0, 0], [1, 1]), i32(2, 2), Input(floats(1, 2)), weights(4, 3)
    ),
    case("hashtable_lookup", Input(i32(5, 1)), i32(1, 5, 9), weights(3, 2)),
    case("lsh_projection", weights(3, 2), Input(i32(1, 2, 3)), type="DENSE"),
    case("dilate", f(2, 3), i32(2, 3), scalar(9, np.float32)),
    case("rfft2d", f(2, 4, 8), i32(4, 8), expected=np.fft.rfft2),
]  # fmt: skip

ARRAY = [
    case("reshape", f(2, 6), i32(4, 3), expected=lambda x: x.reshape(4, 3)),
    case("reshape", f(2, 6), i32(-1, 3), expected=lambda x: x.reshape(4, 3)),
    case("transpose", f(2, 3, 4), i32(2, 0, 1), expected=lambda x: x.transpose(2, 0, 1)),
    case("concatenation", f(2, 3), f(2, 4), axis=-1, expected=lambda *xs: np.concatenate(xs, -1)),
    case("slice", f(5, 4), i32(1, 2), i32(3, -1), expected=lambda x: x[1:4, 2:]),
    case("strided_slice", f(5, 4), i32(1, 0), i32(4, 4), i32(2, 1), expected=lambda x: x[1:4:2, 0:4]),
    case("strided_slice", f(5, 4), i32(-4, 0), i32(-1, 0), i32(1, 1), end_mask=2, expected=lambda x: x[-4:-1]),
    case("strided_slice", f(5, 4), i32(0, 0), i32(0, 0), i32(-1, 2), begin_mask=3, end_mask=3,
          expected=lambda x: x[::-1, ::2]),
    case("strided_slice", f(5, 4), i32(-1), i32(0), i32(1), shrink_axis_mask=1, expected=lambda x: x[-1]),
    case(
        "strided_slice", f(5, 4, 3), i32(0, 0, 1), i32(0, 0, 2), i32(1, 1, 1), ellipsis_mask=1, new_axis_mask=2,
        expected=lambda x: x[..., None, 1:2],
    ),
    case("strided_slice", f(5, 4), i32(1, 1), i32(2, 3), i32(1, 1), offset=True, expected=lambda x: x[1:3, 1:4]),
    case("gather", f(5, 4), i32(3, 0), axis=0, expected=lambda x: x[[3, 0]]),
    case("gather", f(5, 4), i32([3, 0], [1, 1]), axis=1, expected=lambda x: np.take(x, [[3, 0], [1, 1]], 1)),
    case("gather", f(2, 4, 3), i32([3, 0], [1, 1]), axis=1, batch_dims=1,
          expected=lambda x: np.stack([x[0, [3, 0]], x[1, [1, 1]]])),
    case("gather_nd", f(5, 4, 3), i32([1, 2], [4, 0]), expected=lambda x: x[[1, 4], [2, 0]]),
    case("pack", f(2, 3), f(2, 3), axis=1, expected=lambda *xs: np.stack(xs, 1)),
    case("unpack", f(2, 3), num=3, axis=1, expected=lambda x: x[:, 0]),
    case("split", scalar(1), f(2, 6), num_splits=3, expected=lambda x: x[:, :2]),
    case("split_v", f(2, 6), i32(1, -1, 2), scalar(1), expected=lambda x: x[:, :1]),
    case("pad", f(2, 3), i32([1, 0], [0, 2]), expected=lambda x: np.pad(x, [(1, 0), (0, 2)])),
    case("padv2", f(2, 3), i32([1, 0], [0, 2]), scalar(5, np.float32)),
    case("mirror_pad", f(3, 3), i32([1, 0], [0, 2]), mode="SYMMETRIC",
          expected=lambda x: np.pad(x, [(1, 0), (0, 2)], "symmetric")),
    case("tile", f(2, 3), i32(2, 1), expected=lambda x: np.tile(x, (2, 1))),
    case("broadcast_to", f(1, 3), i32(4, 2, 3), expected=lambda x: np.broadcast_to(x, (4, 2, 3))),
    case("broadcast_args", Input(i32(1, 3)), i32(4, 2, 1)),
    case("one_hot", Input(i32(1, 0)), scalar(3), scalar(1, np.float32), scalar(0, np.float32), axis=-1,
          expected=lambda ids: np.eye(3)[ids]),
    case("range", Input(scalar(0)), scalar(7), scalar(2), expected=lambda start: np.arange(0, 7, 2)),
    case("fill", i32(2, 3), Input(scalar(4, np.float32)), expected=lambda value: np.full((2, 3), value)),
    case("expand_dims", f(2, 3), scalar(-2), expected=lambda x: x[:, None]),
    case("squeeze", f(2, 1, 3), squeeze_dims=(1,), expected=lambda x: x[:, 0]),
    case("reverse_v2", f(2, 3), i32(1), expected=lambda x: x[:, ::-1]),
    case("reverse_sequence", f(2, 4), i32(2, 3), seq_dim=1, batch_dim=0),
    case("space_to_batch_nd", f(2, 4, 6, 1), i32(2, 2), i32([0, 0], [1, 1])),
    case("batch_to_space_nd", f(8, 2, 4, 1), i32(2, 2), i32([0, 0], [1, 1])),
    case("space_to_depth", f(2, 4, 6, 1), block_size=2),
    case("depth_to_space", f(2, 2, 3, 4), block_size=2),
    case("zeros_like", f(2, 3), expected=np.zeros_like),
    case("unique", Input(i32(3, 1, 3, 2)), expected=lambda x: [3, 1, 2]),
    case("scatter_nd", i32([1], [3]), f(2, 3), i32(5, 3)),
    case("sparse_to_dense", i32([0, 1], [1, 0]), i32(2, 2), Input(floats(5, 6)), scalar(1, np.float32)),
    case("matrix_diag", f(2, 3), expected=lambda x: np.stack([np.diag(row) for row in x])),
    case("matrix_set_diag", f(3, 3), weights(3)),
    case("dynamic_update_slice", f(5, 4), weights(2, 4), i32(1, 0)),
]  # fmt: skip

SELECTION = [
    case("random_uniform", i32(2, 3), seed=1, seed2=2),
    case("random_standard_normal", i32(2, 3), seed=1, seed2=2),
    case("multinomial", f(2, 3), scalar(4), seed=1, seed2=2),
    case("non_max_suppression_v4", f(3, 4), f(3), scalar(2), scalar(0.5, np.float32), scalar(0, np.float32)),
    case(
        "non_max_suppression_v5", f(3, 4), f(3), scalar(2), scalar(0.5, np.float32), scalar(0, np.float32),
        scalar(0.5, np.float32),
    ),
]  # fmt: skip

ALL = ELEMENTWISE + REDUCTION + CONVOLUTION + ARRAY + SELECTION
