"""Weights of 16 bits are read as floats before they get fewer bits."""

from __future__ import annotations

from pathlib import Path

import pytest

import fuseconv.quantize.expand_float16 as module
from fuseconv import quantize_file
from fuseconv.runners import TFLiteFile
from fuseconv.write.flatbuffer_export import to_bytes
from tests.check_pass import check_pass
from tests.tf.text_cases import module_of


def test_what_ops_read_is_a_constant_of_floats() -> None:
    check_pass("expand-float16", """
    main {
      input %x: float32[n,2]
      const %w: float16[2,2] = [1.5, 2, 3, 4]
      %a: float32[2,2] = tfl.DEQUANTIZE(%w)
      %b: float32[2,2] = tfl.CAST(%w) {'in_data_type': 'FLOAT16', 'out_data_type': 'FLOAT32'}
      %y: float32[n,2] = tfl.FULLY_CONNECTED(%x, %a, _)
      %z: float32[n,2] = tfl.FULLY_CONNECTED(%y, %b, _)
      return %z, %b
    }
    """, """
    main {
      input %x: float32[n,2]
      const %w: float32[2,2] = [1.5, 2, 3, 4]
      %y: float32[n,2] = tfl.FULLY_CONNECTED(%x, %w, _)
      %z: float32[n,2] = tfl.FULLY_CONNECTED(%y, float32[2,2] [1.5, 2, 3, 4], _)
      return %z, float32[2,2] [1.5, 2, 3, 4]
    }
    """)


def test_rows_of_a_table() -> None:
    check_pass("expand-float16", """
    main {
      input %i: int32[n]
      %g: float16[n,2] = tfl.GATHER(float16[3,2] [1, 2, 3, 4, 5, 6], %i) {'axis': 0}
      %y: float32[n,2] = tfl.DEQUANTIZE(%g)
      return %y
    }
    """, """
    main {
      input %i: int32[n]
      %y: float32[n,2] = tfl.GATHER(float32[3,2] [1, 2, 3, 4, 5, 6], %i) {'axis': 0}
      return %y
    }
    """)


def test_other_numbers_of_16_bits_stay() -> None:
    check_pass("expand-float16", """
    main {
      input %h: float16[n,2]
      input %i: int32[n]
      %y: float32[n,2] = tfl.CAST(%h) {'in_data_type': 'FLOAT16', 'out_data_type': 'FLOAT32'}
      %g: float16[n,2] = tfl.GATHER(float16[3,2] [1, 2, 3, 4, 5, 6], %i) {'axis': 0}
      %z: float32[n,2] = tfl.DEQUANTIZE(%g)
      return %y, %z, %g
    }
    """)


_CELL = "float32[2,2] [1, 2, 3, 4], float32[2,2] [1, 2, 3, 4], float32[2] [1, 2]"


@pytest.mark.parametrize("zeros", [True, False])
def test_states_are_no_constants(zeros: bool) -> None:
    """TFLiteConverter writes the states of a Keras 2 LSTM so; LiteRT refuses a file where they are constants."""
    first = "float16[1,2] [0, 0]" if zeros else "float16[1,2] [0, 1]"
    made = "variable %h: float32[1,2] {'variable': True}" if zeros else f"%h: float32[1,2] = tfl.DEQUANTIZE({first})"
    check_pass("expand-float16", f"""
    main {{
      input %x: float32[1,3,2]
      %h: float32[1,2] = tfl.DEQUANTIZE({first})
      %y: float32[1,3,2] = tfl.UNIDIRECTIONAL_SEQUENCE_RNN(%x, {_CELL}, %h)
      return %y
    }}
    """, f"""
    main {{
      input %x: float32[1,3,2]
      {made}
      %y: float32[1,3,2] = tfl.UNIDIRECTIONAL_SEQUENCE_RNN(%x, {_CELL}, %h)
      return %y
    }}
    """)


@pytest.mark.parametrize("mode", ["dynamic", "int4"])
def test_a_file_without_signatures_keeps_the_names_of_its_outputs(mode: str, tmp_path: Path) -> None:
    """Names of its tensors are what it is run by."""
    module, _ = module_of("""
    main {
      input %i: int32[n]
      %g: float16[n,2] = tfl.GATHER(float16[3,2] [1, 2, 3, 4, 5, 6], %i) {'axis': 0}
      %y: float32[n,2] = tfl.DEQUANTIZE(%g)
      %w: float32[4,2] = tfl.DEQUANTIZE(float16[4,2] [1, 2, 3, 4, 5, 6, 7, 8])
      %z: float32[n,4] = tfl.FULLY_CONNECTED(%y, %w, _)
      return %y, %w, %z
    }
    """)
    module.signatures[0].names = []
    path = tmp_path / "halves.tflite"
    path.write_bytes(to_bytes(module))
    data = quantize_file(path, quantize=mode).data
    assert data is not None
    assert set(TFLiteFile(data).signatures[""][2]) == {"y", "w", "z"}


@pytest.mark.parametrize("quantize", ["dynamic", "int4"])
def test_what_gets_no_8_bits_stays(quantize: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LEAST_ELEMENTS", 6)
    check_pass("expand-float16", """
    main {
      input %x: float32[n,2]
      input %i: int32[n]
      %w: float32[2,2] = tfl.DEQUANTIZE(float16[2,2] [1.5, 2, 3, 4])
      %v: float32[3,2] = tfl.DEQUANTIZE(float16[3,2] [1.5, 2, 3, 4, 5, 6])
      %b: float32[3] = tfl.DEQUANTIZE(float16[3] [1, 2, 3])
      %c: float32[2] = tfl.DEQUANTIZE(float16[2] [1, 2])
      %y: float32[n,2] = tfl.FULLY_CONNECTED(%x, %w, _)
      %z: float32[n,3] = tfl.FULLY_CONNECTED(%y, %v, %b)
      %a: float32[n,2] = tfl.ADD(%y, %c)
      %g: float16[n,2] = tfl.GATHER(float16[2,2] [1, 2, 3, 4], %i) {'axis': 0}
      %e: float32[n,2] = tfl.DEQUANTIZE(%g)
      return %z, %a, %e
    }
    """, """
    main {
      input %x: float32[n,2]
      input %i: int32[n]
      %w: float32[2,2] = tfl.DEQUANTIZE(float16[2,2] [1.5, 2, 3, 4])
      %c: float32[2] = tfl.DEQUANTIZE(float16[2] [1, 2])
      %y: float32[n,2] = tfl.FULLY_CONNECTED(%x, %w, _)
      %z: float32[n,3] = tfl.FULLY_CONNECTED(%y, float32[3,2] [1.5, 2, 3, 4, 5, 6], float32[3] [1, 2, 3])
      %a: float32[n,2] = tfl.ADD(%y, %c)
      %g: float16[n,2] = tfl.GATHER(float16[2,2] [1, 2, 3, 4], %i) {'axis': 0}
      %e: float32[n,2] = tfl.DEQUANTIZE(%g)
      return %z, %a, %e
    }
    """, quantize=quantize)
