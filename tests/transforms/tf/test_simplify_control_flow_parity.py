"""What does not depend on a loop or a branch leaves it."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf

from fuseconv.ir import types
from fuseconv.ir.graph import constant
from fuseconv.ir.verifier import check
from fuseconv.testing import check as check_parity
from fuseconv.transforms.tf.inline import inline
from fuseconv.transforms.tf.simplify_control_flow import simplify_control_flow
from tests.tf.text_cases import kinds, module_of

COND = """cond {
    input %0 "i": int32[]
    input %1 "x": float32[2]
    input %2 "n": int32[]
    input %3 "h": resource[]
    %4 "less": bool[] = tf.Less(%0, %2) {}
    return %4
}"""
BODY = """body {
    input %0 "i": int32[]
    input %1 "x": float32[2]
    input %2 "n": int32[]
    input %3 "h": resource[]
    %4 "next": int32[] = tf.AddV2(%0, %2) {}
    %5 "neg": float32[2] = tf.Neg(%1) {}
    return %4, %5, %2, %3
}"""
MAIN = """main {
    input %0 "x": float32[2]
    const %1 "zero": int32[] = 0
    const %2 "n": int32[] = 3
    %3 "v": resource[] = tf.VarHandleOp() {'shared_name': 'v'}
    %4 "loop": int32[]; %5 "loop:1": float32[2]; %6 "loop:2": int32[]; %7 "loop:3": resource[] = \
tf.While(%1, %0, %2, %3) {'cond': {'function': 'cond'}, 'body': {'function': 'body'}}
    return %5, %6
}"""


def test_loops_carry_what_changes() -> None:
    module, report = module_of(MAIN, COND, BODY, outputs=2)
    inline(module, report)
    simplify_control_flow(module, report)
    main, cond, body = module.graphs()
    loop = main.ops[-1]
    assert [value and value.name for value in loop.operands] == ["zero", "x"]
    assert [value.index for value in loop.results] == [0, 1]
    assert len(cond.inputs) == len(body.inputs) == len(body.outputs) == 2
    assert getattr(cond.ops[0].operands[1], "is_const", False)
    # The invariant that the graph returns is what went in.
    assert main.outputs[1].name == "n"


COUNTED = """cond {
    input %0 "i": int32[]
    input %1 "j": int32[]
    input %2 "x": float32[2]
    input %3 "y": float32[2]
    const %4 "n": int32[] = 3
    %5 "less": bool[] = tf.Less(%1, %4) {}
    return %5
}"""
TWICE = """body {
    input %0 "i": int32[]
    input %1 "j": int32[]
    input %2 "x": float32[2]
    input %3 "y": float32[2]
    const %4 "one": int32[] = 1
    %5 "next": int32[] = tf.AddV2(%0, %4) {}
    %6 "other": int32[] = tf.AddV2(%1, %4) {}
    %7 "made": float32[2] = tf.KIND(%3) {}
    return %5, %6, %7, %7
}"""
RUN = """main {
    input %0 "x": float32[2]
    const %1 "zero": int32[] = 0
    const %2 "null": int32[] = 0
    %3 "loop": int32[]; %4 "loop:1": int32[]; %5 "loop:2": float32[2]; %6 "loop:3": float32[2] = \
tf.While(%1, %2, %0, %0) {'cond': {'function': 'cond'}, 'body': {'function': 'body'}}
    return %5, %6
}"""


def test_variables_that_are_always_the_same_are_one() -> None:
    module, report = module_of(RUN, COUNTED, TWICE.replace("KIND", "Neg"), outputs=2)
    simplify_control_flow(module, report)
    check(module)
    main, cond, _ = module.graphs()
    assert [value and value.name for value in main.ops[-1].operands] == ["zero", "x"]
    assert cond.ops[0].operands[0] is cond.inputs[0]
    assert kinds(module, 2) == ["AddV2", "Neg"]
    assert main.outputs[0] is main.outputs[1]


def test_variables_that_are_drawn_apart_stay_two() -> None:
    drawn = TWICE.replace("KIND", "RandomShuffle").replace("return %5, %6, %7, %7", "return %5, %6, %8, %7")
    drawn = drawn.replace("    return", '    %8 "apart": float32[2] = tf.RandomShuffle(%2) {}\n    return')
    module, report = module_of(RUN, COUNTED, drawn, outputs=2)
    simplify_control_flow(module, report)
    assert len(next(iter(module.graphs())).ops[-1].operands) == 3


@pytest.mark.parametrize(("condition", "expected"), [("true", "Neg"), ("false", "Abs")])
def test_a_branch_on_a_constant_is_taken(condition: str, expected: str) -> None:
    module, report = module_of(
        f"""main {{
        input %0 "x": float32[2]
        const %1 "c": bool[] = {condition}
        %2 "if": float32[2] = tf.If(%1, %0) \
{{'then_branch': {{'function': 'yes'}}, 'else_branch': {{'function': 'no'}}}}
        return %2
        }}""",
        'yes {\n input %0 "x": float32[2]\n %1 "neg": float32[2] = tf.Neg(%0) {}\n return %1\n}',
        'no {\n input %0 "x": float32[2]\n %1 "abs": float32[2] = tf.Abs(%0) {}\n return %1\n}',
    )
    inline(module, report)
    simplify_control_flow(module, report)
    assert kinds(module) == [expected]
    assert report.account()["if"] == "removed"


def test_branches_take_what_they_read() -> None:
    module, report = module_of(
        """main {
        input %0 "x": float32[2]
        input %1 "c": bool[]
        const %2 "k": float32[2] = [1.0, 2.0]
        %3 "if": float32[2]; %4 "if:1": float32[2] = tf.If(%1, %0, %2, %0) \
{'then_branch': {'function': 'yes'}, 'else_branch': {'function': 'no'}}
        return %4
        }""",
        """yes {
        input %0 "x": float32[2]
        input %1 "k": float32[2]
        input %2 "unread": float32[2]
        %3 "neg": float32[2] = tf.AddV2(%0, %1) {}
        return %2, %3
        }""",
        """no {
        input %0 "x": float32[2]
        input %1 "k": float32[2]
        input %2 "unread": float32[2]
        return %2, %0
        }""",
        inputs=2,
    )
    inline(module, report)
    simplify_control_flow(module, report)
    main, yes, no = module.graphs()
    assert len(main.ops[0].results) == 1
    assert len(yes.outputs) == len(no.outputs) == 1
    assert getattr(yes.ops[0].operands[1], "is_const", False)
    assert len(main.ops[0].operands) == 1 + len(yes.inputs)


def test_a_case_becomes_nested_branches() -> None:
    side = 'side{} {{\n input %0 "x": float32[2]\n %1 "y": float32[2] = tf.{}(%0) {{}}\n return %1\n}}'
    functions = [side.format(number, kind) for number, kind in enumerate(("Neg", "Abs", "Exp"))]
    module, report = module_of(
        """main {
        input %0 "i": int32[]
        input %1 "x": float32[2]
        %2 "case": float32[2] = tf.StatelessCase(%0, %1) \
{'branches': [{'function': 'side0'}, {'function': 'side1'}, {'function': 'side2'}]}
        return %2
        }""",
        *functions,
        inputs=2,
    )
    inline(module, report)
    simplify_control_flow(module, report)
    check(module)
    equal, branch = module.signatures[0].graph.ops
    assert (equal.type, branch.type) == ("Equal", "StatelessIf")
    inner = module.functions[branch.attrs["else_branch"].name]
    assert [op.type for op in inner.ops] == ["Equal", "StatelessIf"]
    taken = [module.functions[inner.ops[1].attrs[name].name] for name in ("then_branch", "else_branch")]
    assert [graph.ops[0].type for graph in taken] == ["Abs", "Exp"]
    assert all(len(graph.inputs) == 1 for graph in taken)


@pytest.mark.parametrize(("shape", "expected"), [("", "NotEqual"), ("3", "Greater")])
def test_conditions_become_bools(shape: str, expected: str) -> None:
    module, report = module_of(
        f"""main {{
        input %0 "c": int32[{shape}]
        input %1 "x": float32[2]
        %2 "if": float32[2] = tf.If(%0, %1) \
{{'then_branch': {{'function': 'yes'}}, 'else_branch': {{'function': 'no'}}}}
        return %2
        }}""",
        'yes {\n input %0 "x": float32[2]\n %1 "neg": float32[2] = tf.Neg(%0) {}\n return %1\n}',
        'no {\n input %0 "x": float32[2]\n %1 "abs": float32[2] = tf.Abs(%0) {}\n return %1\n}',
        inputs=2,
    )
    inline(module, report)
    simplify_control_flow(module, report)
    *_, condition, branch = module.signatures[0].graph.ops
    assert condition.type == expected and branch.operands[0] is condition.result


@pytest.mark.parametrize("condition", [np.zeros(3, bool), np.float32(0.5), np.zeros(0, np.float32), np.int32(0)])
def test_a_loop_goes_on_as_a_constant_holds(condition: np.ndarray) -> None:
    """While it is not 0, or not empty if it is no scalar: LiteRT takes a scalar bool and nothing else."""
    module, report = module_of(
        """main {
        input %0 "x": float32[2]
        %1 "while": float32[2] = tf.While(%0) {'cond': {'function': 'more'}, 'body': {'function': 'step'}}
        return %1
        }""",
        'more {\n input %0 "x": float32[2]\n %1 "same": float32[2] = tf.Neg(%0) {}\n return %1\n}',
        'step {\n input %0 "x": float32[2]\n %1 "neg": float32[2] = tf.Neg(%0) {}\n return %1\n}',
        inputs=1,
    )
    more = module.functions["more"]
    more.outputs, more.ops = [constant(condition)], []
    simplify_control_flow(module, report)
    (truth,) = more.outputs
    assert (truth.dtype, truth.shape) == (types.BOOL, ())
    assert truth.data is not None and bool(truth.data) is bool(condition.size if condition.ndim else condition)


class _Trained(tf.Module):
    def __init__(self) -> None:
        self.mean = tf.Variable([0.5, -1.0, 2.0])

    def __call__(self, x: tf.Tensor) -> tf.Tensor:
        training = tf.raw_ops.PlaceholderWithDefault(input=False, shape=[])
        with tf.control_dependencies([tf.identity(x)]):
            wanted = tf.logical_and(training, tf.logical_not(tf.equal(training, True)))

        def batch() -> tf.Tensor:
            return self.mean.assign(tf.reduce_mean(x, 0))

        return x - tf.cond(tf.identity(wanted), batch, lambda: tf.cond(training, batch, self.mean.read_value))


def test_what_is_written_in_training_only_is_frozen() -> None:
    assert check_parity(_Trained(), tf.TensorSpec([None, 3])).ops == ["ADD"]


@pytest.mark.parametrize("vector", [False, True])
def test_a_negated_condition(vector: bool) -> None:
    def model(x):
        above = x[:1] > 0 if vector else x[0] > 0
        return tf.raw_ops.If(
            cond=tf.logical_not(above), input=[x], Tout=[tf.float32],
            then_branch=tf.function(lambda y: tf.sin(y)).get_concrete_function(tf.TensorSpec([None], tf.float32)),
            else_branch=tf.function(lambda y: tf.cos(y)).get_concrete_function(tf.TensorSpec([None], tf.float32)),
        )[0]  # fmt: skip

    converted = check_parity(model, tf.TensorSpec([None]))
    assert ("LOGICAL_NOT" in converted.ops) is vector
