"""Random valid programs of JAX, as programs.py has them of TensorFlow: ops of a table on values of any shapes and
types, in branches, loops, scans, maps and gradients, with sizes that are known or symbolic.

    pip install .[jax]
    python -m tests.fuzz.jax_programs 0 1000

converts the programs of these seeds, and tells where the file has other numbers than JAX. Each op is tried on shapes
first; what JAX refuses is drawn again, so that a table's row says nothing of shapes. Its ops are continuous, or of
integers: where a step of floats lies between two roundings, both results are right.
"""

from __future__ import annotations

import math
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from random import Random
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import export, lax

from fuseconv.errors import FuseconvError, UnsupportedError
from tests.fuzz.jax_runs import Arrays, check_program

Step = Callable[..., Any]
_MOST_ELEMENTS = 1500
# The sizes of the batch and of another dimension at which a program is judged.
_SIZES = ((1, 4), (3, 5))


@dataclass(frozen=True)
class Value:
    """The shapes and types of a value: as it is exported, then at each size. number: its place in the program."""

    number: int
    at: tuple[jax.ShapeDtypeStruct, ...]

    @property
    def shape(self) -> tuple[Any, ...]:
        return self.at[0].shape

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def dtype(self) -> np.dtype:
        return self.at[0].dtype

    def is_like(self, other: Value) -> bool:
        return all(a.dtype == b.dtype and a.shape == b.shape for a, b in zip(self.at, other.at))

    def row(self, axis: int = 0) -> tuple[jax.ShapeDtypeStruct, ...]:
        """Return what a map over an axis hands to its function."""
        return tuple(jax.ShapeDtypeStruct(x.shape[:axis] + x.shape[axis + 1 :], x.dtype) for x in self.at)


@dataclass(eq=False)  # what jax.jit takes has a hash
class Program:
    """Steps on numbered values, of which the first are the inputs. Called, it returns those that `outputs` tells."""

    values: list[Value]
    steps: list[tuple[str, Step, tuple[int, ...]]] = field(default_factory=list)
    outputs: tuple[int, ...] = ()

    def __call__(self, *inputs: jax.Array) -> tuple[jax.Array, ...]:
        made = list(inputs)
        for _, step, operands in self.steps:
            made.append(step(*(made[number] for number in operands)))
        return tuple(made[number] for number in self.outputs)

    def grow(self, rng: Random, count: int, names: Sequence[str] = ()) -> Program:
        """Append up to `count` steps, and return the last values."""
        names, inputs = names or [*OPS], self.values[: len(self.values) - len(self.steps)]
        for _ in range(12 * count):
            if len(self.steps) == count:
                break
            name = rng.choice(names)
            arity, draw = OPS[name]
            operands = [rng.choice(self.values[-6:] + inputs) for _ in range(arity)]
            try:
                step = draw(rng, *operands)
                made = tuple(jax.eval_shape(step, *each) for each in zip(*(value.at for value in operands)))
            except Exception:  # JAX has many for what it refuses, NotImplementedError and AssertionError among them
                continue
            if _is_small(made):
                self.steps.append((name, step, tuple(value.number for value in operands)))
                self.values.append(Value(len(self.values), made))
        self.outputs = tuple(value.number for value in self.values[len(inputs) :][-3:])
        return self


def _is_small(made: Sequence[Any]) -> bool:
    """Return whether results have one rank at all sizes, some elements but not many, and a type that TFLite has."""
    return (
        len({len(x.shape) for x in made}) == 1
        and all(0 < math.prod(x.shape) <= _MOST_ELEMENTS for x in made[1:])
        and made[0].dtype not in (np.float64, np.complex128)
    )


def program(seed: int) -> Program:
    """Draw a program, of known sizes or for any."""
    rng = Random(seed)
    known = rng.random() < 0.3
    sizes = _SIZES[-1:] if known else _SIZES
    batch, length = sizes[0] if known else export.symbolic_shape("b, t")
    values = [
        Value(number, tuple(jax.ShapeDtypeStruct(_shape(text, *each), dtype) for each in [(batch, length), *sizes]))
        for number, (text, dtype) in enumerate(rng.sample(_INPUTS, rng.randint(1, 4)))
    ]
    return Program(values).grow(rng, rng.randint(6, 14))


def _shape(text: str, batch: Any, length: Any) -> tuple[Any, ...]:
    return tuple({"b": batch, "t": length}.get(size) or int(size) for size in text.split())


_INPUTS = [
    ("b 4", "float32"), ("b 6 5 4", "float32"), ("b t 3", "float32"), ("3 4", "float32"), ("", "float32"),
    ("b", "float32"), ("1 3 4 2", "float32"), ("t b 2", "float32"), ("b 4 4", "float32"), ("b 7 3", "float32"),
    ("b 3 3 2 2", "float32"), ("b 4", "int32"), ("b 2 3", "int32"), ("t", "int32"), ("", "int32"), ("b t", "bool"),
    ("b 3", "uint8"), ("2 5", "int8"), ("2", "uint32"), ("b 2", "complex64"),
]  # fmt: skip


def numbers(rng: np.random.Generator, shape: Sequence[int], dtype: Any) -> np.ndarray:
    """Draw normal numbers, or integers so small that float32 holds what comes of them."""
    kind = np.dtype(dtype).kind
    if kind == "b":
        return rng.random(shape) < 0.5
    if kind in "iu":
        return rng.integers(0 if kind == "u" else -5, 7, shape).astype(dtype)
    made = rng.standard_normal(shape)
    return (made + 1j * rng.standard_normal(shape) if kind == "c" else made).astype(dtype)


def exported(drawn: Program) -> bytes | None:
    """Return the module of a program; None if JAX itself cannot write it."""
    specs = [value.at[0] for value in _inputs(drawn)]
    try:
        return bytes(export.export(jax.jit(drawn, keep_unused=True), platforms=["cpu"])(*specs).mlir_module_serialized)
    except Exception:  # as above
        return None


def runs(drawn: Program, seed: int) -> Iterator[Arrays]:
    """Yield inputs and JAX's outputs by their names in the file: two in a row for each size."""
    rng = np.random.default_rng(seed)
    run = jax.jit(drawn, keep_unused=True)
    for size in range(1, len(drawn.values[0].at)):
        for _ in range(2):
            given = [numbers(rng, value.at[size].shape, value.dtype) for value in _inputs(drawn)]
            named = {f"args_{place}": array for place, array in enumerate(given)}
            yield named | {f"output_{place}": np.asarray(array) for place, array in enumerate(run(*given))}


def _inputs(drawn: Program) -> list[Value]:
    return drawn.values[: len(drawn.values) - len(drawn.steps)]


def _need(condition: object) -> None:
    if not condition:
        raise ValueError("the operands do not fit")


def _constant(rng: Random, shape: Sequence[int], dtype: Any = np.float32) -> np.ndarray:
    return numbers(np.random.default_rng(rng.getrandbits(32)), shape, dtype)


def _axis(rng: Random, x: Value) -> int:
    return rng.randrange(-x.ndim, x.ndim)


def _kind(x: Value) -> str:
    return "f" if jnp.issubdtype(x.dtype, jnp.floating) else x.dtype.kind


def _each(kinds: str, *functions: Step) -> Callable[..., Step]:
    """Return what draws one of the functions, for operands of these kinds of numpy's."""

    def draw(rng: Random, *operands: Value) -> Step:
        _need(all(_kind(x) in kinds for x in operands))
        return rng.choice(functions)

    return draw


def _meet(x: Value, axis: int, y: Value, other: int) -> bool:
    """Return whether two dimensions have one size."""
    return all(a.shape[axis] == b.shape[other] for a, b in zip(x.at, y.at))


def _with_constant(rng: Random, x: Value) -> Step:
    shape = [size if isinstance(size, int) and rng.random() < 0.7 else 1 for size in x.shape[rng.randint(0, x.ndim) :]]
    return partial(rng.choice([jnp.add, jnp.subtract, jnp.multiply, jnp.minimum]), _constant(rng, shape, x.dtype))


def _cast(rng: Random, x: Value) -> Step:
    """Draw a cast; floats are rounded so far first that no other one near by is cast to another number."""
    names = ["float32", "int32", "int8", "uint8", "int16", "uint32"] if _kind(x) in "iub" else ["float16", "bfloat16"]
    name = rng.choice(names)
    if name.endswith("16") and name != "int16":
        return lambda x: (jnp.round(x * 8) / 8).astype(name).astype(jnp.float32)
    return lambda x: x.astype(name)


def _reduction(rng: Random, x: Value) -> Step:
    _need(_kind(x) in "fiu")
    reduce = rng.choice([jnp.sum, jnp.mean, jnp.max, jnp.min, jnp.var, jnp.ptp])
    some = tuple(rng.sample(range(x.ndim), rng.randint(1, x.ndim)))
    return partial(reduce, axis=rng.choice([None, some[0], some]), keepdims=rng.random() < 0.5)


def _masked(rng: Random, x: Value, mask: Value) -> Step:
    _need(mask.dtype == bool and _kind(x) in "fi")
    reduce, start = rng.choice([(jnp.sum, 0), (jnp.max, -9), (jnp.min, 9)])
    axis = _axis(rng, x)
    return lambda x, mask: reduce(x, axis=axis, where=jnp.broadcast_to(mask, x.shape), initial=start)


def _ordered(rng: Random, x: Value) -> Step:
    _need(_kind(x) in "fiu")
    axis, count = _axis(rng, x), rng.randint(1, 3)
    functions: list[Step] = [
        partial(jnp.sort, axis=axis, descending=rng.random() < 0.5),
        lambda x: lax.top_k(x, count)[0],
    ]
    if _kind(x) in "iu":
        functions += [partial(jnp.argsort, axis=axis), partial(jnp.argmax, axis=axis), partial(jnp.argmin, axis=axis),
                      lambda x: lax.sort((x, -x, x * x), dimension=axis % x.ndim, num_keys=1)[2]]  # fmt: skip
    return rng.choice(functions)


def _cumulative(rng: Random, x: Value) -> Step:
    _need(_kind(x) in "fi")
    axis, reverse = _axis(rng, x) % x.ndim, rng.random() < 0.5
    scans: list[Step] = [lax.cumsum, lax.cummax, lax.cummin, lambda x, axis, reverse: jnp.diff(x, axis=axis),
             lambda x, axis, reverse: lax.associative_scan(jnp.add, x, reverse, axis=axis)]  # fmt: skip
    return partial(rng.choice(scans), axis=axis, reverse=reverse)


def _einsum(rng: Random, x: Value, y: Value) -> Step:
    """Draw a product in which each dimension of y is one of x's or its own, and which keeps some in any order."""
    _need(x.ndim + y.ndim <= 8)
    first, second = "abcdefgh"[: x.ndim], ""
    for axis in range(y.ndim):
        same = [letter for place, letter in enumerate(first) if letter not in second and _meet(x, place, y, axis)]
        second += rng.choice(same) if same and rng.random() < 0.75 else "ijklmnop"[axis]
    letters = sorted(set(first + second))
    kept = rng.sample(letters, rng.randint(0, len(letters)))
    return partial(jnp.einsum, f"{first},{second}->{''.join(kept)}")


def _dense(rng: Random, x: Value) -> Step:
    weights, bias = _constant(rng, [x.shape[-1], 3], x.dtype), _constant(rng, [3], x.dtype)
    activation = rng.choice([jnp.asarray, jax.nn.relu, jax.nn.relu6, jnp.tanh, jax.nn.gelu])
    return lambda x: activation(x @ weights + bias)


def _attention(rng: Random, x: Value) -> Step:
    projections, causal = _constant(rng, [3, x.shape[-1], 2, 2]), rng.random() < 0.5

    def attend(x: jax.Array) -> jax.Array:
        q, k, v = jnp.einsum("btd,rdhk->rbthk", x, projections)
        return jax.nn.dot_product_attention(q, k, v, is_causal=causal).reshape(*x.shape[:-1], 4)

    return attend


def _convolution(rng: Random, x: Value) -> Step:
    """Draw a convolution of any order of dimensions, with strides, paddings that may crop, gaps and groups."""
    _need(_kind(x) == "f" and 3 <= x.ndim <= 5)
    space = "DHW"[5 - x.ndim :]
    order = rng.sample(f"NC{space}", x.ndim) if rng.random() < 0.5 else f"N{space}C"
    channels = x.shape[order.index("C")]
    groups = rng.choice([count for count in range(1, channels + 1) if channels % count == 0])
    sizes = {"I": channels // groups, "O": groups * rng.randint(1, 2)} | {name: rng.randint(1, 3) for name in space}
    filters, result = rng.sample([*sizes], len(sizes)), rng.sample(order, x.ndim)
    weights = _constant(rng, [sizes[name] for name in filters], x.dtype)
    strides, spread, dilations = ([rng.choice([1, 1, 2]) for _ in space] for _ in range(3))
    pads = rng.choice(["SAME", "VALID", [(rng.randint(-1, 2), rng.randint(0, 2)) for _ in space]])
    return lambda x: lax.conv_general_dilated(
        x, weights, strides, pads, None if isinstance(pads, str) else spread, dilations,
        ("".join(order), "".join(filters), "".join(result)), groups,
    )  # fmt: skip


def _window(rng: Random, x: Value) -> Step:
    _need(_kind(x) == "f")
    reduce, start = rng.choice([(lax.add, 0.0), (lax.max, -np.inf), (lax.min, np.inf)])
    window, strides = ([rng.choice([1, 2, 3]) for _ in x.shape] for _ in range(2))
    pads = rng.choice(["SAME", "VALID", [(rng.randint(0, size - 1), rng.randint(0, size - 1)) for size in window]])
    return lambda x: lax.reduce_window(x, np.asarray(start, x.dtype), reduce, window, strides, pads)


def _index(rng: Random, x: Value) -> tuple[Any, ...]:
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


def _take(rng: Random, x: Value) -> Step:
    index = _index(rng, x)
    return lambda x: x[index]


def _update(rng: Random, x: Value) -> Step:
    _need(_kind(x) in "fi")
    index, name = _index(rng, x), rng.choice(["add", "multiply", "max", "min"])
    return lambda x: getattr(x.at[index], name)(2 * x[index] if name != "multiply" else 3)


def _take_computed(rng: Random, x: Value, places: Value) -> Step:
    """Draw a read, or a sum into what it would read, at places that are computed, some of them beyond the ends."""
    _need(_kind(places) in "iu" and places.ndim < 3)
    axis, mode, adds = (
        rng.randrange(x.ndim),
        rng.choice(["clip", "fill", "wrap"]),
        rng.random() < 0.5 and _kind(x) in "fi",
    )

    def act(x: jax.Array, places: jax.Array) -> jax.Array:
        index = (*[slice(None)] * axis, places)
        return x.at[index].add(x.ravel()[0], mode=mode) if adds else x.at[index].get(mode=mode, fill_value=1)

    return act


def _at_place(rng: Random, x: Value, place: Value) -> Step:
    _need(place.dtype == np.int32)
    axis, kind = _axis(rng, x), rng.randrange(3)

    def act(x: jax.Array, place: jax.Array) -> jax.Array:
        start = place.ravel()[0]
        if kind == 0:
            return lax.dynamic_slice_in_dim(x, start, 1, axis)
        return jnp.roll(x, start, axis) if kind == 1 else lax.dynamic_update_slice_in_dim(x, -x[:1], start, 0)

    return act


def _pad(rng: Random, x: Value) -> Step:
    mode = rng.choice(["edge", "reflect", "symmetric", "wrap", "lax", "lax"])
    widths = [(rng.randint(-1, 2), rng.randint(-1, 2), rng.choice([0, 0, 1])) for _ in x.shape]
    if mode == "lax":
        return lambda x: lax.pad(x, jnp.ones((), x.dtype), widths)
    return lambda x: jnp.pad(x, [(max(low, 0), max(high, 0)) for low, high, _ in widths], mode)


def _shape_change(rng: Random, x: Value) -> Step:
    axis, other, count = _axis(rng, x), _axis(rng, x), rng.randint(1, 3)
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


def _join(rng: Random, x: Value, y: Value) -> Step:
    axis, join = _axis(rng, x), rng.choice([jnp.concatenate, jnp.stack])
    return lambda x, y: join([x, y], axis)


def _choose(rng: Random, mask: Value, x: Value, y: Value) -> Step:
    _need(mask.dtype == bool)
    return jnp.where


def _inner(rng: Random, *shapes: Sequence[jax.ShapeDtypeStruct], smooth: bool = False) -> Program:
    """Draw a program within another one; hardly one has a third in it. smooth: without what rounds, as gradients are
    then rounded."""
    names = [name for name in OPS if name not in _NESTED or rng.random() < 0.1]
    names = [name for name in names if not smooth or name not in _ROUNDS | _NESTED]
    return Program([Value(number, tuple(each)) for number, each in enumerate(shapes)]).grow(rng, 3, names)


def _like(drawn: Program, value: Value) -> Program:
    """Return the program up to the last value that is like another one."""
    drawn.outputs = (next(each.number for each in reversed(drawn.values) if each.is_like(value)),)
    return drawn


def _branch(rng: Random, x: Value) -> Step:
    then, other = (_like(_inner(rng, x.at), x) for _ in range(2))
    least = rng.randint(1, 30)
    if rng.random() < 0.5:
        return lambda x: lax.cond(jnp.asarray(x.size) > least, lambda x: then(x)[0], lambda x: other(x)[0], x)
    sides = [lambda x: then(x)[0], lambda x: other(x)[0], lambda x: x]
    return lambda x: lax.switch(jnp.argmax(x.ravel()) % 3, sides, x)


def _loop(rng: Random, x: Value) -> Step:
    body, count, of_size = _like(_inner(rng, x.at), x), rng.randint(0, 3), rng.random() < 0.3
    return lambda x: lax.fori_loop(0, x.shape[0] if of_size else count, lambda _, x: body(x)[0], x)


def _scan(rng: Random, x: Value, carried: Value) -> Step:
    """Draw a scan over the first axis of x, whose step is a program on a row and on what is carried."""
    _need(_kind(carried) in "fi")
    body = _inner(rng, carried.at, x.row())
    made, reverse = body.outputs[-1], rng.random() < 0.5
    body = _like(body, carried)
    body.outputs += (made,)

    def step(carried: jax.Array, row: jax.Array) -> Any:
        after, made = body(carried, row)
        return jnp.tanh(after) if after.dtype == jnp.float32 else after, made

    side = rng.randrange(2)
    return lambda x, carried: lax.scan(step, carried, x, reverse=reverse)[side]


def _map(rng: Random, x: Value, y: Value) -> Step:
    """Draw a function that is mapped over an axis of x, and over one of y of the same size, if there is one."""
    axis, other = _axis(rng, x) % x.ndim, rng.randrange(max(y.ndim, 1))
    both = y.ndim > 0 and _meet(x, axis, y, other)
    mapped = _inner(rng, x.row(axis), y.row(other) if both else y.at)
    result = rng.randint(0, mapped.values[-1].ndim)
    return jax.vmap(lambda x, y: mapped(x, y)[-1], (axis, other if both else None), result)


def _gradient(rng: Random, x: Value) -> Step:
    _need(_kind(x) == "f")
    inner = _inner(rng, x.at, smooth=True)
    _need(_kind(inner.values[-1]) == "f")
    return jax.grad(lambda x: jnp.sum(jnp.sin(inner(x)[-1].astype(jnp.float32))))


def _recurrent(rng: Random, x: Value) -> Step:
    """Draw a recurrent layer over the second axis: an LSTM, a GRU or a simple one, maybe backwards or with lengths."""
    _need(x.ndim == 3 and x.dtype == jnp.float32)
    gates, reverse, masked, last = rng.choice([4, 3, 1]), rng.random() < 0.5, rng.random() < 0.4, rng.random() < 0.5
    kernel, recurrent = (_constant(rng, [rows, 2 * gates]) for rows in (x.shape[-1], 2))
    bias = _constant(rng, [2 * gates])

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


def _spectrum(rng: Random, x: Value) -> Step:
    axis = _axis(rng, x)
    if _kind(x) == "c":
        return rng.choice([jnp.real, jnp.imag, jnp.conj, lambda x: jnp.fft.ifft(x, axis=axis), lambda x: x * x])
    return rng.choice([lambda x: jnp.fft.rfft(x, axis=axis), lambda x: jnp.fft.fft(x, axis=axis), lambda x: x + 1j])


def _segments(rng: Random, x: Value, ids: Value) -> Step:
    _need(ids.dtype == np.int32 and ids.ndim == 1 and _kind(x) in "fi")
    reduce, count = rng.choice([jax.ops.segment_sum, jax.ops.segment_prod]), rng.randint(1, 4)
    return lambda x, ids: reduce(x, ids, num_segments=count)


def _random_draw(rng: Random, key: Value, x: Value) -> Step:
    _need(key.dtype == jnp.uint32 and key.shape == (2,))
    draw = rng.choice([jax.random.uniform, jax.random.normal, partial(jax.random.randint, minval=0, maxval=9)])
    return lambda key, x: draw(key, x.shape)


def _solve(rng: Random, x: Value) -> Step:
    _need(_kind(x) == "f")

    def definite(x: jax.Array) -> jax.Array:
        return jnp.swapaxes(x, -1, -2) @ x * 0.3 + jnp.eye(x.shape[-1])

    function = rng.choice([jnp.linalg.cholesky, jnp.linalg.inv, jnp.linalg.det, jnp.linalg.eigvalsh])
    return lambda x: function(definite(x))


def _resized(rng: Random, x: Value) -> Step:
    _need(_kind(x) == "f" and x.ndim > 1 and all(isinstance(size, int) for size in x.shape[1:]))
    sizes = [rng.choice([size, rng.randint(1, 7)]) for size in x.shape[1:]]
    method, antialias = rng.choice(["linear", "cubic", "lanczos3"]), rng.random() < 0.5
    if rng.random() < 0.3:
        places, mode = list(_constant(rng, [x.ndim - 1, 5]) * 2), rng.choice(["nearest", "wrap"])
        return jax.vmap(lambda x: jax.scipy.ndimage.map_coordinates(x, places, 1, mode))
    return lambda x: jax.image.resize(x, (x.shape[0], *sizes), method, antialias)


def _by_places(rng: Random, x: Value) -> Step:
    """Draw a read or an update of what sorts along an axis, or a product of powers of what is on it."""
    _need(_kind(x) in "iu")
    axis = _axis(rng, x)
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


def _along(rng: Random, x: Value) -> Step:
    """Draw a function of floats along an axis."""
    _need(_kind(x) == "f")
    axis, low = _axis(rng, x), _constant(rng, [])
    filters, part = _constant(rng, [rng.randint(1, 4)]), rng.choice([0.0, 0.3, 1.0])
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


def _special(rng: Random, x: Value) -> Step:
    _need(_kind(x) == "f")
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


def _two_floats(rng: Random, x: Value, y: Value) -> Step:
    _need(_kind(x) == "f" == _kind(y))
    axes = rng.randint(0, min(x.ndim, y.ndim, 2))
    return rng.choice([
        lambda x, y: jnp.tensordot(x, y, axes), jnp.kron, jnp.outer, lambda x, y: jnp.inner(x, y), jnp.vdot,
        lambda x, y: jnp.cross(x, y), lambda x, y: jnp.vecdot(x, y), lambda x, y: jnp.copysign(x, jnp.exp(y)),
        lambda x, y: jnp.convolve(x.ravel(), y.ravel()[:5]), lambda x, y: jnp.where(jnp.isfinite(x), y, x),
        lambda x, y: jnp.select([jnp.isfinite(x), jnp.isnan(y)], [x, y], 2.0), lambda x, y: lax.clamp(-1.0, x, 1.0) * y,
        lambda x, y: jnp.linalg.multi_dot([x, y, jnp.swapaxes(y, -1, -2)]), lambda x, y: jnp.fmax(x, y),
    ])  # fmt: skip


def _of_sizes(rng: Random, x: Value) -> Step:
    """Draw what computes with the sizes of a value: halves, sums and products of them."""
    axis, other = _axis(rng, x), _axis(rng, x)
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


def _transposed_convolution(rng: Random, x: Value) -> Step:
    """Draw a transposed convolution, patches, or a convolution of each place with filters of its own."""
    _need(_kind(x) == "f" and 3 <= x.ndim <= 5)
    space, rank = "DHW"[5 - x.ndim :], x.ndim - 2
    sizes, strides = ([rng.randint(1, 3) for _ in space] for _ in range(2))
    weights, pads = _constant(rng, [*sizes, x.shape[-1], 2]), rng.choice(["SAME", "VALID"])
    names = (f"N{space}C", f"{space}IO", f"N{space}C")
    kernel_transposed = rng.random() < 0.5
    if rng.random() < 0.3:
        return lambda x: lax.conv_general_dilated_patches(x, sizes, strides, pads, dimension_numbers=names)
    if kernel_transposed:
        weights = np.swapaxes(weights, -1, -2)
    dilation = [rng.choice([1, 1, 2])] * rank
    return lambda x: lax.conv_transpose(x, weights, strides, pads, dilation, names, kernel_transposed)


def _while(rng: Random, x: Value) -> Step:
    """Draw a loop that what it computes ends, of a carried tree."""
    _need(_kind(x) in "fi")
    body, most = _like(_inner(rng, x.at), x), rng.randint(1, 4)

    def loop(x: jax.Array) -> jax.Array:
        start = {"count": jnp.int32(0), "x": x, "sum": jnp.zeros_like(x)}

        def step(carried: Any) -> Any:
            made = body(carried["x"])[0]
            made = jnp.tanh(made) if made.dtype == jnp.float32 else made
            return {"count": carried["count"] + 1, "x": made, "sum": carried["sum"] + made}

        return lax.while_loop(lambda carried: carried["count"] < most, step, start)["sum"]

    return rng.choice([loop, jax.vmap(loop)]) if x.ndim > 1 and all(isinstance(n, int) for n in x.shape[1:]) else loop


def _derivative(rng: Random, x: Value) -> Step:
    """Draw a derivative of any mode, of a program or of a function with a rule of its own."""
    _need(x.dtype == jnp.float32)
    inner = _inner(rng, x.at, smooth=True)
    _need(inner.values[-1].dtype == jnp.float32)

    def loss(x: jax.Array) -> jax.Array:
        return jnp.sum(jnp.tanh(inner(x)[-1]))

    @jax.custom_vjp
    def halved(x: jax.Array) -> jax.Array:
        return jnp.tanh(x)

    halved.defvjp(lambda x: (jnp.tanh(x), x), lambda x, given: (given * x / 2,))
    return rng.choice([
        jax.grad(jax.checkpoint(loss)), lambda x: jax.jvp(loss, (x,), (jnp.ones_like(x),))[1],
        lambda x: jax.vjp(loss, x)[1](jnp.float32(2))[0],
        jax.grad(lambda x: halved(inner(x)[-1]).sum()), lambda x: x - 0.1 * jax.value_and_grad(loss)(x)[1],
        jax.grad(lambda x: jnp.vdot(jax.grad(loss)(x), x)),
    ])  # fmt: skip


def _trained(rng: Random, x: Value) -> Step:
    """Draw a step of training of a small network on x, with momentum."""
    _need(_kind(x) == "f" and x.ndim >= 2 and isinstance(x.shape[-1], int))
    weights = {"w": _constant(rng, [x.shape[-1], 3]), "b": _constant(rng, [3]), "v": _constant(rng, [3, 1])}

    def step(x: jax.Array) -> jax.Array:
        def loss(weights: Any) -> jax.Array:
            made = jax.nn.relu(x @ weights["w"] + weights["b"]) @ weights["v"]
            return jnp.mean((made[..., 0] - x[..., 0]) ** 2)

        moments = jax.tree.map(lambda g: 0.1 * g, jax.grad(loss)(weights))
        after = jax.tree.map(lambda w, m: w - 0.01 * m / (jnp.sqrt(m * m) + 0.1), weights, moments)
        return after["w"]

    return step


def _spectra(rng: Random, x: Value) -> Step:
    _need(_kind(x) in "fc" and x.ndim >= 2)
    if _kind(x) == "c":
        return rng.choice([
            jnp.abs, lambda x: jnp.fft.irfft(x, axis=-1, n=4), lambda x: x @ jnp.swapaxes(x, -1, -2).conj(),
            lambda x: jnp.exp(1j * x.real), lambda x: x / (1 + jnp.abs(x)), lambda x: x.sum(0),
        ])  # fmt: skip
    return rng.choice([
        lambda x: jnp.abs(jnp.fft.rfft2(x)), lambda x: jnp.fft.irfft(jnp.fft.rfft(x) * 2, n=x.shape[-1]),
        lambda x: jnp.fft.fft2(x), lambda x: lax.complex(x, -x),
    ])  # fmt: skip


def _half(rng: Random, x: Value) -> Step:
    """Draw some ops in another type of floats; the result is rounded as far as it is sure."""
    _need(x.dtype == jnp.float32)
    kind = rng.choice([jnp.bfloat16, jnp.float16])
    act = rng.choice([
        lambda x: x * 2, jnp.negative, jnp.abs, lambda x: jnp.maximum(x, 0.5), lambda x: x.T, jnp.sort,
        lambda x: x.max(-1), lambda x: jnp.concatenate([x, x], 0), lambda x: jnp.where(x > 0, x, -x),
    ])  # fmt: skip
    return lambda x: act(jnp.float32(jnp.round(x * 4) / 4).astype(kind)).astype(jnp.float32)


def _sorted_by(rng: Random, x: Value, y: Value) -> Step:
    _need(_kind(x) in "iu" and x.shape == y.shape)
    axis, keys = _axis(rng, x) % x.ndim, rng.choice([1, 2])
    return lambda x, y: lax.sort((x, jnp.ones_like(x), y), dimension=axis, num_keys=keys)[2]


def _normalized(x: jax.Array, axis: Any = -1) -> jax.Array:
    return (x - x.mean(axis, keepdims=True)) * lax.rsqrt(x.var(axis, keepdims=True) + 0.1)


# How many operands each takes, and what draws its parameters.
OPS: dict[str, tuple[int, Callable[..., Step]]] = {
    "unary": (1, _each("f",
        jnp.abs, jnp.negative, jnp.sin, jnp.arctan, jnp.tanh, jnp.square, lax.erf, lambda x: jnp.exp(jnp.tanh(x)),
        lambda x: jnp.log1p(jnp.abs(x)), lambda x: lax.rsqrt(jnp.abs(x) + 0.1), lambda x: jnp.cbrt(x + 9),
        lambda x: x - x, lambda x: 1 / (x * x + 1), lambda x: (jnp.abs(x) + 0.5) ** -1.5, jnp.isfinite,
        lambda x: jnp.clip(x, -1, 1),
    )),
    "activation": (1, _each("f",
        jax.nn.relu, jax.nn.relu6, jax.nn.sigmoid, jax.nn.softplus, jax.nn.silu, jax.nn.gelu, jax.nn.elu, jax.nn.mish,
        jax.nn.hard_silu, jax.nn.leaky_relu, jax.nn.softmax, jax.nn.log_softmax, partial(jax.nn.softmax, axis=0),
        partial(jax.nn.gelu, approximate=False), jax.nn.logsumexp, partial(jax.nn.logsumexp, axis=-1), jax.nn.glu,
    )),
    "norm": (1, _each("f",
        _normalized, partial(_normalized, axis=(0, 1)), lambda x: x * lax.rsqrt((x * x).mean(-1, keepdims=True) + 0.1),
    )),
    "binary": (2, _each("fiu", jnp.add, jnp.subtract, jnp.multiply, jnp.maximum, jnp.minimum)),
    "floats": (2, _each("f",
        lambda x, y: x / (jnp.abs(y) + 1), jnp.logaddexp, jnp.hypot, lambda x, y: jnp.arctan2(x, jnp.abs(y) + 1),
    )),
    "integers": (1, _each("iu",
        lambda x: x // 3, lambda x: x % 5, lambda x: lax.rem(x, jnp.asarray(3, x.dtype)), lambda x: x & 5,
        lambda x: x ^ 3, lambda x: x << 2, lambda x: x >> 1, lax.population_count, lambda x: x == 2, jnp.invert,
        jnp.sign, lambda x: jax.nn.one_hot(x, 4), lambda x: jnp.searchsorted(np.array([-2, 0, 0, 3], x.dtype), x),
    )),
    "booleans": (2, _each("b", jnp.logical_and, jnp.logical_or, jnp.logical_xor, lambda x, y: x & ~y)),
    "compare": (2, _each("iu", jnp.less, jnp.equal, jnp.greater_equal)),
    "constant": (1, _with_constant), "cast": (1, _cast), "reduction": (1, _reduction), "masked": (2, _masked),
    "ordered": (1, _ordered), "cumulative": (1, _cumulative), "einsum": (2, _einsum), "dense": (1, _dense),
    "matmul": (2, _each("fi", jnp.matmul, lambda x, y: jnp.matmul(x, jnp.swapaxes(y, -1, -2)), jnp.dot)),
    "attention": (1, _attention), "convolution": (1, _convolution), "window": (1, _window), "take": (1, _take),
    "update": (1, _update), "take_computed": (2, _take_computed), "at_place": (2, _at_place), "pad": (1, _pad),
    "shape": (1, _shape_change), "join": (2, _join), "choose": (3, _choose), "branch": (1, _branch), "loop": (1, _loop),
    "scan": (2, _scan), "map": (2, _map), "gradient": (1, _gradient), "recurrent": (1, _recurrent),
    "spectrum": (1, _spectrum), "segments": (2, _segments), "random": (2, _random_draw), "solve": (1, _solve),
    "resized": (1, _resized), "by_places": (1, _by_places), "along": (1, _along), "special": (1, _special),
    "two_floats": (2, _two_floats), "of_sizes": (1, _of_sizes), "transposed": (1, _transposed_convolution),
    "while": (1, _while), "derivative": (1, _derivative), "trained": (1, _trained), "spectra": (1, _spectra),
    "half": (1, _half), "sorted_by": (2, _sorted_by),
    "size": (1, _each("fiub", lambda x: jnp.asarray(x.shape), lambda x: jnp.arange(x.shape[0]) % 2 == 0)),
}  # fmt: skip
_ROUNDS = {"cast", "half"}
_NESTED = {"branch", "loop", "scan", "map", "gradient", "while", "derivative"}


def main() -> int:
    found: Counter[str] = Counter()
    for seed in range(*map(int, sys.argv[1:])):
        drawn = program(seed)
        data, state = exported(drawn), "not exported"
        try:
            if data is not None:
                check_program(data, [*runs(drawn, seed)])
                state = "right"
        except UnsupportedError as error:
            state = f"refused: {error.ops}"
        except (AssertionError, FuseconvError) as error:
            state = f"wrong: {error}"
        if state.startswith(("wrong", "refused")):
            print(seed, [(name, operands) for name, _, operands in drawn.steps], state, flush=True)
        found[state.partition(":")[0]] += 1
    print(dict(found))
    return 1 if found["wrong"] else 0


if __name__ == "__main__":
    sys.exit(main())
