"""The passes of quantization: all of them are in the pipelines, and floats are converted without them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from fuseconv.pass_manager import passes_of
from fuseconv.pipeline import CONVERT, QUANTIZE_FILE
from fuseconv.quantize.pipeline import PASSES
from tests.frozen import FLOAT, Frozen

# What most conversions need not, and what takes a while to import.
_SPARED = (
    "fuseconv.quantize.pipeline", "fuseconv.quantize.to_integers", "fuseconv.load.stablehlo.importer",
    "fuseconv.load.tflite.reader", "fuseconv.inspecting", "fuseconv.targets.gpu", "fuseconv.targets.forms", "html",
    "fuseconv.transforms.stablehlo", "fuseconv.transforms.whole_files", "fuseconv.write.model_metadata",
)  # fmt: skip
_CODE = """
import sys, fuseconv
fuseconv.convert(sys.argv[1], batch_size=1)
print(*sys.modules)
fuseconv.convert(sys.argv[1], batch_size=1, quantize="dynamic", target="gpu")
print(*sys.modules)
"""


def test_they_stand_behind_all_others() -> None:
    names = [item.name for item in passes_of(PASSES)]
    assert names[-10:] == [
        "set-io-types", "dequantize-copied", "concat-narrow-pixels", "expand-mirror-pads", "guard-empty",
        "bypass-xnnpack", "bypass-xnnpack-copies", "return-constants", "schedule-ops", "protect-shared-memory",
    ]  # fmt: skip
    assert [item.name for item in passes_of(QUANTIZE_FILE)] == names
    every = [item.name for item in passes_of(CONVERT)]
    assert every[every.index(names[0]) :][: len(names)] == names
    assert "outline-composites" in every[every.index(names[0]) + len(names) :]  # what it makes is not rewritten


def test_a_conversion_imports_what_it_needs(tmp_path: Path) -> None:
    graph = Frozen(4, 5)
    graph.node("y", "Relu", "x", T={"type": FLOAT})
    run = subprocess.run(
        [sys.executable, "-c", _CODE, graph.write(tmp_path)], capture_output=True, text=True, check=True
    )
    floats, more = (set(line.split()) for line in run.stdout.splitlines())
    assert not floats & set(_SPARED)
    assert {"fuseconv.quantize.pipeline", "fuseconv.targets.gpu"} <= more
