"""What a target makes of a whole file."""

from __future__ import annotations

from pathlib import Path

import pytest

from fuseconv.fuse.registry import Registry
from fuseconv.inspecting import inspect
from fuseconv.targets.check import _partitions, _refusal
from fuseconv.targets.multiply_adds import multiply_adds
from fuseconv.targets.signature import OpSignature, TensorSpec
from fuseconv.write.flatbuffer_export import write
from tests.tf.text_cases import module_of


def _checked(tmp_path: Path, target: str, text: str) -> dict:
    write(module_of(text)[0], tmp_path / "m.tflite")
    return inspect(tmp_path / "m.tflite", Registry().target(target))["target"]


def test_the_whole_verdict(tmp_path: Path) -> None:
    found = _checked(tmp_path, "gpu", """
    main {
      input %x: float32[1,2,4]
      %a: float32[1,2,2] = tfl.FULLY_CONNECTED(%x, float32[2,4] [1, 2, 3, 4, 5, 6, 7, 8], _) {'keep_num_dims': True}
      %b: float32[1,1,2,2] = tfl.EXPAND_DIMS(%a, int32[] 0)
      %c: float32[1,1,2,2] = tfl.RELU(%b)
      return %c
    }
    """)
    assert found == {
        "name": "gpu", "rules": "LiteRT gpu_compatibility.cc and model_builder.cc, 2026-08-21", "partitions": 2,
        "refused": [{"subgraph": 0, "op": 1, "type": "EXPAND_DIMS", "why": "it has no EXPAND_DIMS"}], "share": 0.0,
        "remarks": [],
    }  # fmt: skip


def test_constants_are_read_from_the_file(tmp_path: Path) -> None:
    text = """
    main {
      input %x: float32[1,2,2,1]
      %y: float32[1,4,2,1] = tfl.PAD(%x, int32[4,2] [0, 0, 1, 1, 0, 0, 0, 0])
      %z: float32[1,4,2,3] = tfl.PAD(%y, int32[4,2] [0, 0, 0, 0, 0, 0, 1, 1])
      return %z
    }
    """
    found = _checked(tmp_path, "coreml", text)
    assert [(entry["op"], entry["why"]) for entry in found["refused"]] == [(1, "it pads the batch or the channels")]


def test_the_share_is_of_multiply_adds(tmp_path: Path) -> None:
    found = _checked(tmp_path, "gpu", """
    main {
      input %x: float32[2,4]
      %a: float32[2,2] = tfl.FULLY_CONNECTED(%x, float32[2,4] [1, 2, 3, 4, 5, 6, 7, 8], _)
      %b: float32[2,6] = tfl.FULLY_CONNECTED(float32[2,4] [1, 2, 3, 4, 5, 6, 7, 8], float32[6,4] {}, %a)
      return %b
    }
    """.replace("{},", f"{[1.0] * 24},"))
    assert found["share"] == 0.75 and [entry["op"] for entry in found["refused"]] == [1]


@pytest.mark.parametrize("name", Registry().targets())
def test_ops_of_damaged_files_are_refused(name: str) -> None:
    target = Registry().target(name)
    scalar = TensorSpec("float32", ())
    for type in target.ops:
        for operands, results in (([], []), ([scalar], [scalar]), ([None, None, None, None], [scalar])):
            op = OpSignature(type, 1, operands, results, {})
            assert _refusal(target, op) is None or isinstance(_refusal(target, op), str)
            assert multiply_adds(op) >= 0
    damaged = OpSignature("CONV_2D", 1, [scalar, scalar], [], {"fused_activation_function": 7})
    assert name in ("qnn", "mediatek", "openvino", "google-tensor", "micro") or _refusal(target, damaged)


@pytest.mark.parametrize("taken, count", [("111", 1), ("101", 2), ("010", 1), ("000", 0), ("", 0)])
def test_partitions_of_a_chain(taken: str, count: int) -> None:
    ops = [{"operands": [index, -1], "results": [index + 1]} for index in range(len(taken))]
    assert _partitions({"ops": ops}, [letter == "1" for letter in taken]) == count


def test_branches_run_together_where_nothing_stands_between() -> None:
    # 1 and 2 each read 0; 2 is refused, and 3 joins both.
    ops = [{"operands": [0], "results": [1]}, {"operands": [1], "results": [2]}, {"operands": [1], "results": [3]},
           {"operands": [2], "results": [5]}, {"operands": [3, 5], "results": [4]}]  # fmt: skip
    assert _partitions({"ops": ops}, [True, True, False, True, True]) == 2
    assert _partitions({"ops": ops}, [True, True, False, True, False]) == 1
