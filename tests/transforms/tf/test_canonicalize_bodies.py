"""What flows into the bodies of loops, branches and calls, and out of them."""

from __future__ import annotations

import numpy as np

from fuseconv.ir import dims
from fuseconv.ir.verifier import check
from fuseconv.report.records import Report
from fuseconv.transforms.tf.canonicalize import canonicalize
from tests.check_pass import check_pass
from tests.tf.text_cases import kinds, module_of

# A loop that puts a tensor behind itself three times.
GROWS = (
    """cond {
    input %0 "i": int32[*]
    input %1 "y": float32[*]
    const %2 "n": int32[] = 3
    %3 "less": bool[*] = tf.Less(%0, %2) {}
    return %3
    }""",
    """body {
    input %0 "i": int32[*]
    input %1 "y": float32[*]
    const %2 "one": int32[] = 1
    %3 "next": int32[*] = tf.AddV2(%0, %2) {}
    const %4 "axis": int32[] = 0
    %5 "grown": float32[*] = tf.ConcatV2(%1, %1, %4) {}
    %6 "rows": int32[*] = tf.Shape(%5) {}
    return %3, %5
    }""",
)


def filled(text: str, **words: str) -> str:
    """Return the text with these words replaced."""
    for word, value in words.items():
        text = text.replace(word, value)
    return text


def test_a_loop_keeps_only_the_shapes_that_hold_in_every_iteration() -> None:
    module, report = module_of(
        """main {
        input %0 "x": float32[1,2]
        const %1 "zero": int32[] = 0
        %2 "w": int32[]; %3 "w:1": float32[*] = tf.While(%1, %0) \
{'cond': {'function': 'cond'}, 'body': {'function': 'body'}}
        return %3
        }""",
        *GROWS,
    )
    canonicalize(module, report)
    check(module)
    shape = module.signatures[0].graph.outputs[0].shape
    assert shape is not None
    assert isinstance(shape[0], dims.Sym)
    assert shape[1] == 2


def test_a_size_that_changes_in_a_loop_is_no_longer_the_one_outside() -> None:
    module, _ = module_of(
        """main {
        input %0 "x": float32[?a,2]
        const %1 "zero": int32[] = 0
        %2 "loop": int32[*]; %3 "loop:1": float32[*] = tf.While(%1, %0) \
{'cond': {'function': 'cond'}, 'body': {'function': 'body'}}
        return %0, %3
        }""",
        *GROWS,
        outputs=2,
    )
    canonicalize(module, Report())
    before, after = (value.shape for value in module.signatures[0].graph.outputs)
    assert before is not None and after is not None
    assert before[0] != after[0] and isinstance(after[0], dims.Sym)


def test_a_loop_of_one_value_has_its_shape_not_its_conditions() -> None:
    module, _ = module_of(
        """main {
        input %0 "x": float32[3,2]
        %1 "loop": float32[*] = tf.While(%0) {'cond': {'function': 'cond'}, 'body': {'function': 'body'}}
        return %1
        }""",
        """cond {
        input %0 "y": float32[*]
        const %1 "axes": int32[2] = [0, 1]
        %2 "sum": float32[*] = tf.Sum(%0, %1) {}
        const %3 "n": float32[] = 9.0
        %4 "less": bool[*] = tf.Less(%2, %3) {}
        return %4
        }""",
        'body {\n input %0 "y": float32[*]\n %1 "z": float32[*] = tf.AddV2(%0, %0) {}\n return %1\n}',
    )
    canonicalize(module, Report())
    assert module.signatures[0].graph.outputs[0].shape == (3, 2)


def test_a_loop_knows_the_sizes_that_it_is_given_and_hands_on() -> None:
    text = """
    main {
      input %x: float32[n,2]
      %s: int32[2] = tf.Shape(%x)
      %rows: int32[] = tf.StridedSlice(%s, int32[1] [0], int32[1] [1], int32[1] [1]) {'shrink_axis_mask': 1}
      %a: float32[SHAPE]; %b: int32[]; %c: int32[]; %d: int32[] = \
tf.While(%x, %rows, %rows, int32[] 0) {'cond': @cond, 'body': @body}
      %same: int32[2] = tf.Pack(%b, int32[] 2)
      %y: float32[SHAPE] = tf.Reshape(%a, %same)
      return %y
    }
    cond {
      input %x: float32[SHAPE]
      input %rows: int32[]
      input %other: int32[]
      input %i: int32[]
      %less: bool[SCALAR] = tf.Less(%i, %rows)
      return %less
    }
    body {
      input %x: float32[SHAPE]
      input %rows: int32[]
      input %other: int32[]
      input %i: int32[]
      %same: int32[2] = tf.Pack(%rows, int32[] 2)
      %neg: float32[SHAPE] = tf.Neg(%x)
      %y: float32[SHAPE] = tf.Reshape(%neg, %same)
      IDENTITY
      %more: int32[] = tf.AddV2(%other, int32[] 1)
      %next: int32[] = tf.AddV2(%i, int32[] 1)
      return %y, %HANDED, %more, %next
    }
    """
    before = filled(text, SHAPE="*", SCALAR="*", HANDED="handed", IDENTITY="%handed: int32[] = tf.Identity(%rows)")
    after = filled(text, SHAPE="n,2", SCALAR="", HANDED="rows", IDENTITY="")
    context = check_pass("canonicalize", before, after)
    loop = next(op for op in context.module.signatures[0].graph.ops if op.kind == "tf.While")
    body = context.module.functions["body"]
    for values in (loop.results, body.inputs):
        known = [value.content for value in values]
        assert known[1] == dims.symbol("n") and known[2] is None and known[3] is None


def test_branches_know_the_sizes_that_they_are_given_and_what_both_make() -> None:
    text = """
    main {
      input %x: float32[n,6]
      input %c: bool[]
      %s: int32[2] = tf.Shape(%x)
      %a: float32[CUBE]; %b: int32[2]; %d: int32[2] = tf.If(%c, %x, %s) {'then_branch': @then, 'else_branch': @else}
      %y: float32[ROWS] = tf.Reshape(%a, %b)
      return %y, %d
    }
    then {
      input %x: float32[ROWS]
      input %s: int32[2]
      %y: float32[CUBE] = tf.Reshape(%x, int32[3] [-1, 2, 3])
      return %y, %s, %s
    }
    else {
      input %x: float32[ROWS]
      input %s: int32[2]
      %rows: int32[] = tf.StridedSlice(%s, int32[1] [0], int32[1] [1], int32[1] [1]) {'shrink_axis_mask': 1}
      %three: int32[3] = tf.Pack(%rows, int32[] 2, int32[] 3)
      %y: float32[CUBE] = tf.Reshape(%x, %three)
      %turned: int32[TWO] = tf.ReverseV2(%s, int32[1] [0])
      return %y, %s, %turned
    }
    """
    before, after = filled(text, ROWS="*", CUBE="*", TWO="*"), filled(text, ROWS="n,6", CUBE="n,2,3", TWO="2")
    context = check_pass("canonicalize", before, after)
    branch = next(op for op in context.module.signatures[0].graph.ops if op.kind == "tf.If")
    np.testing.assert_array_equal(branch.results[1].content, [dims.symbol("n"), 6])  # type: ignore[arg-type]
    assert branch.results[2].content is None


def test_the_body_of_a_composite_is_right_for_other_contents_too() -> None:
    """Its fusion is held against it on operands of any content."""
    module, report = module_of(
        """main {
        input %x: float32[2,3]
        %y: float32[3,2] = tf.PartitionedCall(%x, int32[2] [3, 2]) {'f': @inner}
        return %y
        }""",
        """inner {
        input %x: float32[2,3]
        input %s: int32[2]
        %twice: int32[2] = tf.AddV2(%s, %s)
        %y: int32[2] = tf.Sub(%twice, %s)
        return %y
        }""",
    )
    canonicalize(module, report)
    assert kinds(module, 1) == ["AddV2", "Sub"]


def test_loops_in_loops_whose_sizes_change_are_walked_a_few_times() -> None:
    """A size that changes takes two walks over the body: 2 ** 40 over the innermost, if each began anew."""
    functions = []
    loop = "%y: float32[*] = tf.Identity(%longer)"
    for depth in range(41):
        functions += [f"""
    cond{depth} {{
      input %t: int32[]
      input %x: float32[*]
      %go: bool[] = tf.Less(%t, int32[] 3)
      return %go
    }}
    """, f"""
    body{depth} {{
      input %t: int32[]
      input %x: float32[*]
      %next: int32[] = tf.AddV2(%t, int32[] 1)
      %longer: float32[*] = tf.ConcatV2(%x, %x, int32[] 0)
      {loop}
      return %next, %y
    }}
    """]  # fmt: skip
        with_bodies = f"{{'cond': @cond{depth}, 'body': @body{depth}}}"
        loop = f"%i: int32[]; %y: float32[*] = tf.While(int32[] 0, %longer) {with_bodies}"
    module, report = module_of(f"main {{\n  input %longer: float32[2,3]\n  {loop}\n  return %y\n}}", *functions)
    canonicalize(module, report)
    (changing, width) = module.signatures[0].graph.outputs[0].shape or ()
    assert isinstance(changing, dims.Sym) and width == 3
