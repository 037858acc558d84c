"""Ops run in an order in which fewer bytes are needed at once, and side effects keep theirs."""

from __future__ import annotations

import pytest

from tests.check_pass import check_pass

_WIDE = "tfl.BROADCAST_TO(%x, int32[2] [100, 4])"
_SUM = "int32[1] [0]) {'keep_dims': True}"


def _text(*ops: str, size: str = "1", result: str = "%y") -> str:
    lines = "\n".join(ops)
    return f"main {{\ninput %x: float32[{size},4]\n{lines}\nreturn {result}\n}}"


_A = [f"%a: float32[100,4] = {_WIDE}", f"%p: float32[1,4] = tfl.SUM(%a, {_SUM}"]
_B = [f"%b: float32[100,4] = {_WIDE}", f"%q: float32[1,4] = tfl.SUM(%b, {_SUM}"]
_Y = "%y: float32[1,4] = tfl.ADD(%p, %q)"


def test_a_branch_ends_before_the_next_begins() -> None:
    check_pass("schedule-ops", _text(_A[0], _B[0], _A[1], _B[1], _Y), _text(*_A, *_B, _Y))


def test_an_unknown_batch_counts_as_one() -> None:
    texts = [text.replace("float32[1,4]", "float32[n,4]").replace("float32[100,4]", "float32[100*n,4]")
             for text in (_text(_A[0], _B[0], _A[1], _B[1], _Y, size="n"), _text(*_A, *_B, _Y, size="n"))]  # fmt: skip
    check_pass("schedule-ops", *texts)


@pytest.mark.parametrize("ops", [
    pytest.param([*_A, *_B, _Y], id="ended already"),
    pytest.param([_B[0], f"%a: float32[100,4] = {_WIDE}", "%p: float32[100,4] = tfl.ADD(%a, %b)",
                  f"%y: float32[1,4] = tfl.SUM(%p, {_SUM}"], id="one op needs both"),
    pytest.param([_A[0], _A[1], f"%y: float32[1,4] = tfl.SUM(%p, {_SUM}"], id="a chain"),
])  # fmt: skip
def test_where_no_order_needs_less(ops: list[str]) -> None:
    check_pass("schedule-ops", _text(*ops))


def test_side_effects_keep_their_order() -> None:
    """The branches would swap: what the first one sees of the variable would not be what the second one leaves."""
    handle = "%h: resource[] = tfl.VAR_HANDLE() {'shared_name': 'v', 'container': ''}"
    wide = ["%a: float32[100,4] = tfl.READ_VARIABLE(%h)", "%b: float32[100,4] = tfl.READ_VARIABLE(%h)"]
    write = f"%w: float32[100,4] = {_WIDE}"
    assign = "tfl.ASSIGN_VARIABLE(%h, %w)"
    check_pass(
        "schedule-ops",
        _text(handle, wide[0], write, assign, wide[1], _A[1], _B[1], _Y),
        _text(handle, wide[0], _A[1], write, assign, wide[1], _B[1], _Y),
    )


def test_states_of_a_dynamic_batch_stay_where_they_are() -> None:
    state = "%s: float32[n,4] {'variable': True} = tfl.FILL(%d, float32[] 0.0)"
    use = "%r: float32[n,4] = tfl.UNIDIRECTIONAL_SEQUENCE_RNN(%x, %x, %x, _, %s)"
    sizes = "%d: int32[2] = tfl.SHAPE(%x)"
    ops = [_A[0], _B[0], _A[1], _B[1], _Y, sizes, state, use]
    check_pass("schedule-ops", _text(*ops, size="n", result="%y, %r"))


def test_what_a_function_needs_counts_where_it_runs() -> None:
    """The loop needs 16 kB: what a branch has 1.6 kB for does not wait for it."""
    function = f"body {{\ninput %x: float32[1,4]\n%w: float32[1000,4] = {_WIDE.replace('100', '1000')}\n" \
               f"%y: float32[1,4] = tfl.SUM(%w, {_SUM}\nreturn %y\n}}"  # fmt: skip
    more = "more {\ninput %x: float32[1,4]\n%y: bool[] = tfl.REDUCE_ANY(%x, int32[2] [0, 1])\nreturn %y\n}"
    loop = "%l: float32[1,4] = tfl.WHILE(%x) {'cond_subgraph_index': @more, 'body_subgraph_index': @body}"
    last = "%z: float32[1,4] = tfl.ADD(%l, %p)"
    before = _text(_A[0], loop, _A[1], last, result="%z")
    after = _text(loop, *_A, last, result="%z")
    check_pass("schedule-ops", f"{before}\n{more}\n{function}", f"{after}\n{more}\n{function}")
