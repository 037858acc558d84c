"""The loop of a recurrent layer: its functions take what it carries, and give the same."""

from __future__ import annotations

from fuseconv.ir import types
from fuseconv.ir.dims import symbol
from fuseconv.ir.graph import FuncRef, Value
from fuseconv.load.keras.call import Model, Object


def test_a_loop_carries_time_outputs_and_states() -> None:
    model = Model(True, ())
    x = Value(types.FLOAT32, (symbol("n"), 6, 4), "x")
    made = Object(model, "LSTM", {"name": "lstm", "units": 3, "return_sequences": True}).call([x], {})
    assert made.shape == (symbol("n"), 6, 3)
    (loop,) = [op for op in model.tf.out if op.kind == "tf.StatelessWhile"]
    condition, body = (loop.attrs[name] for name in ("cond", "body"))
    assert isinstance(condition, FuncRef) and isinstance(body, FuncRef)
    functions = model.module.functions
    carried = [value.dtype for value in loop.operands if value is not None]
    assert [value.dtype for value in functions[body.name].inputs] == carried
    assert [value.dtype for value in functions[body.name].outputs] == carried
    assert [value.dtype for value in functions[condition.name].outputs] == [types.BOOL]
