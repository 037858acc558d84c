"""Persist states of fused recurrent ops that outlive an invoke: they stay in the ops' own variable tensors."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fuseconv.ir import types
from fuseconv.ir.dims import is_static
from fuseconv.ir.graph import Module, Op, Value, replace_uses
from fuseconv.ir.rewriter import erase_ops, ops_of_kinds
from fuseconv.ir.slice_spec import SliceSpec
from fuseconv.ir.terms import op_of
from fuseconv.pass_manager import module_pass
from fuseconv.report.records import Report
from fuseconv.tf.resource_alias import aliases
from fuseconv.tf.traits import VARIABLES

MODES = ("written", "variable")


class _State(NamedTuple):
    """A state: the result that is its layer's output, whether the first step of that is the last one that is taken, and
    whether it is an LSTM's cell state, which is not its output."""

    result: int
    backwards: bool = False
    cell: bool = False


# op -> its states, by their operands
STATES = {
    "tfl.UNIDIRECTIONAL_SEQUENCE_LSTM": {18: _State(0), 19: _State(0, cell=True)},
    "tfl.UNIDIRECTIONAL_SEQUENCE_RNN": {4: _State(0)},
    "tfl.BIDIRECTIONAL_SEQUENCE_LSTM": {
        35: _State(0), 36: _State(0, cell=True), 37: _State(1, True), 38: _State(1, True, cell=True),
    },
    "tfl.BIDIRECTIONAL_SEQUENCE_RNN": {4: _State(0), 8: _State(1, True)},
}  # fmt: skip
_RULE = "persist-states"
RESET = (
    "the application must reset the variables before each sequence, by reset_all_variables() in Python, "
    "ResetVariableTensors() of LiteRT's C++ interpreter, Reset() of TFLite Micro's"
)


@module_pass("persist-states", kinds=STATES)
def persist_states(module: Module, report: Report, rnn_state: str = "written") -> bool:
    """Let states outlive an invoke in the op's own variable tensor: FILL -> state, LSTM(x, state) -> LSTM(x, state).

    This takes away what writes a state before each invoke, where it is not needed. Returns whether it took anything,
    which leaves handles of variables that nothing uses.

    A stateful layer reads its state from a variable of the model and writes it back. If nothing else uses the variable,
    and it starts as zeros, the op's own variable tensor takes its place. The runtime zeroes that when it allocates and
    in reset_all_variables. It allocates again where an input has another size than before, and for strings each time:
    where an input may be such a one, the model's variable stays.

    rnn_state: `variable` also leaves away the writes of zeros, as microcontroller and NPU compilers expect it; whoever
    runs the file must then reset the variables between sequences. A state whose batch is not fixed is always written.
    """
    names: dict[Value, set[str]] | None = None
    kept = False
    allocates_anew = any(map(_may_be_resized, (value for each in module.signatures for value in each.graph.inputs)))
    for graph in module.graphs():
        dead: list[Op] = []
        for op in ops_of_kinds(graph, STATES):
            for index in STATES[op.kind]:
                state = op.operands[index]
                if state is None or state.op is None or not state.variable:
                    continue
                if names is None:
                    names = aliases(module, VARIABLES)
                used = [] if allocates_anew else _only_uses(module, names, op, index)
                if used:
                    why = "the state stays in the op's variable tensor, which reset_all_variables clears"
                elif rnn_state == "variable" and state.op.kind == "tfl.FILL" and is_static(state.shape):
                    why = "the state is not cleared before each invoke: the caller must reset it between sequences"
                    _warn(report, f"states are kept between invokes: {RESET}")
                else:
                    if rnn_state == "variable":
                        _warn(report, "states are written on every invoke unless they are zeros of a fixed size")
                    continue
                report.record("lowered", _RULE, [source for each in used for source in each.sources], why=why)
                dead += [state.op, *used]
                _replace(op, state)
        erase_ops(graph, dead)
        kept |= bool(dead)
    return kept


def _may_be_resized(value: Value) -> bool:
    return value.dtype is types.STRING or not is_static(value.shape)


def _warn(report: Report, warning: str) -> None:
    if warning not in report.warnings:
        report.warnings.append(warning)


def _replace(op: Op, state: Value) -> None:
    """Put a variable tensor that nothing writes in the place of a state."""
    kept = Value(state.dtype, state.shape, state.name)
    kept.variable = True
    replace_uses(state, kept)


def _only_uses(module: Module, names: dict[Value, set[str]], op: Op, index: int) -> list[Op]:
    """Return the ops that read and write the model's variable that a state is kept in; none unless the variable can
    go."""
    state = op.operands[index]
    assert state is not None and state.op is not None
    read = op_of(state.op.operands[0], "tf.ReadVariableOp")
    if read is None or len(read.result.uses) != 1 or not is_static(state.shape):
        return []
    (name, *others) = names.get(read.operands[0], set())  # type: ignore[arg-type]
    variable = module.variables.get(name)
    if others or variable is None or variable.data is None or np.any(variable.data):
        return []
    users = [user for value, known in names.items() if name in known for user in value.uses]
    writes = [user for user in users if user is not read]
    if len(writes) != 1 or writes[0].kind != "tf.AssignVariableOp" or writes[0].operands[1] is None:
        return []
    return [read, writes[0]] if _is_final(writes[0].operands[1], op, index) else []


def _is_final(value: Value, op: Op, index: int) -> bool:
    """Return whether a value is what a state is after the op has run, as the fusions build it: the last output, or what
    is cut from behind it."""
    made, state = value.op, STATES[op.kind][index]
    if made is None or not made.operands or made.operands[0] is None:
        return False
    if not state.cell:
        spec, place = SliceSpec.of(made), 0 if state.backwards else -1
        last = spec is not None and spec.picked() in ((0, place), (1, place))
        return last and made.operands[0] is op.results[state.result]
    joined = made.operands[0].op
    return made.kind == "tfl.SLICE" and joined is not None and joined.operands[-1] is op.operands[index]
