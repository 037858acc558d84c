"""Symbolic dimensions: what is equal must compare equal, and arithmetic must hold for every size."""

from __future__ import annotations

import operator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fuseconv.ir import dims

B, H = dims.symbol("b"), dims.symbol("h")


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        (B * 49 * 4 // (B * 7), 28),
        (B * H - H * B, 0),
        ((B * 4 + 3) // 4, B),
        ((B * 4 + 5) // 4, B + 1),
        ((B * H * 4) // (H * 2), B * 2),
        (B // B, 1),
        ((B + 1) * 2, B * 2 + 2),
        ((B * 6) % 3, 0),
        (0 * B, 0),
        (dims.product((B, 3, H)) // (B * 3), H),
        (2 - B + B, 2),
        ((B - 1) // 2 + 1, (B + 1) // 2),
        ((B * 5 - 4) // 2 - B * 2, B // 2 - 2),
        (-(-B // 2), B - B // 2),
        ((B * 3 + H) // -2, (B + H) // -2 - B),
        (B // 0, 0),
    ],
)
def test_equal_expressions_are_equal(expression: dims.Dim, expected: dims.Dim) -> None:
    assert expression == expected


def test_what_cannot_be_known_stays_symbolic() -> None:
    assert isinstance(B // 2, dims.Sym)
    assert B // 2 == B // 2
    assert B // 2 != H // 2
    assert dims.fresh() != dims.fresh()
    assert not dims.is_static((B, 3))
    assert not dims.is_static(None)


_OPERATIONS = (operator.add, operator.sub, operator.mul, operator.floordiv, operator.mod)
_LEAVES = st.one_of(st.integers(-5, 9), st.sampled_from(["b", "h"]))


@given(
    st.lists(st.tuples(st.sampled_from(_OPERATIONS), _LEAVES), min_size=1, max_size=6),
    st.integers(1, 9),
    st.integers(1, 9),
)
def test_substitution_commutes_with_arithmetic(steps: list, b: int, h: int) -> None:
    sizes = {"b": b, "h": h}
    symbolic: dims.Dim = dims.symbol("b")
    number = b
    for operation, leaf in steps:
        known = sizes[leaf] if isinstance(leaf, str) else leaf
        if operation in (operator.floordiv, operator.mod) and known <= 0:
            continue
        symbolic = operation(symbolic, dims.symbol(leaf) if isinstance(leaf, str) else leaf)
        number = operation(number, known)
    made = dims.substitute_dim(symbolic, sizes)
    # What is too large to be kept is a symbol of its own, which no size is known of.
    assert made == number or "?" in str(symbolic)


def test_what_two_unknown_sizes_broadcast_to() -> None:
    a, b, c = (dims.symbol(name) for name in "abc")
    assert dims.either(dims.either(a, b), c) == dims.either(c, dims.either(b, a))
    assert dims.either(a, dims.either(a, b)) == dims.either(a, b) != a
    assert dims.plain_names(dims.either(a, b)) == {"a", "b"}
    assert not dims.plain_names(a + 1) and not dims.plain_names(a * b) and not dims.plain_names(3)
    assert dims.either(a + 1, b) != dims.either(a + 1, b)


def _climb(step):
    """What 1,000 steps of a ladder make, from two unknown sizes."""
    size: dims.Dim = B * H + 1
    for _ in range(1000):
        size = step(size)
    return size


@pytest.mark.parametrize(
    "step",
    [
        lambda d: d * d,
        lambda d: d * (d + H + 1),
        lambda d: d * B,
        lambda d: d + d * H,
        lambda d: d * (1 << 62),
        lambda d: (d + 1) // 2,
        lambda d: d // (d - H),
        lambda d: (7 - d) % (d + 3),
        lambda d: dims.product((d, d, d)),
        lambda d: dims.ceildiv(d * 3 + 1, H + 2),
    ],
)  # fmt: skip
def test_no_expression_grows_without_bound(step):
    size = _climb(step)
    assert isinstance(size, dims.Sym) and size.weight < 300 and len(repr(size)) < 100_000
    again = _climb(step)
    assert size == again and hash(size) == hash(again)
    assert size != again + 1 and size - size == 0 and size // size == 1
    dims.substitute_dim(size, {"b": 2}, default=3)


def test_what_is_too_large_is_told_by_what_it_was_made_from():
    large = dims.product([B + n for n in range(40)])
    other = dims.product([H + n for n in range(40)])
    assert large * other == other * large != large * large
    assert large.symbols() != other.symbols() and len(large.terms) <= 300
    assert all(name.startswith("?") for name in (large * other).symbols())


def test_what_grew_too_large_may_be_negative():
    (large,) = (B * (1 << 126) * 4).symbols()
    assert dims.is_opaque(large)
    assert not any(map(dims.is_opaque, ["b", *dims.fresh().symbols()]))


def test_long_names_do_not_grow_expressions():
    name = "n" * 1_000_000
    size = dims.symbol(name) * dims.symbol(name + "m")
    assert size == dims.symbol(name + "m") * dims.symbol(name) != dims.symbol(name) * dims.symbol(name)
    assert len(repr(size)) < 200
    assert repr(dims.symbol("?" + name)).startswith("?")
    assert dims.symbol("\ud800" * 300) == dims.symbol("\ud800" * 300)


def test_the_largest_of_many_sizes_has_no_name():
    largest = B
    for number in range(100):
        largest = dims.either(largest, dims.symbol(f"n{number}"))
    assert len(repr(largest)) < 1000


def test_a_size_with_a_name_is_known_better_than_one_that_a_run_tells() -> None:
    named, run = dims.symbol("x.0"), dims.fresh()
    assert dims.more_known((run, run, named, named), (named, 4, run, 4)) == (named, 4, named, 4)
    assert dims.more_known((named * 2, run), (named, dims.symbol("?of the run"))) == (named * 2, run)
    assert dims.more_known(None, (run,)) == (run,)


@given(st.lists(st.tuples(st.sampled_from(_OPERATIONS[:4]), _LEAVES), max_size=5), st.integers(-3, 3))
def test_a_factor_divides_its_product(steps: list, number: int) -> None:
    factor: dims.Dim = B + number
    for operation, leaf in steps:
        factor = operation(factor, dims.symbol(leaf) if isinstance(leaf, str) else leaf or 1)
    if factor == 0:
        return
    for other in (B, B * H + 2, B - H, (H + 1) // 3 + B, 4):
        assert dims.exact_quotient(factor * other, factor) == other


NO_PRODUCTS = [(B * H + 1, B), (B + H, 2), (B, B + 1), (B * B + H, B + H), (5, B), (3, 2), (B, 0)]


@pytest.mark.parametrize(("a", "b"), NO_PRODUCTS)
def test_what_is_no_product_has_no_quotient(a: dims.Dim, b: dims.Dim) -> None:
    assert dims.exact_quotient(a, b) is None


@pytest.mark.parametrize(("shape", "sizes", "expected"), [
    (None, (1,), True), ((), (), True), ((), (1,), False), ((2, B), (2, 7), True), ((3, B), (2, 7), False),
    ((B,), (), False),
])  # fmt: skip
def test_sizes_that_a_shape_admits(shape: dims.Shape | None, sizes: tuple[int, ...], expected: bool) -> None:
    assert dims.admits(shape, sizes) is expected


def test_sizes_that_data_decide_may_vanish() -> None:
    batch, rows, boxes = dims.symbol("n"), dims.fresh("u"), dims.fresh("boxes")
    sizes: list[dims.Dim] = [3, batch, rows, boxes, boxes * 4, boxes + 1, rows * batch, batch + boxes]
    assert [dims.may_vanish(size) for size in sizes] == [False, False, True, True, True, False, True, False]
    assert [dims.counts_choices(size) for size in sizes] == [False, False, False, True, True, False, False, False]


def test_sizes_that_are_none_before_the_unknown_ones_are_told() -> None:
    batch, part = dims.symbol("n"), dims.fresh("slice")
    sizes: list[dims.Dim] = [0, batch, batch - 1, batch * 2 - 1, part, part + 1, part + batch - 1]
    assert [dims.vanishes_at_ones(size) for size in sizes] == [False, False, True, False, True, False, True]


def test_sizes_of_a_reshape() -> None:
    assert dims.open_sizes((2, dims.symbol("n"), 0, dims.symbol("m") * 2)) == [2, -1, 0, -1]
