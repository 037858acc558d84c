"""The terminal's view of a file, as text that a person has read."""

from __future__ import annotations

import io
from typing import Any

from fuseconv.report.inspection import show_inspection
from fuseconv.report.tables import text


def tensor(name: str, type: str, shape: list[int], **more: Any) -> dict[str, Any]:
    tensor = {"name": name, "type": type, "shape": shape, "shape_signature": None, "quantisation": None}
    return {**tensor, "is_variable": False, "is_sparse": False, "buffer": 0, "size": 0, **more}


DOCUMENT: dict[str, Any] = {
    "file": {"path": "out.tflite", "size": 3400, "version": 3, "description": "fuseconv"},
    "metadata": [
        {"name": "min_runtime_version", "size": 16, "text": "2.4.0"},
        {"name": "opaque", "size": 96, "text": None},
    ],
    "model_metadata": None,
    "files": [],
    "signatures": [
        {"key": "serving_default", "subgraph": 0, "inputs": {"x": 0}, "outputs": {"class": 3}},
        {"key": "serve", "subgraph": 0, "inputs": {"x": 0}, "outputs": {"class": 3}},
    ],
    "subgraphs": [
        {
            "name": "main",
            "inputs": [0],
            "outputs": [3],
            "tensors": [
                tensor("x", "FLOAT32", [1, 5], shape_signature=[-1, 5]),
                tensor("w", "INT8", [4, 5], buffer=1, size=20, is_sparse=True,
                       quantisation={"axis": 0, "count": 4, "scale": [0.01, 0.5], "zero_point": [0, 0]}),
                tensor("state", "FLOAT32", [1, 4], is_variable=True),
                tensor("class", "FLOAT32", [1, 4], shape_signature=[-1, 4]),
            ],
            "ops": [
                {"op": "FULLY_CONNECTED", "version": 9, "operands": [0, 1, -1], "results": [3], "intermediates": [],
                 "options": {"fused_activation_function": "RELU", "keep_num_dims": False}},
                {"op": "MyOp", "version": 1, "operands": [3, 2], "results": [3], "intermediates": [], "options": {}},
            ],
        }
    ],
    "op_counts": {"FULLY_CONNECTED": 1, "MyOp": 1},
    "weight_bytes": {"FULLY_CONNECTED": 20},
    "buffers": {"count": 2, "size": 36},
    "arena": {"bytes": 64, "peak": 48, "subgraph": 0, "index": 1, "dynamic": True},
    "custom_ops": ["MyOp"],
    "flex_ops": ["Cholesky"],
}  # fmt: skip

BRIEF = """\
File      out.tflite  3.4 kB, schema version 3
Made by   fuseconv
Metadata  min_runtime_version: 2.4.0
Metadata  opaque: 96 B

Signature        Subgraph       Name   Tensor
serving_default         0  in   x      float32[?,5]
                           out  class  float32[?,4]
serve                   0  in   x      float32[?,5]
                           out  class  float32[?,4]

Op               Count  Weights
FULLY_CONNECTED      1     20 B
MyOp                 1
all                  2     20 B

Arena     64 B, most at op 1: MyOp  (unknown sizes as 1)
Needs     the application's own kernels for MyOp
Needs     TensorFlow's kernels (Flex) for Cholesky

"""

OPS = """\
Subgraph  0 main
   Op               Operands (* constant) -> results  options
0  FULLY_CONNECTED  float32[?,5] int8[4,5]* - -> float32[?,4]  fused_activation_function=RELU
1  MyOp             float32[?,4] float32[1,4] -> float32[?,4]
"""

VERBOSE = """\
Subgraph  0 main
   Op                  Operands (* constant) -> results  options
0  FULLY_CONNECTED v9  0:float32[?,5] 1:int8[4,5]* - -> 3:float32[?,4]  fused_activation_function=RELU \
keep_num_dims=False
1  MyOp v1             3:float32[?,4] 2:float32[1,4] -> 3:float32[?,4]

   Tensor  Type          Buffer  Size  Quantization
0  x       float32[?,5]       0
1  w       int8[4,5]          1  20 B  scale 0.01..0.5, zero point 0, 4 along axis 0  sparse
2  state   float32[1,4]       0                                                       variable
3  class   float32[?,4]       0
"""


def shown(document: dict[str, Any], verbose: bool = False) -> str:
    return text(lambda out: show_inspection(out, document, verbose), io.StringIO())


def test_a_small_file_is_shown_op_by_op() -> None:
    assert shown(DOCUMENT) == BRIEF + OPS


def test_with_every_detail() -> None:
    assert shown(DOCUMENT, verbose=True) == BRIEF + VERBOSE


def test_the_ops_of_a_large_file_are_counted_only() -> None:
    large = {**DOCUMENT, "op_counts": {"ADD": 61}}
    assert "Subgraph  0" not in shown(large)
    assert "Subgraph  0" in shown(large, verbose=True)


def test_an_arena_that_is_not_planned_and_none() -> None:
    arena = {**DOCUMENT["arena"], "bytes": None, "dynamic": False}
    assert "Arena     at least 48 B, most at op 1: MyOp\n" in shown({**DOCUMENT, "arena": arena})
    assert "Arena" not in shown({**DOCUMENT, "arena": None})


def test_a_file_without_signatures() -> None:
    assert "Signature none\n" in shown({**DOCUMENT, "signatures": []})


def test_titles_of_what_an_author_says_leave_a_blank() -> None:
    told = {"name": "Cats", "description": "Tells cats.", "version": "1", "inputs": [], "outputs": []}
    assert "\nName      Cats\nAbout     Tells cats.\nVersion   1\n" in shown({**DOCUMENT, "model_metadata": told})
