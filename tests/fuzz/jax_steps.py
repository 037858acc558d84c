"""What draws the steps of random programs of JAX that need no other program."""

from __future__ import annotations

from functools import partial
from random import Random
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from tests.fuzz.jax_values import Step, Value, any_axis, constant_of, kind_of, meet, need


def with_constant(rng: Random, x: Value) -> Step:
    shape = [size if isinstance(size, int) and rng.random() < 0.7 else 1 for size in x.shape[rng.randint(0, x.ndim) :]]
    return partial(rng.choice([jnp.add, jnp.subtract, jnp.multiply, jnp.minimum]), constant_of(rng, shape, x.dtype))


def cast_step(rng: Random, x: Value) -> Step:
    """Draw a cast; floats are rounded so far first that no other one near by is cast to another number."""
    names = ["float32", "int32", "int8", "uint8", "int16", "uint32"] if kind_of(x) in "iub" else ["float16", "bfloat16"]
    name = rng.choice(names)
    if name.endswith("16") and name != "int16":
        return lambda x: (jnp.round(x * 8) / 8).astype(name).astype(jnp.float32)
    return lambda x: x.astype(name)


def reduction(rng: Random, x: Value) -> Step:
    need(kind_of(x) in "fiu")
    reduce = rng.choice([jnp.sum, jnp.mean, jnp.max, jnp.min, jnp.var, jnp.ptp])
    some = tuple(rng.sample(range(x.ndim), rng.randint(1, x.ndim)))
    return partial(reduce, axis=rng.choice([None, some[0], some]), keepdims=rng.random() < 0.5)


def masked(rng: Random, x: Value, mask: Value) -> Step:
    need(mask.dtype == bool and kind_of(x) in "fi")
    reduce, start = rng.choice([(jnp.sum, 0), (jnp.max, -9), (jnp.min, 9)])
    axis = any_axis(rng, x)
    return lambda x, mask: reduce(x, axis=axis, where=jnp.broadcast_to(mask, x.shape), initial=start)


def ordered(rng: Random, x: Value) -> Step:
    need(kind_of(x) in "fiu")
    axis, count = any_axis(rng, x), rng.randint(1, 3)
    functions: list[Step] = [
        partial(jnp.sort, axis=axis, descending=rng.random() < 0.5),
        lambda x: lax.top_k(x, count)[0],
    ]
    if kind_of(x) in "iu":
        functions += [partial(jnp.argsort, axis=axis), partial(jnp.argmax, axis=axis), partial(jnp.argmin, axis=axis),
                      lambda x: lax.sort((x, -x, x * x), dimension=axis % x.ndim, num_keys=1)[2]]  # fmt: skip
    return rng.choice(functions)


def cumulative(rng: Random, x: Value) -> Step:
    need(kind_of(x) in "fi")
    axis, reverse = any_axis(rng, x) % x.ndim, rng.random() < 0.5
    scans: list[Step] = [lax.cumsum, lax.cummax, lax.cummin, lambda x, axis, reverse: jnp.diff(x, axis=axis),
             lambda x, axis, reverse: lax.associative_scan(jnp.add, x, reverse, axis=axis)]  # fmt: skip
    return partial(rng.choice(scans), axis=axis, reverse=reverse)


def einsum(rng: Random, x: Value, y: Value) -> Step:
    """Draw a product in which each dimension of y is one of x's or its own, and which keeps some in any order."""
    need(x.ndim + y.ndim <= 8)
    first, second = "abcdefgh"[: x.ndim], ""
    for axis in range(y.ndim):
        same = [letter for place, letter in enumerate(first) if letter not in second and meet(x, place, y, axis)]
        second += rng.choice(same) if same and rng.random() < 0.75 else "ijklmnop"[axis]
    letters = sorted(set(first + second))
    kept = rng.sample(letters, rng.randint(0, len(letters)))
    return partial(jnp.einsum, f"{first},{second}->{''.join(kept)}")


def dense(rng: Random, x: Value) -> Step:
    weights, bias = constant_of(rng, [x.shape[-1], 3], x.dtype), constant_of(rng, [3], x.dtype)
    activation = rng.choice([jnp.asarray, jax.nn.relu, jax.nn.relu6, jnp.tanh, jax.nn.gelu])
    return lambda x: activation(x @ weights + bias)


def attention(rng: Random, x: Value) -> Step:
    projections, causal = constant_of(rng, [3, x.shape[-1], 2, 2]), rng.random() < 0.5

    def attend(x: jax.Array) -> jax.Array:
        q, k, v = jnp.einsum("btd,rdhk->rbthk", x, projections)
        return jax.nn.dot_product_attention(q, k, v, is_causal=causal).reshape(*x.shape[:-1], 4)

    return attend


def convolution(rng: Random, x: Value) -> Step:
    """Draw a convolution of any order of dimensions, with strides, paddings that may crop, gaps and groups."""
    need(kind_of(x) == "f" and 3 <= x.ndim <= 5)
    space = "DHW"[5 - x.ndim :]
    order = rng.sample(f"NC{space}", x.ndim) if rng.random() < 0.5 else f"N{space}C"
    channels = x.shape[order.index("C")]
    groups = rng.choice([count for count in range(1, channels + 1) if channels % count == 0])
    sizes = {"I": channels // groups, "O": groups * rng.randint(1, 2)} | {name: rng.randint(1, 3) for name in space}
    filters, result = rng.sample([*sizes], len(sizes)), rng.sample(order, x.ndim)
    weights = constant_of(rng, [sizes[name] for name in filters], x.dtype)
    strides, spread, dilations = ([rng.choice([1, 1, 2]) for _ in space] for _ in range(3))
    pads = rng.choice(["SAME", "VALID", [(rng.randint(-1, 2), rng.randint(0, 2)) for _ in space]])
    return lambda x: lax.conv_general_dilated(
        x, weights, strides, pads, None if isinstance(pads, str) else spread, dilations,
        ("".join(order), "".join(filters), "".join(result)), groups,
    )  # fmt: skip


def window(rng: Random, x: Value) -> Step:
    need(kind_of(x) == "f")
    reduce, start = rng.choice([(lax.add, 0.0), (lax.max, -np.inf), (lax.min, np.inf)])
    window, strides = ([rng.choice([1, 2, 3]) for _ in x.shape] for _ in range(2))
    pads = rng.choice(["SAME", "VALID", [(rng.randint(0, size - 1), rng.randint(0, size - 1)) for size in window]])
    return lambda x: lax.reduce_window(x, np.asarray(start, x.dtype), reduce, window, strides, pads)


def any_index(rng: Random, x: Value) -> tuple[Any, ...]:
    """Draw what stands between brackets: numbers, slices, new axes and arrays of places."""
    index: list[Any] = []
    for size in x.shape[: rng.randint(1, x.ndim)]:
        most = size if isinstance(size, int) else 1
        begin, end = (rng.choice([None, None, rng.randint(-3, 3)]) for _ in range(2))
        index += [rng.choice([
            rng.randrange(-most, most), slice(begin, end, rng.choice([None, 2, -1, -2])), slice(None),
            np.array([rng.randrange(-most, most) for _ in range(2)]),
        ])] + [None] * (rng.random() < 0.1)  # fmt: skip
    return (*index, ...) if rng.random() < 0.2 else tuple(index)


def taken(rng: Random, x: Value) -> Step:
    index = any_index(rng, x)
    return lambda x: x[index]


def updated(rng: Random, x: Value) -> Step:
    need(kind_of(x) in "fi")
    index, name = any_index(rng, x), rng.choice(["add", "multiply", "max", "min"])
    return lambda x: getattr(x.at[index], name)(2 * x[index] if name != "multiply" else 3)


def take_computed(rng: Random, x: Value, places: Value) -> Step:
    """Draw a read, or a sum into what it would read, at places that are computed, some of them beyond the ends."""
    need(kind_of(places) in "iu" and places.ndim < 3)
    axis, mode, adds = (
        rng.randrange(x.ndim),
        rng.choice(["clip", "fill", "wrap"]),
        rng.random() < 0.5 and kind_of(x) in "fi",
    )

    def act(x: jax.Array, places: jax.Array) -> jax.Array:
        index = (*[slice(None)] * axis, places)
        return x.at[index].add(x.ravel()[0], mode=mode) if adds else x.at[index].get(mode=mode, fill_value=1)

    return act


def at_place(rng: Random, x: Value, place: Value) -> Step:
    need(place.dtype == np.int32)
    axis, kind = any_axis(rng, x), rng.randrange(3)

    def act(x: jax.Array, place: jax.Array) -> jax.Array:
        start = place.ravel()[0]
        if kind == 0:
            return lax.dynamic_slice_in_dim(x, start, 1, axis)
        return jnp.roll(x, start, axis) if kind == 1 else lax.dynamic_update_slice_in_dim(x, -x[:1], start, 0)

    return act


def padded(rng: Random, x: Value) -> Step:
    mode = rng.choice(["edge", "reflect", "symmetric", "wrap", "lax", "lax"])
    widths = [(rng.randint(-1, 2), rng.randint(-1, 2), rng.choice([0, 0, 1])) for _ in x.shape]
    if mode == "lax":
        return lambda x: lax.pad(x, jnp.ones((), x.dtype), widths)
    return lambda x: jnp.pad(x, [(max(low, 0), max(high, 0)) for low, high, _ in widths], mode)


def shape_change(rng: Random, x: Value) -> Step:
    axis, other, count = any_axis(rng, x), any_axis(rng, x), rng.randint(1, 3)
    changes: list[Step] = [
        partial(jnp.transpose, axes=rng.sample(range(x.ndim), x.ndim)), lambda x: x.reshape(-1),
        lambda x: x.reshape(x.shape[0], -1), partial(jnp.expand_dims, axis=rng.randint(0, x.ndim)),
        partial(jnp.squeeze, axis=axis), partial(jnp.moveaxis, source=axis, destination=other),
        partial(jnp.flip, axis=axis), partial(jnp.roll, shift=count, axis=axis),
        partial(jnp.repeat, repeats=count, axis=axis), lambda x: jnp.tile(x, (count, 1)), partial(jnp.tril, k=-1),
        lambda x: jnp.concatenate(jnp.split(x, 2, axis)[::-1], axis), partial(jnp.diagonal, offset=count - 2),
        lambda x: x.reshape(x.shape[0] * x.shape[1], *x.shape[2:]), lambda x: x[x.shape[0] // 2 :],
        lambda x: jnp.broadcast_to(x, (count, *x.shape)), lambda x: jnp.arange(x.shape[0]), lambda x: x * x.shape[-1],
    ]  # fmt: skip
    return rng.choice(changes)


def joined(rng: Random, x: Value, y: Value) -> Step:
    axis, join = any_axis(rng, x), rng.choice([jnp.concatenate, jnp.stack])
    return lambda x, y: join([x, y], axis)


def choose(rng: Random, mask: Value, x: Value, y: Value) -> Step:
    need(mask.dtype == bool)
    return jnp.where


def recurrent(rng: Random, x: Value) -> Step:
    """Draw a recurrent layer over the second axis: an LSTM, a GRU or a simple one, maybe backwards or with lengths."""
    need(x.ndim == 3 and x.dtype == jnp.float32)
    gates, reverse, masked, last = rng.choice([4, 3, 1]), rng.random() < 0.5, rng.random() < 0.4, rng.random() < 0.5
    kernel, recurrent = (constant_of(rng, [rows, 2 * gates]) for rows in (x.shape[-1], 2))
    bias = constant_of(rng, [2 * gates])

    def cell(h: jax.Array, c: jax.Array, x: jax.Array) -> tuple[jax.Array, jax.Array]:
        x, y = x @ kernel + bias, h @ recurrent
        if gates == 1:
            return jnp.tanh(x + y), c
        if gates == 3:
            (r, z, n), (a, b, m) = jnp.split(x, 3, -1), jnp.split(y, 3, -1)
            z = jax.nn.sigmoid(z + b)
            return (1 - z) * jnp.tanh(n + jax.nn.sigmoid(r + a) * m) + z * h, c
        i, f, g, o = jnp.split(x + y, 4, -1)
        c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
        return jax.nn.sigmoid(o) * jnp.tanh(c), c

    def layer(x: jax.Array) -> jax.Array:
        lengths = 1 + jnp.arange(x.shape[0]) % 3

        def step(carried: Any, given: Any) -> Any:
            at, row = given
            h, c = cell(carried[0], carried[1], row)
            if masked:
                h, c = (jnp.where((at < lengths)[:, None], new, old) for new, old in zip((h, c), carried))
            return (h, c), h

        rows, start = jnp.swapaxes(x, 0, 1), jnp.zeros((x.shape[0], 2))
        (h, _), made = lax.scan(step, (start, start), (jnp.arange(x.shape[1]), rows), reverse=reverse)
        return h if last else jnp.swapaxes(made, 0, 1)

    return layer


def spectrum(rng: Random, x: Value) -> Step:
    axis = any_axis(rng, x)
    if kind_of(x) == "c":
        return rng.choice([jnp.real, jnp.imag, jnp.conj, lambda x: jnp.fft.ifft(x, axis=axis), lambda x: x * x])
    return rng.choice([lambda x: jnp.fft.rfft(x, axis=axis), lambda x: jnp.fft.fft(x, axis=axis), lambda x: x + 1j])


def segments(rng: Random, x: Value, ids: Value) -> Step:
    need(ids.dtype == np.int32 and ids.ndim == 1 and kind_of(x) in "fi")
    reduce, count = rng.choice([jax.ops.segment_sum, jax.ops.segment_prod]), rng.randint(1, 4)
    return lambda x, ids: reduce(x, ids, num_segments=count)


def random_draw(rng: Random, key: Value, x: Value) -> Step:
    need(key.dtype == jnp.uint32 and key.shape == (2,))
    draw = rng.choice([jax.random.uniform, jax.random.normal, partial(jax.random.randint, minval=0, maxval=9)])
    return lambda key, x: draw(key, x.shape)


def solve(rng: Random, x: Value) -> Step:
    need(kind_of(x) == "f")

    def definite(x: jax.Array) -> jax.Array:
        return jnp.swapaxes(x, -1, -2) @ x * 0.3 + jnp.eye(x.shape[-1])

    function = rng.choice([jnp.linalg.cholesky, jnp.linalg.inv, jnp.linalg.det, jnp.linalg.eigvalsh])
    return lambda x: function(definite(x))


def resized(rng: Random, x: Value) -> Step:
    need(kind_of(x) == "f" and x.ndim > 1 and all(isinstance(size, int) for size in x.shape[1:]))
    sizes = [rng.choice([size, rng.randint(1, 7)]) for size in x.shape[1:]]
    method, antialias = rng.choice(["linear", "cubic", "lanczos3"]), rng.random() < 0.5
    if rng.random() < 0.3:
        places, mode = list(constant_of(rng, [x.ndim - 1, 5]) * 2), rng.choice(["nearest", "wrap"])
        return jax.vmap(lambda x: jax.scipy.ndimage.map_coordinates(x, places, 1, mode))
    return lambda x: jax.image.resize(x, (x.shape[0], *sizes), method, antialias)


def by_places(rng: Random, x: Value) -> Step:
    """Draw a read or an update of what sorts along an axis, or a product of powers of what is on it."""
    need(kind_of(x) in "iu")
    axis = any_axis(rng, x)
    return rng.choice([
        lambda x: jnp.take_along_axis(x, jnp.argsort(-x, axis=axis), axis),
        lambda x: jnp.put_along_axis(x, jnp.argsort(x, axis=axis), 3 * x, axis, inplace=False),
        lambda x: jnp.cumprod(jnp.sign(x) + 1, axis), lambda x: jnp.bincount(jnp.abs(x.ravel()), length=5),
        lambda x: jnp.unique(x, size=3, fill_value=7), lambda x: jnp.nonzero(x, size=4, fill_value=-1)[0],
        lambda x: jnp.isin(x, jnp.array([1, 3], x.dtype)), lambda x: jnp.median(x, axis),
        lambda x: jnp.digitize(x, jnp.array([0, 2], x.dtype)), lambda x: jnp.gcd(x, jnp.asarray(6, x.dtype)),
        lambda x: lax.clz(x), lambda x: lax.shift_right_logical(x, jnp.asarray(1, x.dtype)),
        lambda x: lax.bitcast_convert_type(x, f"u{x.dtype}".replace("uu", "")), lambda x: x // (jnp.abs(x) + 1),
        lambda x: (x + 3) % (jnp.abs(x) + 2), lambda x: jnp.abs(x) ** 3, lambda x: jnp.divmod(x, 4)[1] - x,
    ])  # fmt: skip


def along_axis(rng: Random, x: Value) -> Step:
    """Draw a function of floats along an axis."""
    need(kind_of(x) == "f")
    axis, low = any_axis(rng, x), constant_of(rng, [])
    filters, part = constant_of(rng, [rng.randint(1, 4)]), rng.choice([0.0, 0.3, 1.0])
    return rng.choice([
        lambda x: jnp.quantile(x, part, axis), lambda x: jnp.median(x, axis),
        lambda x: jnp.cumprod(jnp.tanh(x) + 1, axis), lambda x: lax.cumlogsumexp(x, axis % x.ndim),
        lambda x: jnp.gradient(x, axis=axis), lambda x: jnp.trapezoid(x, axis=axis),
        lambda x: jnp.linalg.norm(x, axis=axis), lambda x: jnp.fft.fftshift(x, axis),
        lambda x: jnp.apply_along_axis(lambda row: jnp.convolve(row, filters, "same"), axis, x),
        lambda x: jnp.interp(x, np.array([-1.0, 0, 2]), np.array([3.0, 1, 2])), lambda x: jnp.polyval(filters, x),
        lambda x: jnp.average(x, axis, jnp.exp(jnp.tanh(x))), lambda x: jnp.nansum(jnp.sqrt(x), axis),
        lambda x: lax.associative_scan(jnp.multiply, jnp.tanh(x), axis=axis), lambda x: jnp.std(x, axis, ddof=1),
        lambda x: lax.associative_scan(lambda p, q: (q[0] * p[0], q[0] * p[1] + q[1]), (jnp.tanh(x), x), axis=axis)[1],
        lambda x: lax.reduce(x, low, lambda p, q: jnp.maximum(p, q), (axis % x.ndim,)),
        lambda x: jax.nn.standardize(x, axis, epsilon=0.1), lambda x: jnp.clip(x, x.min(axis, keepdims=True) / 2, low),
        lambda x: jnp.percentile(x, jnp.array([20.0, 60.0]), axis), lambda x: jnp.unstack(x[None], axis=0)[0],
        lambda x: x / (jnp.linalg.norm(x, 1, axis, True) + 1),
    ])  # fmt: skip


def special(rng: Random, x: Value) -> Step:
    need(kind_of(x) == "f")
    inside = rng.choice([jnp.tanh, jnp.sin])
    functions: list[Step] = [
        lambda x: lax.erf_inv(inside(x) * 0.9), lambda x: lax.lgamma(jnp.abs(x) + 0.5), jnp.arcsinh,
        lambda x: jnp.arcsin(inside(x) * 0.9), lambda x: lax.digamma(jnp.abs(x) + 0.5), jax.scipy.special.ndtr,
        lambda x: jnp.arctanh(inside(x) * 0.9), lambda x: jax.scipy.special.xlogy(x, jnp.abs(x) + 1), lax.erfc,
        lambda x: jnp.sinc(x), lambda x: jnp.expm1(inside(x)),
        lambda x: jnp.cosh(inside(x)), lambda x: jax.scipy.special.i0e(x), jax.nn.log_sigmoid, jax.nn.selu, jax.nn.celu,
        jax.nn.soft_sign, jax.nn.squareplus, jax.nn.hard_tanh, lambda x: jax.nn.sparse_plus(x), jax.nn.relu6,
        lambda x: lax.reduce_precision(x, 8, 12), lambda x: jnp.nan_to_num(x / jnp.where(x > 0, x, 1)), jnp.exp2,
        lambda x: jnp.power(jnp.abs(x) + 0.5, inside(x)), lambda x: jnp.deg2rad(x), lambda x: jnp.logaddexp2(x, -x),
        lambda x: jnp.float_power(jnp.abs(x) + 1, 0.7),
    ]  # fmt: skip
    return rng.choice(functions)


def two_floats(rng: Random, x: Value, y: Value) -> Step:
    need(kind_of(x) == "f" == kind_of(y))
    axes = rng.randint(0, min(x.ndim, y.ndim, 2))
    return rng.choice([
        lambda x, y: jnp.tensordot(x, y, axes), jnp.kron, jnp.outer, lambda x, y: jnp.inner(x, y), jnp.vdot,
        lambda x, y: jnp.cross(x, y), lambda x, y: jnp.vecdot(x, y), lambda x, y: jnp.copysign(x, jnp.exp(y)),
        lambda x, y: jnp.convolve(x.ravel(), y.ravel()[:5]), lambda x, y: jnp.where(jnp.isfinite(x), y, x),
        lambda x, y: jnp.select([jnp.isfinite(x), jnp.isnan(y)], [x, y], 2.0), lambda x, y: lax.clamp(-1.0, x, 1.0) * y,
        lambda x, y: jnp.linalg.multi_dot([x, y, jnp.swapaxes(y, -1, -2)]), lambda x, y: jnp.fmax(x, y),
    ])  # fmt: skip


def of_sizes(rng: Random, x: Value) -> Step:
    """Draw what computes with the sizes of a value: halves, sums and products of them."""
    axis, other = any_axis(rng, x), any_axis(rng, x)
    return rng.choice([
        lambda x: lax.slice_in_dim(x, 0, x.shape[axis] // 2 + 1, axis=axis % x.ndim),
        lambda x: jnp.take(x, jnp.arange(2 * x.shape[axis]) % x.shape[axis], axis),
        lambda x: x.reshape(-1, x.shape[-1]), lambda x: jnp.broadcast_to(x[None], (x.shape[axis], *x.shape)),
        lambda x: jnp.cos(jnp.zeros((x.shape[axis] + 1, 1)) + jnp.arange(x.shape[other]) * x.shape[axis] / 9),
        lambda x: lax.dynamic_slice_in_dim(x, x.shape[axis] - 1, 1, axis), lambda x: jnp.eye(x.shape[axis]),
        lambda x: jnp.concatenate([x, jnp.zeros((*x.shape[:-1], x.shape[axis]), x.dtype)], -1),
        lambda x: jnp.pad(x, [(0, x.shape[0]), *[(0, 0)] * (x.ndim - 1)]), lambda x: x.reshape(x.shape[0], 1, -1),
        lambda x: jnp.tri(x.shape[axis], x.shape[other], k=-1), lambda x: jnp.linspace(0, 1, 5) * x.shape[axis],
        lambda x: jnp.indices((x.shape[axis], 2)).sum(0), lambda x: x[..., : max(1, x.shape[-1] - 1)],
        lambda x: x[tuple(slice(None, None, -2) if k == axis % x.ndim else slice(None) for k in range(x.ndim))],
        lambda x: jnp.roll(x, x.shape[axis] // 2, axis), lambda x: x[-1:] if x.ndim else x, lambda x: jnp.rot90(x),
    ])  # fmt: skip


def transposed_convolution(rng: Random, x: Value) -> Step:
    """Draw a transposed convolution, patches, or a convolution of each place with filters of its own."""
    need(kind_of(x) == "f" and 3 <= x.ndim <= 5)
    space, rank = "DHW"[5 - x.ndim :], x.ndim - 2
    sizes, strides = ([rng.randint(1, 3) for _ in space] for _ in range(2))
    weights, pads = constant_of(rng, [*sizes, x.shape[-1], 2]), rng.choice(["SAME", "VALID"])
    names = (f"N{space}C", f"{space}IO", f"N{space}C")
    kernel_transposed = rng.random() < 0.5
    if rng.random() < 0.3:
        return lambda x: lax.conv_general_dilated_patches(x, sizes, strides, pads, dimension_numbers=names)
    if kernel_transposed:
        weights = np.swapaxes(weights, -1, -2)
    dilation = [rng.choice([1, 1, 2])] * rank
    return lambda x: lax.conv_transpose(x, weights, strides, pads, dilation, names, kernel_transposed)


def trained(rng: Random, x: Value) -> Step:
    """Draw a step of training of a small network on x, with momentum."""
    need(kind_of(x) == "f" and x.ndim >= 2 and isinstance(x.shape[-1], int))
    weights = {"w": constant_of(rng, [x.shape[-1], 3]), "b": constant_of(rng, [3]), "v": constant_of(rng, [3, 1])}

    def step(x: jax.Array) -> jax.Array:
        def loss(weights: Any) -> jax.Array:
            made = jax.nn.relu(x @ weights["w"] + weights["b"]) @ weights["v"]
            return jnp.mean((made[..., 0] - x[..., 0]) ** 2)

        moments = jax.tree.map(lambda g: 0.1 * g, jax.grad(loss)(weights))
        after = jax.tree.map(lambda w, m: w - 0.01 * m / (jnp.sqrt(m * m) + 0.1), weights, moments)
        return after["w"]

    return step


def spectra(rng: Random, x: Value) -> Step:
    need(kind_of(x) in "fc" and x.ndim >= 2)
    if kind_of(x) == "c":
        return rng.choice([
            jnp.abs, lambda x: jnp.fft.irfft(x, axis=-1, n=4), lambda x: x @ jnp.swapaxes(x, -1, -2).conj(),
            lambda x: jnp.exp(1j * x.real), lambda x: x / (1 + jnp.abs(x)), lambda x: x.sum(0),
        ])  # fmt: skip
    return rng.choice([
        lambda x: jnp.abs(jnp.fft.rfft2(x)), lambda x: jnp.fft.irfft(jnp.fft.rfft(x) * 2, n=x.shape[-1]),
        lambda x: jnp.fft.fft2(x), lambda x: lax.complex(x, -x),
    ])  # fmt: skip


def in_half(rng: Random, x: Value) -> Step:
    """Draw some ops in another type of floats; the result is rounded as far as it is sure."""
    need(x.dtype == jnp.float32)
    kind = rng.choice([jnp.bfloat16, jnp.float16])
    act = rng.choice([
        lambda x: x * 2, jnp.negative, jnp.abs, lambda x: jnp.maximum(x, 0.5), lambda x: x.T, jnp.sort,
        lambda x: x.max(-1), lambda x: jnp.concatenate([x, x], 0), lambda x: jnp.where(x > 0, x, -x),
    ])  # fmt: skip
    return lambda x: act(jnp.float32(jnp.round(x * 4) / 4).astype(kind)).astype(jnp.float32)


def sorted_by(rng: Random, x: Value, y: Value) -> Step:
    need(kind_of(x) in "iu" and x.shape == y.shape)
    axis, keys = any_axis(rng, x) % x.ndim, rng.choice([1, 2])
    return lambda x, y: lax.sort((x, jnp.ones_like(x), y), dimension=axis, num_keys=keys)[2]


def normalized(x: jax.Array, axis: Any = -1) -> jax.Array:
    return (x - x.mean(axis, keepdims=True)) * lax.rsqrt(x.var(axis, keepdims=True) + 0.1)
