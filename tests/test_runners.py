"""What is told of errors that TensorFlow raises."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fuseconv.errors import InputError
from fuseconv.runners import TFLiteFile, first_line
from fuseconv.write.flatbuffer_export import to_bytes
from tests.load.tflite.files import changed_dense
from tests.tf.text_cases import module_of


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("Shapes must fit.\nand more", "Shapes must fit"),
        ("\n  indented\n", "indented"),
        ("", "ValueError"),
        ("Graph execution error:\n\nDetected at node x\nshapes differ\n[[{{node x}}]]", "shapes differ"),
    ],
)
def test_the_line_that_says_what_is_wrong(text: str, line: str) -> None:
    assert first_line(ValueError(text)) == line


def test_a_damaged_file_does_not_reach_the_runtime(tmp_path: Path) -> None:
    def without_inputs(model: Any) -> None:
        model.subgraphs[0].inputs = []

    (tmp_path / "it.tflite").write_bytes(changed_dense(without_inputs))
    with pytest.raises(InputError, match=r"damaged TFLite model: the tensor .+ is read, but nothing"):
        TFLiteFile(tmp_path / "it.tflite")


@pytest.mark.skipif(sys.platform != "linux", reason="names of files are texts elsewhere")
def test_a_file_whose_name_is_not_utf8(tmp_path: Path) -> None:
    path = tmp_path / "it\udcff.tflite"
    data = changed_dense(lambda model: None)
    path.write_bytes(data)
    assert TFLiteFile(path).signatures == TFLiteFile(data).signatures


def test_integers_of_a_file_are_floats_to_the_caller() -> None:
    graph, _ = module_of("""
    main {
      input %x: int8[n]<0.5:-3>
      %y: int8[n]<0.25> = tfl.RELU(%x)
      return %y
    }
    """)
    file = TFLiteFile(to_bytes(graph))
    assert file.inputs("serving_default")["i0"].dtype == np.float32
    (result,) = file.run("serving_default", {"i0": np.array([-2.0, 0.6, 3.0, 99.0], np.float32)}).values()
    assert result.dtype == np.float32 and result.tolist() == [0.0, 0.5, 3.0, 31.75]
