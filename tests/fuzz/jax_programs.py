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
from tests.fuzz import jax_steps as steps
from tests.fuzz.jax_runs import Arrays, check_program
from tests.fuzz.jax_values import Step, Value, any_axis, each, kind_of, meet, need, numbers

_MOST_ELEMENTS = 1500
# The sizes of the batch and of another dimension at which a program is judged.
_SIZES = ((1, 4), (3, 5))


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
    need(kind_of(carried) in "fi")
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
    axis, other = any_axis(rng, x) % x.ndim, rng.randrange(max(y.ndim, 1))
    both = y.ndim > 0 and meet(x, axis, y, other)
    mapped = _inner(rng, x.row(axis), y.row(other) if both else y.at)
    result = rng.randint(0, mapped.values[-1].ndim)
    return jax.vmap(lambda x, y: mapped(x, y)[-1], (axis, other if both else None), result)


def _gradient(rng: Random, x: Value) -> Step:
    need(kind_of(x) == "f")
    inner = _inner(rng, x.at, smooth=True)
    need(kind_of(inner.values[-1]) == "f")
    return jax.grad(lambda x: jnp.sum(jnp.sin(inner(x)[-1].astype(jnp.float32))))


def _while(rng: Random, x: Value) -> Step:
    """Draw a loop that what it computes ends, of a carried tree."""
    need(kind_of(x) in "fi")
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
    need(x.dtype == jnp.float32)
    inner = _inner(rng, x.at, smooth=True)
    need(inner.values[-1].dtype == jnp.float32)

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


# How many operands each takes, and what draws its parameters.
OPS: dict[str, tuple[int, Callable[..., Step]]] = {
    "unary": (1, each("f",
        jnp.abs, jnp.negative, jnp.sin, jnp.arctan, jnp.tanh, jnp.square, lax.erf, lambda x: jnp.exp(jnp.tanh(x)),
        lambda x: jnp.log1p(jnp.abs(x)), lambda x: lax.rsqrt(jnp.abs(x) + 0.1), lambda x: jnp.cbrt(x + 9),
        lambda x: x - x, lambda x: 1 / (x * x + 1), lambda x: (jnp.abs(x) + 0.5) ** -1.5, jnp.isfinite,
        lambda x: jnp.clip(x, -1, 1),
    )),
    "activation": (1, each("f",
        jax.nn.relu, jax.nn.relu6, jax.nn.sigmoid, jax.nn.softplus, jax.nn.silu, jax.nn.gelu, jax.nn.elu, jax.nn.mish,
        jax.nn.hard_silu, jax.nn.leaky_relu, jax.nn.softmax, jax.nn.log_softmax, partial(jax.nn.softmax, axis=0),
        partial(jax.nn.gelu, approximate=False), jax.nn.logsumexp, partial(jax.nn.logsumexp, axis=-1), jax.nn.glu,
    )),
    "norm": (1, each("f",
        steps.normalized, partial(steps.normalized, axis=(0, 1)),
        lambda x: x * lax.rsqrt((x * x).mean(-1, keepdims=True) + 0.1),
    )),
    "binary": (2, each("fiu", jnp.add, jnp.subtract, jnp.multiply, jnp.maximum, jnp.minimum)),
    "floats": (2, each("f",
        lambda x, y: x / (jnp.abs(y) + 1), jnp.logaddexp, jnp.hypot, lambda x, y: jnp.arctan2(x, jnp.abs(y) + 1),
    )),
    "integers": (1, each("iu",
        lambda x: x // 3, lambda x: x % 5, lambda x: lax.rem(x, jnp.asarray(3, x.dtype)), lambda x: x & 5,
        lambda x: x ^ 3, lambda x: x << 2, lambda x: x >> 1, lax.population_count, lambda x: x == 2, jnp.invert,
        jnp.sign, lambda x: jax.nn.one_hot(x, 4), lambda x: jnp.searchsorted(np.array([-2, 0, 0, 3], x.dtype), x),
    )),
    "booleans": (2, each("b", jnp.logical_and, jnp.logical_or, jnp.logical_xor, lambda x, y: x & ~y)),
    "compare": (2, each("iu", jnp.less, jnp.equal, jnp.greater_equal)),
    "constant": (1, steps.with_constant), "cast": (1, steps.cast_step), "reduction": (1, steps.reduction),
    "masked": (2, steps.masked), "ordered": (1, steps.ordered), "cumulative": (1, steps.cumulative),
    "einsum": (2, steps.einsum), "dense": (1, steps.dense),
    "matmul": (2, each("fi", jnp.matmul, lambda x, y: jnp.matmul(x, jnp.swapaxes(y, -1, -2)), jnp.dot)),
    "attention": (1, steps.attention), "convolution": (1, steps.convolution), "window": (1, steps.window),
    "take": (1, steps.taken), "update": (1, steps.updated), "take_computed": (2, steps.take_computed),
    "at_place": (2, steps.at_place), "pad": (1, steps.padded), "shape": (1, steps.shape_change),
    "join": (2, steps.joined), "choose": (3, steps.choose), "branch": (1, _branch), "loop": (1, _loop),
    "scan": (2, _scan), "map": (2, _map), "gradient": (1, _gradient), "recurrent": (1, steps.recurrent),
    "spectrum": (1, steps.spectrum), "segments": (2, steps.segments), "random": (2, steps.random_draw),
    "solve": (1, steps.solve), "resized": (1, steps.resized), "by_places": (1, steps.by_places),
    "along": (1, steps.along_axis), "special": (1, steps.special), "two_floats": (2, steps.two_floats),
    "of_sizes": (1, steps.of_sizes), "transposed": (1, steps.transposed_convolution), "while": (1, _while),
    "derivative": (1, _derivative), "trained": (1, steps.trained), "spectra": (1, steps.spectra),
    "half": (1, steps.in_half), "sorted_by": (2, steps.sorted_by),
    "size": (1, each("fiub", lambda x: jnp.asarray(x.shape), lambda x: jnp.arange(x.shape[0]) % 2 == 0)),
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
