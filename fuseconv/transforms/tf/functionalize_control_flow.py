"""Functionalize control flow of TF1 -> While and If.

TF1 has no functions: Enter, Merge, Switch, NextIteration and Exit steer tokens through one graph. What stands between
them is what a loop or a branch runs.
"""

from __future__ import annotations

from collections.abc import Iterable

from fuseconv.errors import InputError
from fuseconv.facts import NO_TF1_CONTROL_FLOW
from fuseconv.ir.graph import FuncRef, Graph, Module, Op, Rejection, Value, replace_uses
from fuseconv.ir.rewriter import has_kind
from fuseconv.ir.types import RESOURCE
from fuseconv.pass_manager import module_pass
from fuseconv.report.records import Report
from fuseconv.tf.builder import TfBuilder
from fuseconv.tf.side_effects import has_effect, is_idle, is_repeatable
from fuseconv.tf.traits import STEERING, TF1_CONTROL_FLOW
from fuseconv.transforms.tf.inline import MAX_DEPTH
from fuseconv.transforms.tf.outliner import Copy, Outliner, made_by

_LOST = Rejection("TF1 ties it to a loop or branch by control edges only, so that it is not known when it runs", True)
_ODD = Rejection("it is no part of a loop or branch as TF1 builds them", hopeless=True)

# The loops that an op stands in, the outermost first.
_Frame = tuple[str, ...]
# The sides of branches that an op stands on: conditions, and whether they hold.
_Context = tuple[tuple[Value, int], ...]


@module_pass("functionalize-control-flow", ensures=(NO_TF1_CONTROL_FLOW,), kinds=TF1_CONTROL_FLOW)
def functionalize_control_flow(module: Module, report: Report) -> None:
    """Outline loops and branches of TF1, nested to any depth: Enter, Merge, Switch, Exit -> While(cond, body), If.

    An op that cannot be placed stays, with a hopeless rejection: no kernel runs it where it stands. Expects functions
    with one user each."""
    for graph in list(module.graphs()):
        if has_kind(graph, TF1_CONTROL_FLOW):
            for op in graph.ops:
                if op.kind in TF1_CONTROL_FLOW:
                    op.set_kind(f"tf.{op.type.removeprefix('Ref')}")
            _mark_lost(graph, module)
            before = set(module.functions)
            _LoopOutliner(graph, module, report).run()
            made = [module.functions[name] for name in module.functions if name not in before]
            for each in (graph, *made):
                _BranchOutliner(each, module, report).run()
                for op in each.ops:
                    if op.kind in STEERING:
                        op.rejection = _ODD


def _mark_lost(graph: Graph, module: Module) -> None:
    """Mark effects that nothing but a control edge places: they would happen at the wrong time, or not as often. A
    handle comes into a loop or branch through an Enter or Switch."""
    placed: set[Value] = set()
    for op in graph.ops:
        if op.type in ("Switch", "Enter") or any(value in placed for value in op.operands if value is not None):
            placed.update(op.results)
        elif any(value is not None and value.dtype is RESOURCE for value in op.operands):
            continue
        elif has_effect(op, module, {}) and not is_idle(op) and not op.type.startswith("TensorArray"):
            op.rejection = _LOST


def _hold_to_depth(around: _Frame | _Context) -> None:
    """Raise InputError for one more loop or branch within these if functions may not nest as deep."""
    if len(around) >= MAX_DEPTH:
        raise InputError(f"the model's loops and branches of TF1 nest more than {MAX_DEPTH} deep.")


def _condition(switch: Op) -> Value:
    """Return what a Switch asks; TF1 hands it on under several names."""
    value = switch.operands[1]
    assert value is not None
    while value.op is not None and value.op.type == "Identity":
        value = value.op.operands[0]
        assert value is not None
    return value


class _LoopCopy(Copy):
    def __init__(self, graph: Graph, values: dict[Value, Value], loop: _Loop) -> None:
        super().__init__(graph, values)
        self.loop = loop

    def inside(self, value: Value) -> bool:
        return value.op in self.loop.ops

    def capture(self, value: Value) -> Value:
        return self.loop.add(value, value)[self.graph is self.loop.body]


class _Loop:
    """A loop that is being outlined: what it carries, and the inputs of both functions that stand for it."""

    def __init__(self, cond: Graph, body: Graph, ops: set[Op]) -> None:
        self.cond = cond
        self.body = body
        self.ops = ops
        self.operands: list[Value] = []

    def add(self, operand: Value, like: Value) -> tuple[Value, Value]:
        """Carry one more value, and hand it on as it is."""
        self.operands.append(operand)
        inputs = [graph.add_input(like.dtype, operand.shape, like.name) for graph in (self.cond, self.body)]
        return inputs[0], inputs[1]


class _LoopOutliner(Outliner):
    """Outline the loops of a graph, the innermost first.

        Enter(x) -> Merge(., NextIteration) -> Switch(., LoopCond) -> body -> NextIteration;  Switch -> Exit
    ->  While(x, cond, body)

    A frame is the names of the loops around an op, outermost first."""

    def run(self) -> None:
        """Find the frame of each op, and outline a loop for each frame."""
        self.frames: dict[Op, _Frame] = {}
        # By name; an Enter of a constant does not tell the loops around its own.
        self.paths: dict[str, _Frame] = {}
        known = None
        while known != self.paths:
            known = dict(self.paths)
            for op in self.graph.ops:
                self.frames[op] = self.frame_of(op)
        self.members: dict[_Frame, list[Op]] = {}
        for op, frame in self.frames.items():
            self.members.setdefault(frame, []).append(op)
        for frame in sorted(self.members, key=len, reverse=True):
            if frame:
                self.outline(frame)
        self.finish()

    def frame_of(self, op: Op) -> _Frame:
        """Return the frame of an op by those of its operands: an Enter is one loop deeper, an Exit one less deep."""
        makers = [value.op for value in op.operands if value is not None and value.op in self.frames]
        outer = max((self.frames[maker] for maker in makers if maker is not None), key=len, default=())
        if op.type == "Enter":
            name = str(op.attrs.get("frame_name", ""))
            if len(outer) >= len(self.paths.get(name, ())):
                self.paths[name] = (*outer, name)
                _hold_to_depth(outer)
            return self.paths[name]
        return outer[:-1] if op.type == "Exit" else outer

    def outline(self, frame: _Frame) -> None:
        """Outline the loop of a frame to a While with two functions; leave it if it has not the form of a loop.

        Each Merge of a NextIteration is a variable that changes, and what else is entered one that is handed on."""
        inside = sorted([op for op in self.members[frame] if op not in self.gone], key=self.places.__getitem__)
        conditions = [op for op in inside if op.type == "LoopCond"]
        merges = [op for op in inside if op.type == "Merge" and made_by(op.operands[1], "NextIteration")]
        if len(conditions) != 1 or not all(made_by(merge.operands[0], "Enter") for merge in merges):
            return
        (condition,) = conditions
        name = frame[-1] or condition.name
        loop = _Loop(self.function(f"{name} cond"), self.function(f"{name} body"), set(inside))
        cond, body = (_LoopCopy(graph, {}, loop) for graph in (loop.cond, loop.body))
        exits: list[tuple[Op, int]] = []
        for merge in merges:
            entered = merge.operands[0].op.operands[0]  # type: ignore[union-attr]
            assert entered is not None
            cond.values[merge.result], body.values[merge.result] = loop.add(entered, merge.result)
            for switch in merge.result.uses:
                if switch.type == "Switch" and switch.operands[1] is condition.result:
                    body.values[switch.results[1]] = body.values[merge.result]
                    exits += [(op, len(loop.operands) - 1) for op in switch.results[0].uses if op.type == "Exit"]
        for enter in inside:
            if enter.type == "Enter" and not any(op in merges for op in enter.result.uses):
                assert enter.operands[0] is not None
                both = loop.add(enter.operands[0], enter.result)
                cond.values[enter.result], body.values[enter.result] = both
        loop.cond.outputs = [cond.of(condition.operands[0])]  # type: ignore[arg-type]
        changed = [body.of(merge.operands[1].op.operands[0]) for merge in merges]  # type: ignore[union-attr,arg-type]
        for op in inside:
            if self.has_effect(op) and not is_idle(op):
                body.copy_effect(op)
        body.keep_order(self.places)
        loop.body.outputs = [*changed, *loop.body.inputs[len(changed) :]]
        for value in loop.operands:
            if value.op is not None and not self.frames[value.op] and not is_repeatable(value.op):
                self.mark_repeated(value.op)
        self.replace(loop, name, frame, inside, exits)

    def mark_repeated(self, op: Op) -> None:
        """Mark an op that gives another result whenever it runs, on constants alone: it may be one that the loop
        repeats."""
        if all(value is None or value.is_const for value in op.operands) and "Random" in op.type:
            op.rejection = _LOST

    def replace(self, loop: _Loop, name: str, frame: _Frame, inside: list[Op], exits: list[tuple[Op, int]]) -> None:
        """Put a While in the place of the ops inside of a loop. exits: each with the variable that it gives out."""
        attrs = {"cond": FuncRef(loop.cond.name), "body": FuncRef(loop.body.name)}
        sources = tuple(op.name for op, _ in exits)
        made = Op("tf.While", loop.operands, attrs, name, sources)
        for value in loop.operands:
            made.add_result(value.dtype, None)
        for op, index in exits:
            replace_uses(op.result, made.results[index])
        self.frames[made] = frame[:-1]
        self.members.setdefault(frame[:-1], []).append(made)
        self.insert([made], inside[0])
        self.drop([*inside, *(op for op, _ in exits)])


class _BranchCopy(Copy):
    """side: of `context`, the last of which is the branch's own condition."""

    def __init__(self, graph: Graph, branches: _BranchOutliner, context: _Context, captured: dict[Value, None]) -> None:
        super().__init__(graph, {})
        self.branches = branches
        self.context = context
        self.captured = captured

    def inside(self, value: Value) -> bool:
        if value.op is not None and value.op.type == "Switch" and _condition(value.op) is self.context[-1][0]:
            return False
        return self.branches.contexts.get(value, ())[: len(self.context)] == self.context

    def capture(self, value: Value) -> Value:
        switched = made_by(value, "Switch") and _condition(value.op) is self.context[-1][0]  # type: ignore[arg-type]
        outer = value.op.operands[0] if switched else value  # type: ignore[union-attr]
        assert outer is not None
        if outer.is_const:
            return outer
        self.captured.setdefault(outer)
        inner = self.inner.setdefault(outer, Value(outer.dtype, outer.shape, outer.name))
        return inner

    @property
    def inner(self) -> dict[Value, Value]:
        """Return the function's own values for what it captures."""
        return self.branches.inner.setdefault(self.graph, {})


class _BranchOutliner(Outliner):
    """Outline the branches of a graph to functions of an If.

        Merge(f(Switch(x, c)[1]), g(Switch(x, c)[0]))  ->  If(c, x, then_branch=f, else_branch=g)

    A context is the sides of branches that a value is on, outermost first: conditions with 1 for true."""

    def run(self) -> None:
        """Outline all branches, the innermost first."""
        self.inner: dict[Graph, dict[Value, Value]] = {}
        self.contexts: dict[Value, _Context] = {}
        # Of each If that is made, since what it captures may come from further out.
        self.around: dict[Op, _Context] = {}
        self.effects: dict[_Context, list[Op]] = {}
        merges: dict[tuple[_Context, Value], list[Op]] = {}
        for op in self.graph.ops:
            context = self.find_context(op)
            self.note_effect(op, context)
            if op.type == "Merge" and context:
                merges.setdefault((context[:-1], context[-1][0]), []).append(op)
        groups = [group for same in merges.values() for group in self.groups(same)]
        groups.sort(key=lambda group: (-len(self.context_of(group[0])), self.places[group[0]]))
        for group in groups:
            self.outline(group)
        self.finish()

    def note_effect(self, op: Op, context: _Context) -> None:
        if self.has_effect(op) and not is_idle(op):
            self.effects.setdefault(context, []).append(op)

    def context_of(self, op: Op) -> _Context:
        """Return the sides on which all that an op reads is there, of a Merge its deeper operand: the other may be a
        value that no Switch lets through."""
        if op in self.around:
            return self.around[op]
        return max((self.contexts.get(v, ()) for v in op.operands if v is not None), key=len, default=())

    def find_context(self, op: Op) -> _Context:
        """Note the context of an op's results, and return that of the op: a Switch goes one side deeper, a Merge leaves
        one."""
        context = self.context_of(op)
        if op.type == "Switch":
            _hold_to_depth(context)
            for side, result in enumerate(op.results):
                self.contexts[result] = (*context, (_condition(op), side))
            return context
        for result in op.results:
            self.contexts[result] = context[:-1] if op.type == "Merge" else context
        return context

    def groups(self, merges: list[Op]) -> Iterable[list[Op]]:
        """Return the merges of each branch, of all with one condition in one context: one branch has those that do not
        depend on one another."""
        if len(merges) == 1:
            return [merges]
        wanted, found = set(merges), dict[int, list[Op]]()
        levels: dict[Value, int] = {}  # how many of the merges lead to a value, one after the other
        for op in self.graph.ops[self.places[merges[0]] : self.places[merges[-1]] + 1]:
            level = max((levels.get(value, 0) for value in op.operands if value is not None), default=0)
            if op in wanted:
                found.setdefault(level, []).append(op)
                level += 1
            if level:
                levels.update(dict.fromkeys(op.results, level))
        return found.values()

    def outline(self, merges: list[Op]) -> None:
        """Outline the branch whose results these merges are, with what has effects on its sides."""
        *outer, (condition, _) = self.context_of(merges[0])
        name = merges[0].name
        captured: dict[Value, None] = {}
        sides: list[Graph] = []
        gone = list(merges)
        for side in (1, 0):
            graph = self.function(f"{name} {('else', 'then')[side]}")
            copy = _BranchCopy(graph, self, (*outer, (condition, side)), captured)
            graph.outputs = [copy.of(self.operand(merge, side)) for merge in merges]
            written = self.effects.pop(copy.context, [])
            for op in written:
                copy.copy_effect(op)
            copy.keep_order(self.places)
            gone += written
            sides.append(graph)
        for graph in sides:
            inner = self.inner.get(graph, {})
            graph.inputs = [inner.get(value) or Value(value.dtype, value.shape, value.name) for value in captured]
        attrs = {"then_branch": FuncRef(sides[0].name), "else_branch": FuncRef(sides[1].name)}
        sources = tuple(merge.name for merge in merges)
        made = Op("tf.If", [condition, *captured], attrs, name, sources)
        emitted = [made]
        for merge in merges:
            replace_uses(merge.results[0], made.add_result(merge.result.dtype, None))
            if merge.results[1].uses:
                self.give_index(merge, condition, emitted)
        around = tuple(outer)
        for op in emitted:
            self.around[op] = around
            self.contexts.update(dict.fromkeys(op.results, around))
        self.insert(emitted, merges[0])
        self.note_effect(made, around)
        self.drop(gone)

    def operand(self, merge: Op, side: int) -> Value:
        """Return what a merge takes from a side of its branch."""
        context = self.context_of(merge)
        first, second = merge.operands
        assert first is not None and second is not None
        deeper, other = (first, second) if self.contexts.get(first, ()) == context else (second, first)
        return deeper if context[-1][1] == side else other

    def give_index(self, merge: Op, condition: Value, out: list[Op]) -> None:
        """Let the readers of a merge's index read which operand it took, computed from the condition."""
        index = merge.results[1]
        tf = TfBuilder(out, merge)
        taken = tf.Cast(condition, dtype=index.dtype)
        replace_uses(index, taken if self.operand(merge, 1) is merge.operands[1] else tf.Sub(tf.ints(1), taken))
