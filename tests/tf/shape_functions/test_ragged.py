"""Shapes of ragged tensors' parts."""

from __future__ import annotations

from fuseconv.ir.dims import Sym, symbol
from fuseconv.transforms.tf.canonicalize import canonicalize
from tests.tf.text_cases import module_of


def test_rows_that_are_gathered() -> None:
    module, report = module_of("""
    main {
      input %splits: int64[n]
      input %x: float32[m,2]
      input %i: int32[5]
      %a: int64[*]; %b: float32[*] = tf.RaggedGather(%splits, %x, %i) {'OUTPUT_RAGGED_RANK': 1}
      return %a, %b
    }
    """)
    canonicalize(module, report)
    splits, values = module.signatures[0].graph.outputs
    assert splits.shape == (6,) and values.shape is not None and values.shape[1] == 2
    # How many there are is in the data: a size that no other has.
    assert isinstance(values.shape[0], Sym) and values.shape[0] not in (symbol("n"), symbol("m"))
