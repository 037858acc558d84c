"""Outputs are tensors of their own."""

from __future__ import annotations

import pytest

from fuseconv.transforms.tfl.legalize_outputs import legalize_outputs
from tests.check_pass import check_pass
from tests.tf.text_cases import module_of


def test_outputs_are_copied_where_they_are_something_else_too() -> None:
    check_pass("legalize-outputs", """
    main {
      input %x: float32[2,3]
      %y: float32[2,3] = tfl.EXP(%x)
      return %y, %y, %x, float32[2] [1.0, 2.0]
    }
    """, """
    main {
      input %x: float32[2,3]
      %y: float32[2,3] = tfl.EXP(%x)
      %y2: float32[2,3] = tfl.SLICE(%y, int32[2] [0, 0], int32[2] [-1, -1])
      %x2: float32[2,3] = tfl.SLICE(%x, int32[2] [0, 0], int32[2] [-1, -1])
      %constant2: float32[2] = tfl.SLICE(float32[2] [1.0, 2.0], int32[1] [0], int32[1] [-1])
      return %y, %y2, %x2, %constant2
    }
    """)


def test_what_data_chose_is_copied_where_it_may_be_nothing() -> None:
    copy = "STRIDED_SLICE(%places, int32[2] [0, 0], int32[2] [0, 0], int32[2] [1, 1])"
    check_pass("legalize-outputs", """
    main {
      input %x: bool[n,3]
      input %k: int32[]
      %places: int64[?where0,2] = tfl.WHERE(%x)
      %numbers: int32[?range0] = tfl.RANGE(int32[] 0, %k, int32[] 1)
      %rows: float32[?where0,4] = tfl.GATHER(float32[2,4] [[1.0, 2.0, 3.0, 4.0], [5.0, 6.0, 7.0, 8.0]], %places)
      return %places, %numbers, %rows
    }
    """, """
    main {
      input %x: bool[n,3]
      input %k: int32[]
      %places: int64[?where0,2] = tfl.WHERE(%x)
      %numbers: int32[?range0] = tfl.RANGE(int32[] 0, %k, int32[] 1)
      %rows: float32[?where0,4] = tfl.GATHER(float32[2,4] [[1.0, 2.0, 3.0, 4.0], [5.0, 6.0, 7.0, 8.0]], %places)
      %copy: int64[?where0,2] = tfl.COPY {'begin_mask': 3, 'end_mask': 3}
      return %copy, %numbers, %rows
    }
    """.replace("COPY", copy))


def test_a_copy_names_one_of_the_nodes() -> None:
    """Of n merged nodes whose results are n outputs, each copy would else name all n."""
    module, _ = module_of("""main {
        input %0 "x": float32[2]
        %1 "y": float32[2] = tfl.EXP(%0) {}
        return %1, %1
        }""")
    graph = module.signatures[0].graph
    graph.ops[0].sources = ("y", "z")
    legalize_outputs(module)
    assert [op.sources for op in graph.ops] == [("y", "z"), ("y",)]


@pytest.mark.parametrize("dtype", ["complex64", "complex128", "float64", "float16", "uint16", "uint64"])
def test_what_no_slice_takes_is_copied_by_reshape(dtype: str) -> None:
    """TF 2.21's SLICE, or that of its version, takes none of these."""
    check_pass("legalize-outputs", f"""
    main {{
      input %x: {dtype}[2,3]
      input %y: {dtype}[n,m]
      return %x, %y
    }}
    """, f"""
    main {{
      input %x: {dtype}[2,3]
      input %y: {dtype}[n,m]
      %x2: {dtype}[2,3] = tfl.RESHAPE(%x, int32[2] [2, 3])
      %y2: int32[2] = tfl.SHAPE(%y)
      %y3: {dtype}[n,m] = tfl.RESHAPE(%y, %y2)
      return %x2, %y3
    }}
    """)


def test_an_output_of_its_own() -> None:
    check_pass("legalize-outputs", """
    main {
      input %x: float32[2,3]
      %y: float32[2,3] = tfl.EXP(%x)
      return %y
    }
    """)


_LOOP = """
    main {
      input %a: float32[n,3]
      input %b: int32[n]
      %x: float32[n,3]; %y: int32[n] = tfl.WHILE(%a, %b) {'cond_subgraph_index': @cond, 'body_subgraph_index': @body}
      return %x, %y
    }
    cond {
      input %x: float32[p,3]
      input %y: int32[q]
      %s: int32[1] = tfl.SHAPE(%y)
      %more: bool[1] = tfl.LESS(%s, int32[] 5)
      return %more
    }
    body {
      input %x: float32[p,3]
      input %y: int32[q]
      %u: float32[2*p,3] = tfl.CONCATENATION(%x, %x)
      %v: int32[2*q] = tfl.CONCATENATION(%y, %y)
      COPY
      return %u, RESULT
    }
    """


def test_the_smallest_value_that_grows_shows_it_for_all() -> None:
    before = _LOOP.replace("COPY", "").replace("RESULT", "%v")
    copy = """%s: int32[1] = tfl.SHAPE(%v)
      %sum: int32[1] = tfl.ADD(%s, int32[1] [0])
      %w: int32[2*q] = tfl.SLICE(%v, int32[1] [0], %sum)"""
    check_pass("legalize-outputs", before, _LOOP.replace("COPY", copy).replace("RESULT", "%w"))


def test_a_loop_that_resizes_hands_on_what_has_a_known_size() -> None:
    loop = """
    main {
      input %a: float32[n]
      input %b: float32[2]
      input %c: float32[n]
      %x: float32[?r]; %y: float32[2]; %z: float32[n]; %i: int32[] = tfl.WHILE(%a, %b, %c, int32[] 0) \
{'cond_subgraph_index': @cond, 'body_subgraph_index': @body}
      return %x, %i
    }
    cond {
      input %x: float32[?p]
      input %y: float32[2]
      input %z: float32[n]
      input %i: int32[]
      %more: bool[] = tfl.LESS(%i, int32[] 5)
      return %more
    }
    body {
      input %x: float32[?p]
      input %y: float32[2]
      input %z: float32[n]
      input %i: int32[]
      %w: int64[?q,1] = tfl.WHERE(%x)
      %u: float32[?q] = tfl.GATHER_ND(%x, %w)
      %j: int32[] = tfl.ADD(%i, int32[] 1)
      COPIES
      return RESULTS, %j
    }
    """
    copies = """%s: int32[1] = tfl.SHAPE(%u)
      %sum: int32[1] = tfl.ADD(%s, int32[1] [0])
      %v: float32[?q] = tfl.SLICE(%u, int32[1] [0], %sum)
      %t: float32[n] = tfl.SLICE(%z, int32[1] [0], int32[1] [-1])"""
    before = loop.replace("COPIES", "").replace("RESULTS", "%u, %y, %z")
    after = loop.replace("COPIES", copies).replace("RESULTS", "%v, %y, %t")
    check_pass("legalize-outputs", before, after)
    # Behind the loop, the runtime copies what is read of it.
    read = lambda text: text.replace("return %x, %i", "return %x, %y")  # noqa: E731
    copy = "%d: float32[2] = tfl.SLICE(%y, int32[1] [0], int32[1] [-1])\n      "
    copied = copies.replace("%t: float32[n]", copy + "%t: float32[n]")
    after = after.replace(copies, copied).replace("%v, %y, %t", "%v, %d, %t")
    check_pass("legalize-outputs", read(before), read(after))


@pytest.mark.parametrize(("made", "copies"), [
    pytest.param("RESHAPE(%y, %k)", True, id="a size that a step computes"),
    pytest.param("RESHAPE(%y, int32[1] [2])", False, id="a constant size"),
    pytest.param("GATHER(%y, %k) {'axis': 0}", False, id="indices that a step computes"),
])
def test_a_loop_of_fixed_sizes_hands_on_what_is_read_behind_it(made: str, copies: bool) -> None:
    shape = "1" if made.startswith("GATHER") else "2"
    loop = f"""
    main {{
      input %a: float32[2]
      input %b: float32[{shape}]
      input %c: int32[1]
      %x: float32[2]; %y: float32[{shape}]; %k: int32[1] = tfl.WHILE(%a, %b, %c) \
{{'cond_subgraph_index': @cond, 'body_subgraph_index': @body}}
      return %x, %y
    }}
    cond {{
      input %x: float32[2]
      input %y: float32[{shape}]
      input %k: int32[1]
      %more: bool[1] = tfl.LESS(%k, int32[] 5)
      return %more
    }}
    body {{
      input %x: float32[2]
      input %y: float32[{shape}]
      input %k: int32[1]
      %z: float32[{shape}] = tfl.{made}
      %j: int32[1] = tfl.ADD(%k, int32[] 1)
      COPY
      return %x, %z, %j
    }}
    """
    copied = loop.replace("COPY", "%d: float32[2] = tfl.SLICE(%x, int32[1] [0], int32[1] [-1])")
    after = copied.replace("return %x, %z", "return %d, %z") if copies else None
    check_pass("legalize-outputs", loop.replace("COPY", ""), after)


def test_a_branch_returns_constants_as_they_are() -> None:
    check_pass("legalize-outputs", """
    main {
      input %c: bool[]
      input %x: float32[]
      %y: float32[] = tfl.IF(%c, %x) {'then_subgraph_index': @one, 'else_subgraph_index': @same}
      return %y
    }
    one {
      input %x: float32[]
      return float32[] 1.0
    }
    same {
      input %x: float32[]
      %y: float32[] = tfl.EXP(%x)
      return %y
    }
    """)


def test_a_tensor_of_more_dimensions_than_slice_takes_is_copied_flat() -> None:
    check_pass("legalize-outputs", """
    main {
      input %x: float32[n,2,2,2,2,2]
      return %x
    }
    """, """
    main {
      input %x: float32[n,2,2,2,2,2]
      %f: float32[32*n] = tfl.RESHAPE(%x, int32[1] [-1])
      %s: float32[32*n] = tfl.SLICE(%f, int32[1] [0], int32[1] [-1])
      %y: float32[n,2,2,2,2,2] = tfl.RESHAPE(%s, int32[6] [-1, 2, 2, 2, 2, 2])
      return %y
    }
    """)


def test_what_a_step_hands_on_comes_before_what_is_copied_over_it() -> None:
    loop = """
    main {{
      input %a: float32[n]
      input %b: float32[n]
      {results} = tfl.WHILE({starts}) {{'cond_subgraph_index': @cond, 'body_subgraph_index': @body}}
      return %x, %y
    }}
    cond {{
      {inputs}
      %more: bool[] = tfl.REDUCE_ANY(%p, int32[1] [0])
      return %more
    }}
    body {{
      {inputs}
      %s: bool[n] = tfl.LESS(%u, %v)
      %w: float32[n] = tfl.ADD(%u, %v)
      return {outputs}
    }}
    """
    u, v, p = "input %u: float32[n]", "input %v: float32[n]", "input %p: bool[n]"
    x, y, z = "%x: float32[n]", "%y: float32[n]", "%z: bool[n]"
    before = loop.format(
        results="; ".join([x, y, z]), starts="%a, %b, %q", inputs="\n".join([u, v, p]), outputs="%w, %u, %s"
    )
    after = loop.format(
        results="; ".join([y, x, z]), starts="%b, %a, %q", inputs="\n".join([v, u, p]), outputs="%u, %w, %s"
    )
    main = "input %b: float32[n]\n"
    start = main + "      %q: bool[n] = tfl.LESS(%a, %b)\n"
    check_pass("legalize-outputs", before.replace(main, start), after.replace(main, start))


def test_a_branch_hands_on_what_it_is_given_and_copies_what_it_computes_once() -> None:
    branches = """
    main {
      input %c: bool[]
      input %a: float32[n,3]
      %x: float32[n,3]; %y: float32[n,3] = tfl.IF(%c, %a) {'then_subgraph_index': @then, 'else_subgraph_index': @else}
      return %x, %y
    }
    then {
      input %a: float32[n,3]
      return %a, %a
    }
    else {
      input %a: float32[n,3]
      %b: float32[n,3] = tfl.EXP(%a)
      COPY
      return %b, RESULT
    }
    """
    copy = "%d: float32[n,3] = tfl.SLICE(%b, int32[2] [0, 0], int32[2] [-1, -1])"
    before, after = (branches.replace("COPY", op).replace("RESULT", y) for op, y in (("", "%b"), (copy, "%d")))
    check_pass("legalize-outputs", before, after)
    check_pass("legalize-outputs", after)


def test_a_branch_copies_sizes_that_it_returns() -> None:
    branches = """
    main {
      input %c: bool[]
      input %x: float32[n,3]
      %u: int32[2]; %v: int32[] = tfl.IF(%c, %x) {'then_subgraph_index': @sizes, 'else_subgraph_index': @constants}
      return %u, %v
    }
    sizes {
      input %x: float32[n,3]
      %s: int32[2] = tfl.SHAPE(%x)
      %d: int32[] = tfl.STRIDED_SLICE(%s, int32[1] [0], int32[1] [1], int32[1] [1]) {'shrink_axis_mask': 1}
      COPIES
      return RESULTS
    }
    constants {
      input %x: float32[n,3]
      return int32[2] [1, 2], int32[] 3
    }
    """
    copies = """
      %t: int32[2] = tfl.SLICE(%s, int32[1] [0], int32[1] [-1])
      %z: int32[] = tfl.FILL(int32[0] [], int32[] 0)
      %e: int32[] = tfl.ADD(%d, %z)
    """
    before, after = (
        branches.replace("COPIES", ops).replace("RESULTS", results)
        for ops, results in (("", "%s, %d"), (copies, "%t, %e"))
    )
    check_pass("legalize-outputs", before, after)
    check_pass("legalize-outputs", after)


def test_a_branch_that_is_a_body_as_well_hands_on_what_both_may() -> None:
    shared = """
    main {
      input %c: bool[]
      input %a: float32[n]
      input %b: float32[n]
      %x: float32[n]; %y: float32[n] = tfl.IF(%c, %a, %b) \
{'then_subgraph_index': @body, 'else_subgraph_index': @else}
      %u: float32[n]; %v: float32[n] = tfl.WHILE(%a, %b) {'cond_subgraph_index': @cond, 'body_subgraph_index': @body}
      return %x, %y, %u, %v
    }
    else {
      input %a: float32[n]
      input %b: float32[n]
      return %b, %a
    }
    cond {
      input %a: float32[n]
      input %b: float32[n]
      %s: bool[n] = tfl.LESS(%a, %b)
      %more: bool[] = tfl.REDUCE_ANY(%s, int32[1] [0])
      return %more
    }
    body {
      input %a: float32[n]
      input %b: float32[n]
      COPY
      return %b, RESULT
    }
    """
    copy = "%d: float32[n] = tfl.SLICE(%a, int32[1] [0], int32[1] [-1])"
    before, after = (shared.replace("COPY", op).replace("RESULT", y) for op, y in (("", "%a"), (copy, "%d")))
    check_pass("legalize-outputs", before, after)
