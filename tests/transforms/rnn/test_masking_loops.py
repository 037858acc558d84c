"""Hand-written loops that leave steps out: those that are masked cells, and those that are almost."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from tests.transforms.rnn.lstm_steps import IN, UNITS, gates, lstm, weight
from tests.transforms.rnn.masked import check_fused, check_loop, draw

TIME = 6
X, MASK = tf.TensorSpec([None, TIME, IN]), tf.TensorSpec([None, TIME], tf.bool)
ROWS = tf.TensorSpec([None, UNITS])
_KERNEL, _SQUARE, _BIAS = weight(IN, UNITS), weight(UNITS, UNITS), weight(UNITS)
Masked = Callable[..., tuple[Any, ...]]


def _rnn(x: tf.Tensor, h: tf.Tensor) -> tf.Tensor:
    return tf.tanh(x @ _KERNEL + h @ _SQUARE + _BIAS)


def _loop(x: tf.Tensor, step: Masked, *states: tf.Tensor, time: Any = TIME) -> list[tf.Tensor]:
    """Runs a step of (x[t], t, *states), which returns the output and the states, along x [time, batch, in]."""
    outputs = tf.TensorArray(tf.float32, time)

    def body(t: tf.Tensor, outputs: tf.TensorArray, *states: tf.Tensor) -> tuple:
        output, *made = step(x[t], t, *states)
        return t + 1, outputs.write(t, output), *made

    _, outputs, *states = tf.while_loop(lambda t, *_: t < time, body, (0, outputs, *states))
    return [tf.transpose(outputs.stack(), [1, 0, 2]), *states]


def _swapped(x: tf.Tensor) -> tf.Tensor:
    return tf.transpose(x, [1, 0, 2] if x.shape.rank == 3 else [1, 0])


def _zeros(x: tf.Tensor, count: int = 1) -> list[tf.Tensor]:
    return [tf.zeros([tf.shape(x)[0], UNITS])] * count


def test_the_state_is_put_out() -> None:
    def run(x: tf.Tensor, mask: tf.Tensor, first: tf.Tensor) -> Any:
        mask = _swapped(mask)

        def step(x: tf.Tensor, t: tf.Tensor, h: tf.Tensor) -> tuple:
            h = tf.where(mask[t][:, tf.newaxis], _rnn(x, h), h)
            return h, h

        return _loop(_swapped(x), step, first)

    check_fused(run, X, MASK, ROWS)


def test_a_mask_that_is_true_where_steps_do_not_count() -> None:
    def run(x: tf.Tensor, padding: tf.Tensor) -> Any:
        padding = _swapped(padding)

        def step(x: tf.Tensor, t: tf.Tensor, h: tf.Tensor, c: tf.Tensor) -> tuple:
            out = padding[t][:, tf.newaxis]
            new_h, new_c = lstm(x, h, c)
            return tf.where(out, tf.zeros_like(h), new_h), tf.where(out, h, new_h), tf.where(~out, new_c, c)

        return _loop(_swapped(x), step, *_zeros(x, 2))

    check_fused(run, X, MASK)


def test_a_mask_that_is_computed_of_the_steps() -> None:
    def run(x: tf.Tensor) -> Any:
        x = _swapped(x)
        mask = tf.reduce_any(x > 0.5, axis=2)

        def step(x: tf.Tensor, t: tf.Tensor, h: tf.Tensor) -> tuple:
            h = tf.where(mask[t][:, tf.newaxis], _rnn(x, h), h)
            return h, h

        return _loop(x, step, tf.zeros([tf.shape(x)[1], UNITS]))

    check_fused(run, X)


def test_a_mask_that_is_reversed_alone() -> None:
    def run(x: tf.Tensor, mask: tf.Tensor) -> Any:
        mask = tf.reverse(_swapped(mask), [0])

        def step(x: tf.Tensor, t: tf.Tensor, h: tf.Tensor) -> tuple:
            h = tf.where(mask[t][:, tf.newaxis], _rnn(x, h), h)
            return h, h

        return _loop(_swapped(x), step, *_zeros(x))

    check_fused(run, X, MASK)


@pytest.mark.parametrize("compared", [lambda t, n: t < n, lambda t, n: n > t, lambda t, n: ~(t >= n)])
def test_lengths(compared: Callable[..., tf.Tensor]) -> None:
    def run(x: tf.Tensor, lengths: tf.Tensor) -> Any:
        def step(x: tf.Tensor, t: tf.Tensor, h: tf.Tensor, c: tf.Tensor) -> tuple:
            counts = compared(t, lengths)[:, tf.newaxis]
            new_h, new_c = lstm(x, h, c)
            h = tf.where(counts, new_h, h)
            return h, h, tf.where(counts, new_c, c)

        return _loop(_swapped(x), step, *_zeros(x, 2))

    assert "TOPK_V2" not in check_fused(run, X, tf.TensorSpec([None], tf.int32)).ops


def test_an_output_before_any_step_counts() -> None:
    def run(x: tf.Tensor, mask: tf.Tensor, before: tf.Tensor) -> Any:
        mask = _swapped(mask)

        def step(x: tf.Tensor, t: tf.Tensor, output: tf.Tensor, h: tf.Tensor) -> tuple:
            counts, new = mask[t][:, tf.newaxis], _rnn(x, h)
            output = tf.where(counts, new, output)
            return output, output, tf.where(counts, new, h)

        return _loop(_swapped(x), step, before, *_zeros(x))

    check_fused(run, X, MASK, ROWS)


def test_an_output_of_all_masked_steps() -> None:
    def run(x: tf.Tensor, mask: tf.Tensor, other: tf.Tensor) -> Any:
        mask = _swapped(mask)

        def step(x: tf.Tensor, t: tf.Tensor, h: tf.Tensor) -> tuple:
            counts, new = mask[t][:, tf.newaxis], _rnn(x, h)
            return tf.where(counts, new, other), tf.where(counts, new, h)

        return _loop(_swapped(x), step, *_zeros(x))

    check_fused(run, X, MASK, ROWS)


def test_a_first_cell_state_beyond_the_clip() -> None:
    def run(x: tf.Tensor, mask: tf.Tensor, first: tf.Tensor) -> Any:
        mask = _swapped(mask)

        def step(x: tf.Tensor, t: tf.Tensor, h: tf.Tensor, c: tf.Tensor) -> tuple:
            counts, (i, f, g, o) = mask[t][:, tf.newaxis], gates(x, h)
            new = tf.clip_by_value(tf.sigmoid(f) * c + tf.sigmoid(i) * tf.tanh(g), -0.4, 0.4)
            h = tf.where(counts, tf.sigmoid(o) * tf.tanh(new), h)
            return h, h, tf.where(counts, new, c)

        return _loop(_swapped(x), step, *_zeros(x), first)

    check_fused(run, X, MASK, ROWS)


def test_gates_that_are_coupled() -> None:
    def run(x: tf.Tensor, mask: tf.Tensor, first: tf.Tensor) -> Any:
        mask = _swapped(mask)

        def step(x: tf.Tensor, t: tf.Tensor, h: tf.Tensor, c: tf.Tensor) -> tuple:
            counts, (_, f, g, o) = mask[t][:, tf.newaxis], gates(x, h)
            new = tf.sigmoid(f) * c + (1.0 - tf.sigmoid(f)) * tf.tanh(g)
            h = tf.where(counts, tf.sigmoid(o) * tf.tanh(new), h)
            return h, h, tf.where(counts, new, c)

        return _loop(_swapped(x), step, *_zeros(x), first)

    check_fused(run, X, MASK, ROWS)


Choice = Callable[..., tf.Tensor]


def _lstm_step(mask: tf.Tensor, choose_h: Choice, choose_c: Choice, output: Choice | None = None) -> Masked:
    def step(x: tf.Tensor, t: tf.Tensor, h: tf.Tensor, c: tf.Tensor) -> tuple:
        new_h, new_c = lstm(x, h, c)
        made_h, made_c = choose_h(mask, t, new_h, h), choose_c(mask, t, new_c, c)
        return (made_h if output is None else output(mask, t, new_h, h)), made_h, made_c

    return step


def _masked(mask: tf.Tensor, t: tf.Tensor, new: tf.Tensor, old: tf.Tensor) -> tf.Tensor:
    return tf.where(mask[t][:, tf.newaxis], new, old)


def _turned(mask: tf.Tensor, t: tf.Tensor, new: tf.Tensor, old: tf.Tensor) -> tf.Tensor:
    return tf.where(mask[t][:, tf.newaxis], old, new)


def _inverted(mask: tf.Tensor, t: tf.Tensor, new: tf.Tensor, old: tf.Tensor) -> tf.Tensor:
    return tf.where(~mask[t][:, tf.newaxis], new, old)


def _always(mask: tf.Tensor, t: tf.Tensor, new: tf.Tensor, old: tf.Tensor) -> tf.Tensor:
    return new


def _of_another_step(mask: tf.Tensor, t: tf.Tensor, new: tf.Tensor, old: tf.Tensor) -> tf.Tensor:
    return tf.where(mask[tf.minimum(t + 1, TIME - 1)][:, tf.newaxis], new, old)


def _backwards(mask: tf.Tensor, t: tf.Tensor, new: tf.Tensor, old: tf.Tensor) -> tf.Tensor:
    return tf.where(mask[TIME - 1 - t][:, tf.newaxis], new, old)


def _halved(mask: tf.Tensor, t: tf.Tensor, new: tf.Tensor, old: tf.Tensor) -> tf.Tensor:
    return tf.where(mask[t][:, tf.newaxis], new, 0.5 * old)


def _reset(mask: tf.Tensor, t: tf.Tensor, new: tf.Tensor, old: tf.Tensor) -> tf.Tensor:
    return tf.where(mask[t][:, tf.newaxis], new, tf.zeros_like(old))


def _by_value(mask: tf.Tensor, t: tf.Tensor, new: tf.Tensor, old: tf.Tensor) -> tf.Tensor:
    return tf.where(new > 0, new, old)


def _by_number(mask: tf.Tensor, t: tf.Tensor, new: tf.Tensor, old: tf.Tensor) -> tf.Tensor:
    return tf.where(t % 2 == 0, new, old)


MISSES: dict[str, tuple[tuple[Choice, ...], str]] = {
    "one state's mask is inverted": ((_masked, _inverted), "its states have different masks"),
    "one state's mask is turned round": ((_masked, _turned), "its states have different masks"),
    "the cell state is not masked": ((_masked, _always), "a masked step does not keep all states"),
    "the output state is not masked": ((_always, _masked), "a masked step does not keep all states"),
    "another step's mask": ((_of_another_step, _of_another_step), "does not read its input step by step"),
    "one state's mask runs backwards": ((_masked, _backwards), "its states have different masks"),
    "a masked step leaks": ((_masked, _halved), "a masked step does not keep all states"),
    "a masked step forgets": ((_masked, _reset), "a masked step does not keep all states"),
    "the state decides": ((_by_value, _by_value), "neither a mask nor a number of steps"),
    "the step's number decides": ((_by_number, _by_number), "neither a mask nor a number of steps"),
    "outputs of masked steps": ((_masked, _masked, _always), "its outputs are not masked as its states are"),
    "outputs of an inverted mask": ((_masked, _masked, _inverted), "puts out something else"),
    "outputs that are halved": ((_masked, _masked, _halved), "puts out something else"),
}  # fmt: skip


@pytest.mark.parametrize("name", MISSES)
def test_loops_that_are_almost_masked_cells(name: str) -> None:
    choices, why = MISSES[name]

    def run(x: tf.Tensor, mask: tf.Tensor) -> Any:
        return _loop(_swapped(x), _lstm_step(_swapped(mask), *choices), *_zeros(x, 2))

    reasons = check_loop(run, X, MASK)
    assert any(why in reason for reason in reasons), reasons


def test_the_last_steps_count_instead_of_the_first() -> None:
    def run(x: tf.Tensor, lengths: tf.Tensor) -> Any:
        def step(x: tf.Tensor, t: tf.Tensor, h: tf.Tensor) -> tuple:
            h = tf.where((t >= lengths)[:, tf.newaxis], _rnn(x, h), h)
            return h, h

        return _loop(_swapped(x), step, *_zeros(x))

    assert check_loop(run, X, tf.TensorSpec([None], tf.int32)) == [
        "the first steps of each row are masked, not the last ones"
    ]


def test_a_mask_for_each_column() -> None:
    def run(x: tf.Tensor, lengths: tf.Tensor) -> Any:
        def step(x: tf.Tensor, t: tf.Tensor, h: tf.Tensor) -> tuple:
            h = tf.where(t < lengths, _rnn(x, h), h)
            return h, h

        return _loop(_swapped(x), step, *_zeros(x))

    reasons = check_loop(run, X, tf.TensorSpec([UNITS], tf.int32))
    assert reasons == ["a condition that is neither a mask nor a number of steps decides what a step keeps"]


@pytest.mark.parametrize("backwards", [False, True])
def test_a_mask_of_another_length(backwards: bool) -> None:
    """Only from its beginning on is it known which step a mask of a size of its own is for."""

    def run(x: tf.Tensor, mask: tf.Tensor) -> Any:
        mask, time = _swapped(mask), tf.shape(x)[1]

        def step(x: tf.Tensor, t: tf.Tensor, h: tf.Tensor) -> tuple:
            h = tf.where(mask[time - 1 - t if backwards else t][:, tf.newaxis], _rnn(x, h), h)
            return h, h

        return _loop(_swapped(x), step, *_zeros(x), time=time)

    specs = tf.TensorSpec([None, None, IN]), tf.TensorSpec([None, None], tf.bool)
    if not backwards:
        check_fused(run, *specs)
    else:
        assert "steps along a sequence of" in check_loop(run, *specs)[0]


def test_a_loop_that_ends_with_the_longest_row_and_masks_nothing() -> None:
    def run(x: tf.Tensor, lengths: tf.Tensor) -> Any:
        steps = tf.minimum(TIME, tf.maximum(1, tf.reduce_max(lengths)))

        def body(t: tf.Tensor, h: tf.Tensor) -> tuple:
            return t + 1, _rnn(tf.gather(x, t, axis=1), h)

        return tf.while_loop(lambda t, h: t < steps, body, (0, *_zeros(x)))[1]

    assert check_loop(run, X, tf.TensorSpec([None], tf.int32)) == ["it may end before its sequence does"]


@pytest.mark.parametrize("own", [False, True], ids=["ends with other rows", "puts out the last output"])
def test_a_loop_that_ends_before_what_is_masked_does(own: bool) -> None:
    def run(x: tf.Tensor, lengths: tf.Tensor, others: tf.Tensor) -> Any:
        def step(x: tf.Tensor, t: tf.Tensor, h: tf.Tensor) -> tuple:
            h = tf.where((t < (lengths if own else others))[:, tf.newaxis], _rnn(x, h), h)
            return h, h

        steps, x = tf.minimum(TIME, tf.maximum(1, tf.reduce_max(lengths))), _swapped(x)
        outputs = tf.TensorArray(tf.float32, TIME, element_shape=[None, UNITS])

        def body(t: tf.Tensor, outputs: tf.TensorArray, h: tf.Tensor) -> tuple:
            output, h = step(x[t], t, h)
            return t + 1, outputs.write(t, output), h

        _, outputs, h = tf.while_loop(lambda t, *_: t < steps, body, (0, outputs, *_zeros(x[0])))
        return (outputs.stack(), h) if own else h

    lengths = tf.TensorSpec([None], tf.int32)
    assert check_loop(run, X, lengths, lengths, inputs=_short) == ["it may end before its sequence does"]


def _short(rng: np.random.Generator, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    """Numbers of steps below that of the sequence."""
    return rng.integers(0, TIME - 1, shape).astype(dtype) if dtype.kind == "i" else draw(rng, shape, dtype)
