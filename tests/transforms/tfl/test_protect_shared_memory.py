"""What a kernel would write over is copied, where others read the same memory."""

from __future__ import annotations

import pytest

from tests.check_pass import check_pass


def _text(*ops: str, size: str = "n", result: str = "%y, %z") -> str:
    lines = "\n".join(ops)
    return f"main {{\ninput %x: float32[{size},3]\n{lines}\nreturn {result}\n}}"


_OWN = "%t: float32[n,3] = tfl.EXP(%x)"
_OVER = "%a: float32[n,3] = tfl.MUL(%t, float32[3] [1, 2, 3])"
_SHARED = "%b: float32[n,1,3] = tfl.EXPAND_DIMS(%a, int32[] 1)"
_WRITER = "%c: float32[n,1,3] = tfl.{}(%b{}) {}"
_READERS = ["%y: float32[n,1,3] = tfl.SIN(%c)", "%z: float32[n,3] = tfl.COS(%a)"]
_ADD = _WRITER.format("ADD", ", float32[] 1.0", "")
_COPY = "%d: float32[n,1,3] = tfl.SLICE(%b, int32[3] [0, 0, 0], int32[3] [-1, -1, -1])"


@pytest.mark.parametrize("writer", [
    ("ADD", ", float32[] 1.0", ""), ("SOFTMAX", "", "{'beta': 1.0}"),
    ("DYNAMIC_UPDATE_SLICE", ", float32[1,1,3] [[[7, 8, 9]]], int32[3] [0, 0, 0]", ""),
], ids=lambda writer: writer[0])  # fmt: skip
def test_what_an_op_may_write_over_is_copied(writer: tuple) -> None:
    op = _WRITER.format(*writer)
    check_pass(
        "protect-shared-memory",
        _text(_OWN, _OVER, _SHARED, op, *_READERS),
        _text(_OWN, _OVER, _SHARED, _COPY, op.replace("(%b", "(%d"), *_READERS),
    )


def test_readers_of_what_is_shared_twice_count() -> None:
    """The memory is that of what CAST makes, which one op reads; two read what that makes of it."""
    made = "%t: float32[n,3] = tfl.CAST(%x)"
    between = "%a: float32[n,1,3] = tfl.EXPAND_DIMS(%t, int32[] 1)"
    shared = "%b: float32[n,3] = tfl.SQUEEZE(%a) {'squeeze_dims': [1]}"
    writer = "%c: float32[n,3] = tfl.SUB(%b, float32[] 1.0)"
    copy = "%d: float32[n,3] = tfl.SLICE(%b, int32[2] [0, 0], int32[2] [-1, -1])"
    readers = ["%y: float32[n,3] = tfl.SIN(%c)", "%z: float32[n,1,3] = tfl.COS(%a)"]
    check_pass(
        "protect-shared-memory",
        _text(made, between, shared, writer, *readers),
        _text(made, between, shared, copy, writer.replace("(%b", "(%d"), *readers),
    )


@pytest.mark.parametrize("ops", [
    pytest.param([_OWN, _OVER, _SHARED, _ADD, _READERS[0], "%z: float32[n,1,3] = tfl.COS(%c)"], id="read by one op"),
    pytest.param(["%a: float32[n,3] = tfl.EXP(%x)", _SHARED, _ADD, *_READERS], id="its own memory"),
    pytest.param([_OWN, _OVER.replace("%t", "%x"), _SHARED, _ADD, *_READERS], id="an input is not written over"),
    pytest.param([_OWN, "%a: float32[n,3] = tfl.MUL(%t, %t)", _SHARED, _ADD, *_READERS], id="read twice"),
    pytest.param([_OWN, _OVER, _SHARED, _WRITER.format("MAXIMUM", ", float32[] 1.0", ""), *_READERS],
                 id="another kernel"),
], ids=str)  # fmt: skip
def test_nothing_else_is_copied(ops: list[str]) -> None:
    check_pass("protect-shared-memory", _text(*ops))


def test_a_result_of_another_size_is_not_written_over() -> None:
    wider = "%c: float32[2,3,3] = tfl.ADD(%b, float32[3,1] [[1], [2], [3]])"
    ops = [_OWN, _OVER, _SHARED, wider, "%y: float32[2,3,3] = tfl.SIN(%c)", _READERS[1]]
    check_pass("protect-shared-memory", _text(*ops).replace("[n,", "[2,"))


@pytest.mark.parametrize(("shared", "made"), [("2", "n"), ("n", "2")])
def test_a_size_that_only_a_run_tells_may_be_the_same(shared: str, made: str) -> None:
    ops = [op.replace("[n,", f"[{shared},") for op in (_OWN, _OVER, _SHARED, _COPY)]
    writer = f"%c: float32[{made},1,3] = tfl.ADD({{}}, %w)"
    readers = [f"%y: float32[{made},1,3] = tfl.SIN(%c)", _READERS[1].replace("[n,", f"[{shared},")]
    before, after = (
        _text(f"input %w: float32[{made},1,3]", *kept, writer.format(operand), *readers, size=shared)
        for kept, operand in ((ops[:3], "%b"), (ops, "%d"))
    )
    check_pass("protect-shared-memory", before, after)


def test_scalars_are_not_written_over() -> None:
    text = _text(
        "%t: float32[1] = tfl.SUM(%x, int32[2] [0, 1])", "%a: float32[1] = tfl.MUL(%t, float32[] 2.0)",
        "%b: float32[] = tfl.RESHAPE(%a, int32[0] [])", "%c: float32[] = tfl.ADD(%b, float32[] 1.0)",
        "%y: float32[] = tfl.SIN(%c)", "%z: float32[1] = tfl.COS(%a)",
    )  # fmt: skip
    check_pass("protect-shared-memory", text)


def test_complex_numbers_are_copied_as_pairs() -> None:
    ops = [
        "%i: complex64[n] = tfl.BITCAST(%p)", "%t: complex64[n] = tfl.MUL(%i, %i)",
        "%a: complex64[n] = tfl.MUL(%t, complex64[] 2.0)", "%b: complex64[1,n] = tfl.EXPAND_DIMS(%a, int32[] 0)",
        "%c: complex64[1,n] = tfl.MUL(%b, complex64[] 3.0)",
        "%y: float32[1,n] = tfl.REAL(%c)", "%z: float32[n] = tfl.REAL(%a)",
    ]  # fmt: skip
    copy = [
        "%d: float32[1,n,2] = tfl.BITCAST(%b)",
        "%e: float32[1,n,2] = tfl.SLICE(%d, int32[3] [0, 0, 0], int32[3] [-1, -1, -1])",
        "%f: complex64[1,n] = tfl.BITCAST(%e)",
    ]
    before, after = (
        "main {\ninput %p: float32[n,2]\n" + "\n".join(lines) + "\nreturn %y, %z\n}"
        for lines in (ops, [*ops[:4], *copy, ops[4].replace("(%b", "(%f"), *ops[5:]])
    )
    check_pass("protect-shared-memory", before, after)


def test_a_copy_in_front_of_a_state_has_a_size_before_a_run() -> None:
    # That of SLICE has none, and the state would be written past its end.
    weights = "float32[3,3] [1, 2, 3, 4, 5, 6, 7, 8, 9], float32[3,3] [1, 2, 3, 4, 5, 6, 7, 8, 9], float32[3] [1, 2, 3]"
    state = (
        "%s: int32[2] = tfl.SHAPE(%x)", "%h: float32[n,3] {'variable': True} = tfl.FILL(%s, float32[] 0.0)",
        f"%z: float32[n,1,3] = tfl.UNIDIRECTIONAL_SEQUENCE_RNN(%y, {weights}, %h)",
        "%w: float32[n,3] = tfl.COS(%a)",
    )  # fmt: skip
    copy = (
        "%d: float32[n,1,3] = tfl.STRIDED_SLICE(%b, int32[3] [0, 0, 0], int32[3] [0, 0, 0], int32[3] [1, 1, 1]) "
        "{'begin_mask': 7, 'end_mask': 7}"
    )
    after = _ADD.replace("(%b", "(%d")
    check_pass(
        "protect-shared-memory",
        _text(_OWN, _OVER, _SHARED, _ADD, _READERS[0], *state, result="%z, %w"),
        _text(_OWN, _OVER, _SHARED, copy, after, _READERS[0], *state, result="%z, %w"),
    )
