"""A plan of TFLite Micro's arena in the file: smaller than its own, and of as many tensors as there are."""

from __future__ import annotations

import io

import numpy as np
import pytest

from fuseconv.inspecting import describe
from fuseconv.tfl.arena import OFFLINE_PLAN
from fuseconv.write.flatbuffer_export import write
from tests.tf.text_cases import module_of

# The runtime's own plan places the result beside the input, and what is between them behind both.
GAP = """
main {
  input %x: float32[8]
  %s: float32[4] = tfl.SLICE(%x, int32[1] [0], int32[1] [4])
  %c: float32[8] = tfl.CONCATENATION(%s, %s)
  %y: float32[8] = tfl.ABS(%c)
  return %y
}
"""


def written(text: str) -> bytes:
    out = io.BytesIO()
    write(module_of(text)[0], out, plans_arena=True)
    return out.getvalue()


def _plan(data: bytes) -> list[int]:
    (size,) = (entry["size"] for entry in describe(data, "it")["metadata"] if entry["name"] == OFFLINE_PLAN)
    at = data.index(np.array([1, 1, size // 4 - 3], "<i4").tobytes())
    return np.frombuffer(data[at : at + size], "<i4").tolist()


def test_a_smaller_plan_is_told() -> None:
    data = written(GAP)
    version, subgraphs, count, *begins = _plan(data)
    (subgraph,) = describe(data, "it")["subgraphs"]
    assert (version, subgraphs, count) == (1, 1, len(subgraph["tensors"]) == len(begins) and len(begins))
    assert [begin == -1 for begin in begins] == [tensor["size"] > 0 for tensor in subgraph["tensors"]]
    plain = io.BytesIO()
    write(module_of(GAP)[0], plain)
    arenas = [describe(each, "it")["arena"]["bytes"] for each in (data, plain.getvalue())]
    assert arenas == [64, 80]


@pytest.mark.parametrize("text", [
    pytest.param(GAP.replace("8]", "n]"), id="an unknown size"),
    pytest.param("main {\ninput %x: float32[8]\n%y: float32[8] = tfl.ABS(%x)\nreturn %y\n}", id="no smaller one"),
])  # fmt: skip
def test_no_plan(text: str) -> None:
    out = io.BytesIO()
    write(module_of(text)[0], out)
    assert written(text) == out.getvalue()
