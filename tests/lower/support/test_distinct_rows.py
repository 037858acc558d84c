"""What is known of the rows of indices, on IR text."""

import pytest

from fuseconv.lower.support.distinct_rows import has_distinct_rows, numbering_variables
from tests.tf.text_cases import module_of

RANGE = "%r: int32[n] = tf.Range(int32[] 0, %count, int32[] 2)"
WHERE = "%w: int64[k,2] = tf.Where(%mask)"
TOP = "%t: int32[3]; %i: int32[3] = tf.TopKV2(%p, int32[] 3)"
TOP_OF_ROWS = "%t: int32[a,3]; %i: int32[a,3] = tf.TopKV2(%scores, int32[] 3)"
ROWS = [
    "%r: int32[a] = tf.Range(int32[] 0, %count, int32[] 1)", "%c: int32[a,1] = tf.ExpandDims(%r, int32[] 1)",
    "%k: int32[a,3] = tf.Tile(%c, int32[2] [1, 3])",
]  # fmt: skip
SORT = [
    "%n: int32[a,3] = tf.Neg(%i)", "%o: int32[a,3] = tf.Sub(%n, int32[] 1)",
    "%u: int32[a,3]; %v: int32[a,3] = tf.TopKV2(%o, int32[] 3)", "%s: int32[a,3] = tf.Neg(%u)",
]
DISTINCT = {
    "column": [RANGE, "%y: int32[n,2] = tf.Pack(%p, %r) {'N': 2, 'axis': 1}"],
    "moved": [
        RANGE, "%m: int32[n] = tf.AddV2(%r, %count)", "%y: int32[n,2] = tf.Pack(%m, %p) {'N': 2, 'axis': -1}",
    ],
    "alone": [RANGE, "%y: int32[n,1] = tf.ExpandDims(%r, int32[] 1)"],
    "part": [
        RANGE, "%c: int32[n,1] = tf.ExpandDims(%r, int32[] 1)", "%q: int32[n,1] = tf.ExpandDims(%p, int32[] 1)",
        "%y: int32[n,2] = tf.ConcatV2(%q, %c, int32[] 1) {'N': 2}",
    ],
    "where": [WHERE, "%y: int32[k,2] = tf.Cast(%w)"],
    "best": [TOP, "%y: int32[3,1] = tf.ExpandDims(%i, int32[] 1)"],
    "wider": [RANGE, "%l: int64[n] = tf.Cast(%r)", "%y: int64[n,1] = tf.ExpandDims(%l, int32[] 1)"],
    "best of each row": [TOP_OF_ROWS, *ROWS, "%y: int32[a,3,2] = tf.Pack(%k, %i) {'N': 2, 'axis': 2}"],
    "best of each row, joined": [
        TOP_OF_ROWS, *ROWS, "%e: int32[a,3,1] = tf.ExpandDims(%i, int32[] 2)",
        "%l: int32[a,1,1] = tf.ExpandDims(%c, int32[] 2)", "%m: int32[a,3,1] = tf.Tile(%l, int32[3] [1, 3, 1])",
        "%y: int32[a,3,2] = tf.ConcatV2(%m, %e, int32[] 2) {'N': 2}",
    ],
    "best of rows that constants number": [
        "%t: int32[2,2]; %i: int32[2,2] = tf.TopKV2(%two, int32[] 2)",
        "%y: int32[2,2,2] = tf.Pack(int32[2,2] [[0, 0], [1, 1]], %i) {'N': 2, 'axis': 2}",
    ],
    "best of each row, sorted": [
        TOP_OF_ROWS, *ROWS, *SORT, "%y: int32[a,3,2] = tf.Pack(%k, %s) {'N': 2, 'axis': 2}",
    ],
    "best of all, sorted": [
        TOP, "%n: int32[3] = tf.Invert(%i)", "%u: int32[3]; %v: int32[3] = tf.TopKV2(%n, int32[] 3)",
        "%y: int32[3,1] = tf.ExpandDims(%u, int32[] 1)",
    ],
    "shuffled": [
        RANGE, "%s: int32[n] = tf.RandomShuffle(%r)", "%y: int32[n,1] = tf.ExpandDims(%s, int32[] 1)",
    ],
    "all places of a grid": [
        *ROWS, "%j: int32[a,3] = tf.BroadcastTo(int32[3] [4, 2, 7], %sizes)",
        "%y: int32[a,3,2] = tf.Pack(%j, %k) {'N': 2, 'axis': 2}",
    ],
    "constant": ["%y: int32[3,2] = tf.Identity(int32[3,2] [[0, 1], [1, 0], [1, 1]])"],
}  # fmt: skip
UNKNOWN = {
    "places": ["%y: int32[n,2] = tf.Pack(%p, %p) {'N': 2, 'axis': 1}"],
    "rows of columns": [RANGE, "%y: int32[2,n] = tf.Pack(%r, %p) {'N': 2, 'axis': 0}"],
    "sum": [RANGE, "%m: int32[n] = tf.AddV2(%r, %p)", "%y: int32[n,1] = tf.ExpandDims(%m, int32[] 1)"],
    "narrower": [
        "%r: int64[n] = tf.Range(int64[] 0, int64[] 9, int64[] 3)", "%c: int32[n] = tf.Cast(%r)",
        "%y: int32[n,1] = tf.ExpandDims(%c, int32[] 1)",
    ],
    "truth": [
        RANGE, "%b: bool[n] = tf.Cast(%r)", "%c: int32[n] = tf.Cast(%b)",
        "%y: int32[n,1] = tf.ExpandDims(%c, int32[] 1)",
    ],
    "best numbers": [TOP, "%y: int32[3,1] = tf.ExpandDims(%t, int32[] 1)"],
    "best of rows that none numbers": [TOP_OF_ROWS, *ROWS, "%y: int32[a,3,2] = tf.Pack(%i, %i) {'N': 2, 'axis': 2}"],
    "best numbers of each row": [TOP_OF_ROWS, *ROWS, "%y: int32[a,3,2] = tf.Pack(%k, %t) {'N': 2, 'axis': 2}"],
    "best numbers of each row, sorted": [
        TOP_OF_ROWS, *ROWS, *(line.replace("%i", "%t") for line in SORT),
        "%y: int32[a,3,2] = tf.Pack(%k, %s) {'N': 2, 'axis': 2}",
    ],
    "best of rows with the same number": [
        "%t: int32[2,2]; %i: int32[2,2] = tf.TopKV2(%two, int32[] 2)",
        "%y: int32[2,2,2] = tf.Pack(int32[2,2] [[1, 1], [1, 1]], %i) {'N': 2, 'axis': 2}",
    ],
    "rows that are tiled as they are": [
        "%r: int32[2] = tf.Range(int32[] 0, int32[] 2, int32[] 1)", "%c: int32[2,1] = tf.ExpandDims(%r, int32[] 1)",
        "%k: int32[4,3] = tf.Tile(%c, int32[2] [2, 3])",
        "%y: int32[4,3,2] = tf.Pack(%k, int32[4,3] [[0, 1, 2], [0, 1, 2], [0, 1, 2], [0, 1, 2]]) {'N': 2, 'axis': 2}",
    ],
    "ten times ten columns, and so on": [
        "%c0: int32[n,1] = tf.ExpandDims(%p, int32[] 1)",
        *(f"%c{at + 1}: int32[n,m] = tf.ConcatV2({f'%c{at}, ' * 10}int32[] 1)" for at in range(8)),
        "%y: int32[n,m] = tf.Identity(%c8)",
    ],
    "twice": ["%y: int32[3,2] = tf.Identity(int32[3,2] [[0, 1], [1, 0], [0, 1]])"],
    "column of a cut": [WHERE, "%y: int64[k,1] = tf.Slice(%w, int32[2] [0, 1], int32[2] [-1, 1])"],
}  # fmt: skip


def _answer(lines: list[str]) -> bool:
    inputs = ["input %p: int32[n]", "input %count: int32[]", "input %mask: bool[a,b]"]
    inputs += ["input %scores: int32[a,9]", "input %two: int32[2,5]", "input %sizes: int32[2]"]
    module, _ = module_of("\n".join(["main {", *inputs, *lines, "return %y", "}"]))
    return has_distinct_rows(module.signatures[0].graph.outputs[0])


@pytest.mark.parametrize("case", DISTINCT)
def test_rows_that_are_distinct(case: str) -> None:
    assert _answer(DISTINCT[case])


@pytest.mark.parametrize("case", UNKNOWN)
def test_nothing_is_known_of_other_rows(case: str) -> None:
    assert not _answer(UNKNOWN[case])


LOOP = """main {{
  input %n: int32[]
  input %x: int32[a]
  input %y: int32[a]
  %r: int32[a] = tf.Range(int32[] 0, %n, int32[] 1)
  %c: int32[a,1] = tf.ExpandDims(%r, int32[] 1)
  %k: int32[a,3] = tf.Tile(%c, int32[2] [1, 3])
  {}
  return %a
}}
cond {{
  input %i: int32[]
  input %p: int32[a]
  input %q: int32[a]
  input %k: int32[a,3]
  %more: bool[] = tf.Less(%i, int32[] 5)
  return %more
}}
body {{
  input %i: int32[]
  input %p: int32[a]
  input %q: int32[a]
  input %k: int32[a,3]
  %next: int32[] = tf.AddV2(%i, int32[] 1)
  %z: int32[a] = tf.AddV2(%q, %q)
  return %next, %p, %z, %k
}}"""
RESULTS = "%{0}: int32[]; %b{0}: int32[a]; %c{0}: int32[a]; %d{0}: int32[a,3]"
WHILE = RESULTS + " = tf.StatelessWhile(int32[] 0, {1}, %r, %k) {{'cond': @cond, 'body': @body}}"


def _known_variables(*loops: str) -> dict[str, int]:
    lines = [WHILE.format("abcd"[at], given) for at, given in enumerate(loops)]
    module, _ = module_of(LOOP.format("\n  ".join(lines)))
    return {value.name: axis for value, axis in numbering_variables(module).items()}


def test_variables_that_a_range_before_the_loop_numbers() -> None:
    assert _known_variables("%r") == {"p": 0, "k": 0}


def test_variables_that_not_each_loop_numbers() -> None:
    assert _known_variables("%x") == {"k": 0}
    assert _known_variables("%r", "%x") == _known_variables("%x", "%r") == {"k": 0}


def test_variables_of_a_body_that_is_called_as_well() -> None:
    call = " = tf.PartitionedCall(int32[] 0, %y, %y, %k) {'f': @body}"
    module, _ = module_of(LOOP.format("\n  ".join([RESULTS.format("b") + call, WHILE.format("a", "%r")])))
    assert numbering_variables(module) == {}
