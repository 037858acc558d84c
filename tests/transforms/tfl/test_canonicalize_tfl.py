"""Reshapes and transposes that cancel, ops that do nothing, and outputs that need a tensor of their own."""

from __future__ import annotations

import pytest

from fuseconv.pass_manager import Context, PassManager
from fuseconv.pipeline import CLEANUP_TFL
from fuseconv.transforms.tfl.legalize_outputs import has_fixed_sizes
from tests.check_pass import check_pass
from tests.tf.text_cases import kinds, module_of

TAIL = """
    return %9
}"""


def _tidied(body: str, head: str = '%0 "x": float32[b,2,3]') -> list[str]:
    module, report = module_of(f"main {{\n input {head}\n{body}{TAIL}")
    PassManager(Context(module, report)).run(CLEANUP_TFL)
    assert "" not in report.account().values() or kinds(module)
    return kinds(module)


def test_reshape_of_a_reshape_is_one() -> None:
    body = """
    const %1 "s": int32[2] = [-1, 6]
    %2 "a": float32[b,6] = tfl.RESHAPE(%0, %1) {}
    const %3 "t": int32[3] = [-1, 3, 2]
    %9 "c": float32[b,3,2] = tfl.RESHAPE(%2, %3) {}"""
    assert _tidied(body) == ["RESHAPE"]


def test_reshape_there_and_back_leaves_the_operand() -> None:
    body = """
    const %1 "s": int32[2] = [-1, 6]
    %2 "a": float32[b,6] = tfl.RESHAPE(%0, %1) {}
    const %3 "t": int32[3] = [-1, 2, 3]
    %4 "c": float32[b,2,3] = tfl.RESHAPE(%2, %3) {}
    %9 "d": float32[b,2,3] = tfl.NEG(%4) {}"""
    assert _tidied(body) == ["NEG"]


def test_reshape_with_two_unknown_sizes_stays() -> None:
    body = """
    %2 "a": float32[b,t,1] = tfl.EXPAND_DIMS(%0, %0) {}
    %9 "d": float32[b,t] = tfl.SQUEEZE(%2) {'squeeze_dims': (2,)}"""
    module, report = module_of(f'main {{\n input %0 "x": float32[b,t,1,1]\n{body}{TAIL}')
    PassManager(Context(module, report)).run(CLEANUP_TFL)
    assert kinds(module) == ["EXPAND_DIMS", "SQUEEZE"]


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [("[0, 2, 1]", "[0, 2, 1]", ["NEG"]), ("[1, 2, 0]", "[1, 2, 0]", ["TRANSPOSE", "NEG"])],
)
def test_transposes_are_composed(first: str, second: str, expected: list[str]) -> None:
    body = f"""
    const %1 "p": int32[3] = {first}
    %2 "a": float32[4,3,2] = tfl.TRANSPOSE(%0, %1) {{}}
    const %3 "q": int32[3] = {second}
    %4 "c": float32[4,2,3] = tfl.TRANSPOSE(%2, %3) {{}}
    %9 "d": float32[4,2,3] = tfl.NEG(%4) {{}}"""
    assert _tidied(body, '%0 "x": float32[4,2,3]') == expected


def test_a_transpose_of_units_is_a_reshape() -> None:
    body = """
    const %1 "p": int32[3] = [0, 2, 1]
    %9 "a": float32[b,3,1] = tfl.TRANSPOSE(%0, %1) {}"""
    assert _tidied(body, '%0 "x": float32[b,1,3]') == ["RESHAPE"]


@pytest.mark.parametrize(
    ("op", "number", "stays"), [("ADD", 0, False), ("MUL", 1, False), ("SUB", 1, True), ("MUL", 0, True)]
)
def test_neutral_constants_go(op: str, number: int, stays: bool) -> None:
    body = f"""
    const %1 "c": float32[3] = [{number}, {number}, {number}]
    %2 "a": float32[b,2,3] = tfl.{op}(%0, %1) {{}}
    %9 "d": float32[b,2,3] = tfl.NEG(%2) {{}}"""
    assert _tidied(body) == ([op] if stays else []) + ["NEG"]


def test_a_neutral_constant_that_broadcasts_stays() -> None:
    body = """
    const %1 "c": float32[2,1] = [0, 0]
    %9 "a": float32[2,3] = tfl.ADD(%0, %1) {}"""
    assert _tidied(body, '%0 "x": float32[3]') == ["ADD"]


def test_the_write_of_a_variable_tensor_stays() -> None:
    body = """
    const %1 "z": float32[] = 0.0
    %2 "s": float32[b,2,3] {'variable': True} = tfl.ADD(%0, %1) {}
    %9 "d": float32[b,2,3] = tfl.ABS(%0) {}"""
    assert _tidied(body) == ["ADD", "ABS"]


def test_outputs_are_tensors_of_their_own() -> None:
    module, report = module_of(
        """main {
        input %0 "x": float32[b,2]
        const %1 "c": float32[2] = [1.0, 2.0]
        %2 "a": float32[b,2] = tfl.NEG(%0) {}
        return %0, %2, %2, %1
        }""",
        outputs=4,
    )
    PassManager(Context(module, report)).run(CLEANUP_TFL)
    outputs = module.signatures[0].graph.outputs
    assert len(set(outputs)) == 4
    assert not any(value.is_const or value in module.signatures[0].graph.inputs for value in outputs)


LOOP = """main {{
    input %0 "x": float32[b,2]
    input %1 "i": int32[]
    %2 "w": int32[]; %3 "w:1": float32[b,2] = tfl.WHILE(%1, %0) \
{{'cond_subgraph_index': {{'function': 'cond'}}, 'body_subgraph_index': {{'function': 'body'}}}}
    return %2
}}"""
COND = """cond {
    input %0 "i": int32[]
    input %1 "x": float32[b,2]
    const %2 "n": int32[] = 9
    %3 "less": bool[] = tfl.LESS(%0, %2) {}
    return %3
}"""
BODY = """body {{
    input %0 "i": int32[]
    input %1 "x": float32[b,2]
    const %2 "one": int32[] = 1
    %3 "next": int32[] = tfl.ADD(%0, %2) {{}}
    {}
    return %3, %1
}}"""


def test_a_loop_hands_an_invariant_on_without_a_copy() -> None:
    module, report = module_of(LOOP.format(), COND, BODY.format(""), inputs=2)
    PassManager(Context(module, report)).run(CLEANUP_TFL)
    body = module.functions["body"]
    assert body.outputs[1] is body.inputs[1]


def test_a_loop_that_the_runtime_resizes_copies_its_invariants() -> None:
    sized_by_data = '%4 "mask": bool[b,2] = tfl.NOT_EQUAL(%1, %1) {}\n %5 "where": int64[?n,2] = tfl.WHERE(%4) {}'
    module, _ = module_of(LOOP.format(), COND, BODY.format(sized_by_data), inputs=2)
    assert not has_fixed_sizes(module.functions["body"], module.functions)
    module, _ = module_of(LOOP.format(), COND, BODY.format(""), inputs=2)
    assert has_fixed_sizes(module.functions["body"], module.functions)


def test_a_value_that_may_begin_empty_is_seen_to_grow() -> None:
    growing = """main {
        input %0 "x": float32[2]
        const %1 "empty": float32[0,2] = []
        %2 "w": float32[?a,2] = tfl.WHILE(%1) \
{'cond_subgraph_index': {'function': 'cond'}, 'body_subgraph_index': {'function': 'body'}}
        return %2
    }"""
    cond = """cond {
        input %0 "y": float32[?a,2]
        const %1 "n": bool[] = true
        return %1
    }"""
    body = """body {
        input %0 "y": float32[?a,2]
        const %1 "row": float32[1,2] = [1.0, 1.0]
        %2 "longer": float32[?a+1,2] = tfl.CONCATENATION(%0, %1) {}
        return %2
    }"""
    module, report = module_of(growing, cond, body)
    PassManager(Context(module, report)).run(CLEANUP_TFL)
    assert [op.type for op in module.functions["body"].ops] == ["CONCATENATION", "SHAPE", "ADD", "SLICE"]


def test_branches_return_constants_as_they_are() -> None:
    module, report = module_of(
        """main {
        input %0 "c": bool[]
        %1 "if": float32[2] = tfl.IF(%0) \
{'then_subgraph_index': {'function': 'yes'}, 'else_subgraph_index': {'function': 'no'}}
        return %1
        }""",
        'yes {\n const %0 "a": float32[2] = [1.0, 2.0]\n return %0\n}',
        'no {\n const %0 "b": float32[2] = [3.0, 4.0]\n return %0\n}',
    )
    PassManager(Context(module, report)).run(CLEANUP_TFL)
    assert not module.functions["yes"].ops and not module.functions["no"].ops


@pytest.mark.parametrize(
    ("first", "expected"),
    [
        ("tfl.RELU6(%0) {}", ["RELU6", "NEG"]),
        ("tfl.ADD(%0, %0) {'fused_activation_function': 'RELU'}", ["ADD", "NEG"]),
        ("tfl.ADD(%0, %0) {'fused_activation_function': 'RELU_N1_TO_1'}", ["ADD", "RELU", "NEG"]),
        ("tfl.NEG(%0) {}", ["NEG", "RELU", "NEG"]),
    ],
)
def test_a_relu_of_what_is_not_negative_goes(first: str, expected: list[str]) -> None:
    body = f"""
    %2 "a": float32[b,2,3] = {first}
    %3 "r": float32[b,2,3] = tfl.RELU(%2) {{}}
    %9 "d": float32[b,2,3] = tfl.NEG(%3) {{}}"""
    assert _tidied(body) == expected


def test_a_relu_behind_a_pool_of_one_goes() -> None:
    body = """
    %2 "a": float32[1,4,4,3] = tfl.RELU(%0) {}
    %3 "p": float32[1,2,2,3] = tfl.MAX_POOL_2D(%2) {'stride_w': 2, 'stride_h': 2, 'filter_width': 2, 'filter_height': 2}
    %9 "d": float32[1,2,2,3] = tfl.RELU(%3) {}"""
    assert _tidied(body, '%0 "x": float32[1,4,4,3]') == ["RELU", "MAX_POOL_2D"]


@pytest.mark.parametrize(
    ("shape", "reader", "expected"),
    [
        ("1,1,3", "float32[b,2,3] = tfl.ADD(%0, %2)", ["ADD"]),
        ("1,1,3", 'float32[1,1,3] = tfl.MUL(%2, %2)', ["MUL", "RESHAPE"]),
        ("1,1,3", 'float32[1,1,3] = tfl.NEG(%2)', ["NEG", "RESHAPE"]),
        ("1,3,1", 'float32[b,3,3] = tfl.ADD(%0, %2)', ["RESHAPE", "ADD"]),
    ],
)
def test_units_in_front_of_what_is_broadcast_go(shape: str, reader: str, expected: list[str]) -> None:
    body = f"""
    const %1 "s": int32[3] = [{shape}]
    %2 "a": float32[{shape}] = tfl.RESHAPE(%8, %1) {{}}
    %9 "d": {reader} {{}}"""
    head = '%0 "x": float32[b,2,3]\n input %8 "y": float32[1,3]'
    module, report = module_of(f"main {{\n input {head}\n{body}{TAIL}", inputs=2)
    PassManager(Context(module, report)).run(CLEANUP_TFL)
    assert kinds(module) == expected


def test_a_mean_of_one_element_goes() -> None:
    body = """
    const %1 "a": int32[2] = [1, 2]
    %2 "m": float32[b,1,1,3] = tfl.MEAN(%0, %1) {'keep_dims': True}
    %9 "d": float32[b,1,1,3] = tfl.NEG(%2) {}"""
    assert _tidied(body, '%0 "x": float32[b,1,1,3]') == ["NEG"]


@pytest.mark.parametrize(("other", "expected"), [("1,1,3", ["ADD"]), ("3", ["RESHAPE", "ADD"])])
def test_units_that_are_dropped_for_a_broadcast_stay(other: str, expected: list[str]) -> None:
    body = f"""
    const %1 "s": int32[1] = [3]
    %2 "a": float32[3] = tfl.RESHAPE(%0, %1) {{}}
    %9 "d": float32[{other}] = tfl.ADD(%8, %2) {{}}"""
    head = f'%0 "x": float32[1,1,3]\n input %8 "y": float32[{other}]'
    module, report = module_of(f"main {{\n input {head}\n{body}{TAIL}", inputs=2)
    PassManager(Context(module, report)).run(CLEANUP_TFL)
    assert kinds(module) == expected


def test_units_of_an_output_stay() -> None:
    body = """
    const %1 "s": int32[2] = [1, 3]
    %9 "a": float32[1,3] = tfl.RESHAPE(%0, %1) {}"""
    assert _tidied(body, '%0 "x": float32[3]') == ["RESHAPE"]


def test_a_reshape_of_a_reshape_and_a_sum_with_nothing() -> None:
    check_pass("canonicalize-tfl", """
    main {
      input %x: float32[2,6]
      %a: float32[3,4] = tfl.RESHAPE(%x, int32[2] [3, 4])
      %b: float32[12] = tfl.RESHAPE(%a, int32[1] [12])
      %c: float32[12] = tfl.ADD(%b, float32[] 0.0)
      return %c
    }
    """, """
    main {
      input %x: float32[2,6]
      %a: float32[3,4] = tfl.RESHAPE(%x, int32[2] [3, 4])
      %b: float32[12] = tfl.RESHAPE(%x, int32[1] [12])
      return %b
    }
    """)


def test_a_reshape_and_a_sum_that_count() -> None:
    check_pass("canonicalize-tfl", """
    main {
      input %x: float32[2,6]
      %a: float32[3,4] = tfl.RESHAPE(%x, int32[2] [3, 4])
      %c: float32[3,4] = tfl.ADD(%a, float32[] 1.0)
      return %c
    }
    """)


@pytest.mark.parametrize("kind", ["SUB", "LESS"])
def test_operands_that_are_repeated_for_each_other_broadcast(kind: str) -> None:
    dtype = "bool" if kind == "LESS" else "float32"
    check_pass("canonicalize-tfl", f"""
    main {{
      input %x: float32[n,4,1]
      input %y: float32[n,1,6]
      %a: float32[n,4,6] = tfl.TILE(%x, int32[3] [1, 1, 6])
      %b: float32[n,4,6] = tfl.TILE(%y, int32[3] [1, 4, 1])
      %z: {dtype}[n,4,6] = tfl.{kind}(%a, %y)
      %u: {dtype}[n,4,6] = tfl.{kind}(%a, %b)
      return %z, %u
    }}
    """, f"""
    main {{
      input %x: float32[n,4,1]
      input %y: float32[n,1,6]
      %a: float32[n,4,6] = tfl.TILE(%x, int32[3] [1, 1, 6])
      %b: float32[n,4,6] = tfl.TILE(%y, int32[3] [1, 4, 1])
      %z: {dtype}[n,4,6] = tfl.{kind}(%x, %y)
      %u: {dtype}[n,4,6] = tfl.{kind}(%x, %y)
      return %z, %u
    }}
    """)  # fmt: skip


def test_an_operand_that_is_repeated_along_what_no_other_has_stays() -> None:
    check_pass("canonicalize-tfl", """
    main {
      input %x: float32[n,4,1]
      input %y: float32[n,1,1]
      %a: float32[n,4,6] = tfl.TILE(%x, int32[3] [1, 1, 6])
      %z: float32[n,4,6] = tfl.SUB(%a, %y)
      return %z
    }
    """)


def test_what_is_negated_twice_is_itself() -> None:
    check_pass("canonicalize-tfl", """
    main {
      input %x: float32[n,4]
      %y: float32[n,4] = tfl.NEG(%x) {}
      %z: float32[n,4] = tfl.NEG(%y) {}
      %out: float32[n,4] = tfl.EXP(%z) {}
      return %y, %out
    }
    """, """
    main {
      input %x: float32[n,4]
      %y: float32[n,4] = tfl.NEG(%x) {}
      %out: float32[n,4] = tfl.EXP(%x) {}
      return %y, %out
    }
    """)  # fmt: skip


def test_empty_values_are_not_joined() -> None:
    def main(*lines: str, result: str = "%y") -> str:
        inputs = ["input %x: float32[n,2]", "input %z: float32[n,3]", "input %none: float32[n,0]"]
        return "main {\n" + "\n".join([*inputs, *lines, f"return {result}"]) + "\n}"

    negated = "%y: float32[n,2] = tfl.NEG({})"
    check_pass("canonicalize-tfl",
               main("%all: float32[n,2] = tfl.CONCATENATION(%x, %none) {'axis': 1}", negated.format("%all")),
               main(negated.format("%x")))  # fmt: skip
    joined = "%y: float32[n,5] = tfl.CONCATENATION({}) {{'axis': 1}}"
    check_pass("canonicalize-tfl", main(joined.format("%x, %none, %z")), main(joined.format("%x, %z")))
    check_pass("canonicalize-tfl", main("%y: float32[n,0] = tfl.CONCATENATION(%none, %none) {'axis': 1}"))


def test_slices_of_unknown_sizes_in_branches() -> None:
    # Of a size that is given (%b), STRIDED_SLICE would take less where SLICE refuses to run.
    check_pass("canonicalize-tfl", """
    main {
      input %c: bool[]
      input %x: int32[n,2,3]
      input %w: int32[4,2,3]
      %y: int32[n,1,2] = tfl.IF(%c, %x, %w) {'then_subgraph_index': @then, 'else_subgraph_index': @then}
      %a: int32[n,1,2] = tfl.SLICE(%x, int32[3] [0, 0, 1], int32[3] [-1, 1, 2])
      return %y, %a
    }
    then {
      input %x: int32[n,2,3]
      input %w: int32[4,2,3]
      %a: int32[n,1,2] = tfl.SLICE(%x, int32[3] [0, 0, 1], int32[3] [-1, 1, 2])
      %b: int32[2,1,2] = tfl.SLICE(%x, int32[3] [0, 0, 1], int32[3] [2, 1, -1])
      %d: int32[1,2,3] = tfl.SLICE(%w, int32[3] [3, 0, 0], int32[3] [-1, 2, 3])
      %e: int32[n,1,2] = tfl.ADD(%a, %b)
      %f: int32[n,2,3] = tfl.ADD(%e, %d)
      return %f
    }
    """, """
    main {
      input %c: bool[]
      input %x: int32[n,2,3]
      input %w: int32[4,2,3]
      %y: int32[n,1,2] = tfl.IF(%c, %x, %w) {'then_subgraph_index': @then, 'else_subgraph_index': @then}
      %a: int32[n,1,2] = tfl.SLICE(%x, int32[3] [0, 0, 1], int32[3] [-1, 1, 2])
      return %y, %a
    }
    then {
      input %x: int32[n,2,3]
      input %w: int32[4,2,3]
      %a: int32[n,1,2] = tfl.STRIDED_SLICE(%x, int32[3] [0, 0, 1], int32[3] [0, 1, 3], int32[3] [1, 1, 1]) {'end_mask': 1}
      %b: int32[2,1,2] = tfl.SLICE(%x, int32[3] [0, 0, 1], int32[3] [2, 1, -1])
      %d: int32[1,2,3] = tfl.SLICE(%w, int32[3] [3, 0, 0], int32[3] [-1, 2, 3])
      %e: int32[n,1,2] = tfl.ADD(%a, %b)
      %f: int32[n,2,3] = tfl.ADD(%e, %d)
      return %f
    }
    """)  # noqa: E501


@pytest.mark.parametrize(("x", "between", "stays"), [
    ("int32", "int64", False), ("bool", "float32", False), ("int32", "float32", True), ("int64", "int32", True),
])  # fmt: skip
def test_a_cast_back(x: str, between: str, stays: bool) -> None:
    before = f"""
    main {{
      input %x: {x}[n,2]
      %a: {between}[n,2] = tfl.CAST(%x) {{}}
      %b: {x}[n,2] = tfl.CAST(%a) {{}}
      %y: {x}[n,2,1] = tfl.EXPAND_DIMS(%b, int32[] 2) {{}}
      return %y
    }}
    """
    after = "\n".join(line for line in before.splitlines() if "%b:" not in line).replace("%b", "%x")
    check_pass("canonicalize-tfl", before, None if stays else after)
