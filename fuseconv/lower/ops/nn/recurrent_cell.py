"""Lowering of recurrent cells that are one TF op: FULLY_CONNECTED, and elementwise ops for the gates."""

from __future__ import annotations

from fuseconv.ir.graph import Value
from fuseconv.lower.rules import Lowering, lowers
from fuseconv.lower.support.legalize_operands import elementwise
from fuseconv.lower.support.type_promotion import in_float32


@lowers
@in_float32
def LSTMBlockCell(
    tfl, x, cs_prev, h_prev, w, wci, wcf, wco, b, *, forget_bias=1.0, cell_clip=3.0, use_peephole=False
):
    """One FULLY_CONNECTED for the gates input, cell, forget and output; the peepholes and the clip where there are."""
    gates = _product(tfl, tfl.concatenation(x, h_prev, axis=1), w, b)
    enter, cell, forget, leave = tfl.split(1, gates, num_splits=4)
    forget = tfl.add(forget, forget_bias)
    if use_peephole:
        enter = tfl.add(enter, elementwise(tfl, "MUL", cs_prev, wci))
        forget = tfl.add(forget, elementwise(tfl, "MUL", cs_prev, wcf))
    enter, cell, forget = tfl.logistic(enter), tfl.tanh(cell), tfl.logistic(forget)
    state = tfl.add(tfl.mul(cell, enter), tfl.mul(cs_prev, forget))
    if cell_clip > 0:
        state = tfl.maximum(tfl.minimum(state, cell_clip), -cell_clip)
    if use_peephole:
        leave = tfl.add(leave, elementwise(tfl, "MUL", state, wco))
    leave, out = tfl.logistic(leave), tfl.tanh(state)
    return [enter, state, forget, leave, cell, out, tfl.mul(out, leave)]


@lowers
@in_float32
def GRUBlockCell(tfl, x, h_prev, w_ru, w_c, b_ru, b_c):
    """One FULLY_CONNECTED for the gates reset and update, one for the candidate."""
    gates = tfl.logistic(_product(tfl, tfl.concatenation(x, h_prev, axis=1), w_ru, b_ru))
    reset, update = tfl.split(1, gates, num_splits=2)
    candidate = tfl.tanh(_product(tfl, tfl.concatenation(x, tfl.mul(h_prev, reset), axis=1), w_c, b_c))
    # u * h + (1 - u) * c
    return [reset, update, candidate, tfl.add(tfl.mul(update, tfl.sub(h_prev, candidate)), candidate)]


def _product(tfl: Lowering, x: Value, w: Value, bias: Value) -> Value:
    """Return x [batch, n] times w [n, m], and the bias [m]."""
    return tfl.fully_connected(x, tfl.transpose(w, [1, 0]), bias)
