"""Sizes and numbers that a fusion is tried with."""

from __future__ import annotations

import numpy as np
import pytest

from fuseconv.fuse.sampling import draw, index_operands, sizes
from tests.tf.text_cases import module_of


def test_sizes_that_are_not_known() -> None:
    module, _ = module_of("main {\n input %x: float32[n,2,t]\n %y: float32[n,2,t] = tf.Neg(%x)\n return %y\n}")
    tries = sizes(module.signatures[0].graph.inputs)
    assert tries == [{"n": 3, "t": 5}, {"n": 3, "t": 3}, {"n": 2, "t": 2}]


def test_what_tells_places() -> None:
    module, _ = module_of(
        "main {\n input %x: float32[4]\n input %i: int32[2]\n input %j: int32[2]\n"
        " %k: int32[2] = tfl.ADD(%i, %j)\n %y: float32[2] = tfl.GATHER(%x, %k)\n return %y\n}"
    )
    graph = module.signatures[0].graph
    _, i, j = graph.inputs
    assert index_operands(graph) == {i, j, graph.ops[0].result}


@pytest.mark.parametrize("dtype", [np.float32, np.complex64, np.bool_, np.int8, np.uint8])
def test_numbers_of_each_type(dtype: type) -> None:
    rng = np.random.default_rng(0)
    made = draw(rng, np.dtype(dtype), (50,), 1.0, True)
    assert made.dtype == dtype and made.shape == (50,) and len({*made.tolist()}) > 1
    if np.dtype(dtype).kind in "iu":
        assert {*draw(rng, np.dtype(dtype), (50,), 1.0, False).tolist()} == {0, 1}


def test_texts() -> None:
    made = draw(np.random.default_rng(0), np.dtype(object), (2, 3), 1.0, True)
    assert made.shape == (2, 3) and all(isinstance(text, bytes) and len(text) == 3 for text in made.flat)
