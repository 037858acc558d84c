"""Reducers of XLA's windows get their names."""

from __future__ import annotations

import pytest

from fuseconv.ir.graph import FuncRef
from fuseconv.transforms.tf.resolve_xla_reducers import resolve_xla_reducers
from tests.check_pass import check_pass
from tests.tf.text_cases import module_of


@pytest.mark.parametrize(
    ("body", "name"),
    [
        ("%2 \"r\": float32[] = tf.AddV2(%1, %0) {}\n return %2", "Add"),
        ("%2 \"r\": float32[] = tf.Maximum(%0, %1) {}\n return %2", "Max"),
        ("%2 \"r\": float32[] = tf.Minimum(%0, %1) {}\n %3 \"i\": float32[] = tf.Identity(%2) {}\n return %3", "Min"),
        ("%2 \"r\": float32[] = tf.Minimum(%0, %0) {}\n return %2", None),
        ("%2 \"r\": float32[] = tf.Mul(%0, %1) {}\n return %2", None),
        ("%2 \"r\": float32[] = tf.AddV2(%0, %1) {}\n return %0", None),
        ("%2 \"r\": float32[] = tf.Neg(%0) {}\n %3 \"s\": float32[] = tf.AddV2(%2, %1) {}\n return %3", None),
    ],
)  # fmt: skip
def test_reducers(body: str, name: str | None) -> None:
    module, _ = module_of(
        """main {
        input %0 "x": float32[2]
        %1 "w": float32[*] = tf.XlaReduceWindow(%0, %0, %0, %0, %0, %0, %0) {'computation': {'function': 'reducer'}}
        return %1
        }""",
        f'reducer {{\n input %0 "a": float32[]\n input %1 "b": float32[]\n {body}\n }}',
    )
    resolve_xla_reducers(module)
    (op,) = module.signatures[0].graph.ops
    assert op.attrs["computation"] == (name or FuncRef("reducer"))


def test_a_reducer_is_called_by_its_op() -> None:
    check_pass("resolve-xla-reducers", """
    main {
      input %x: float32[4]
      %y: float32[2] = tf.XlaReduceWindow(%x, float32[] 0.0, int32[1] [2], int32[1] [2], int32[1] [1], int32[1] [1], \
int32[1,2] [[0, 0]]) {'computation': @add}
      return %y
    }
    add {
      input %a: float32[]
      input %b: float32[]
      %c: float32[] = tf.AddV2(%a, %b)
      return %c
    }
    """, """
    main {
      input %x: float32[4]
      %y: float32[2] = tf.XlaReduceWindow(%x, float32[] 0.0, int32[1] [2], int32[1] [2], int32[1] [1], int32[1] [1], \
int32[1,2] [[0, 0]]) {'computation': 'Add'}
      return %y
    }
    """)


def test_another_reducer_keeps_its_function() -> None:
    check_pass("resolve-xla-reducers", """
    main {
      input %x: float32[4]
      %y: float32[2] = tf.XlaReduceWindow(%x, float32[] 0.0, int32[1] [2], int32[1] [2], int32[1] [1], int32[1] [1], \
int32[1,2] [[0, 0]]) {'computation': @add}
      return %y
    }
    add {
      input %a: float32[]
      input %b: float32[]
      %c: float32[] = tf.SquaredDifference(%a, %b)
      return %c
    }
    """)
