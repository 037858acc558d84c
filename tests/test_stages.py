"""What a small model is at each stage, as text that a person has read."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import fuseconv
from fuseconv.ir.text import print_module
from fuseconv.pass_manager import Pass, PassManager
from tests.frozen import FLOAT, INT32, Frozen

GOLDEN = Path(__file__).with_name("stages.txt")
# Each stage by the pass in front of which, or behind which, it is looked at.
STAGES = {
    "loaded, inlined and simplified": ("before", "merge-bidirectional"),
    "with composites fused": ("before", "lower"),
    "lowered, fused by patterns and tidied": ("after", "legalize-outputs"),
}


def model(folder: Path) -> Path:
    """A dense layer whose data is reshaped to a computed shape, and a function that says which op it stands for."""
    graph = Frozen(-1, 2, 2)
    graph.node("shape", "Shape", "x", T={"type": FLOAT})
    ends = (graph.constant(name, np.array([value], np.int32)) for name, value in (("a", 0), ("b", 1), ("c", 1)))
    graph.node("batch", "StridedSlice", "shape", *ends, T={"type": INT32}, Index={"type": INT32},
               shrink_axis_mask={"i": 1})  # fmt: skip
    graph.node("rows", "Pack", "batch", graph.constant("four", np.int32(4)), N={"i": 2}, T={"type": INT32})
    graph.node("flat", "Reshape", "x", "rows", T={"type": FLOAT})
    graph.node("dense", "MatMul", "flat", graph.constant("kernel", np.ones((4, 2), np.float32)), T={"type": FLOAT})
    graph.node("biased", "BiasAdd", "dense", graph.constant("bias", np.array([1, 2], np.float32)), T={"type": FLOAT})
    graph.node("relu", "Relu", "biased", T={"type": FLOAT})
    graph.function("swoosh", [])
    implements = 'name: "Swoosh" attr { key: "tfl_fusable_op" value { b: true } } attr { key: "beta" value { f: 2 } }'
    graph.graph.library.function[0].attr["_implements"].s = implements.encode()
    graph.call("out", "swoosh", "relu")
    return graph.write(folder)


def test_each_stage_is_as_it_was_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A change of `stages.txt` is one that somebody should look at: write the new text there if it is right."""
    texts: dict[str, str] = {}
    run_pass = PassManager._run_pass

    def watched(manager: PassManager, item: Pass) -> bool:
        def look(when: str) -> None:
            for stage, place in STAGES.items():
                if place == (when, item.name):
                    texts.setdefault(stage, f"# {stage}\n\n{print_module(manager.context.module, elide=4)}")

        look("before")
        changed = run_pass(manager, item)
        look("after")
        return changed

    monkeypatch.setattr(PassManager, "_run_pass", watched)
    fuseconv.convert(model(tmp_path), verify_fusions="never")
    assert "\n".join(texts.values()) == GOLDEN.read_text()
