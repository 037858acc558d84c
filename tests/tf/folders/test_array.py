"""Constants of ops that move elements are folded."""

from __future__ import annotations

import pytest

from fuseconv.tf.folders import apply
from fuseconv.tf.shape_functions import infer
from tests.check_pass import check_pass
from tests.tf.text_cases import module_of


def test_moves_of_constants() -> None:
    check_pass("canonicalize", """
    main {
      %a: float32[*] = tf.Transpose(float32[2,3] [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], int32[2] [1, 0])
      %b: float32[*] = tf.ConcatV2(float32[1] [1.0], float32[1] [2.0], int32[] 0)
      %c: int32[*] = tf.GatherV2(int32[3] [7, 8, 9], int32[2] [2, 0], int32[] 0)
      %d: int32[*] = tf.Tile(int32[2] [1, 2], int32[1] [2])
      %e: bool[*] = tf.ConjugateTranspose(bool[2] [True, False], int32[1] [0])
      return %a, %b, %c, %d, %e
    }
    """, """
    main {
      return float32[3,2] [[1.0, 4.0], [2.0, 5.0], [3.0, 6.0]], float32[2] [1.0, 2.0], int32[2] [9, 7], int32[4] [1, \
2, 1, 2], bool[2] [True, False]
    }
    """)


@pytest.mark.parametrize(("parts", "shapes"), [
    (["int32[2] [2, 3]"], [None, None]), (["int32[2] [2, 3]", "int32[1] [4]"], [(2,), (1,)]),
])  # fmt: skip
def test_offsets_of_parts_that_do_not_fit_are_not_computed(parts: list[str], shapes: list) -> None:
    """As in a damaged graph."""
    module, _ = module_of(f"""
    main {{
      %a: int32[*]; %b: int32[*] = tf.ConcatOffset(int32[] 0, {", ".join(parts)})
      return %a, %b
    }}
    """)
    (op,) = module.signatures[0].graph.ops
    assert apply(op, [value.data for value in op.operands]) is None  # type: ignore[union-attr,misc]
    assert infer(op) == shapes
