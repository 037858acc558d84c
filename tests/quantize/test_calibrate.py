"""The pass measures, and changes nothing."""

from __future__ import annotations

import numpy as np
import pytest

from fuseconv.errors import InputError
from fuseconv.quantize.calibrate import Calibration, parse_method
from tests.check_pass import check_pass


def test_ranges_are_measured() -> None:
    calibration = Calibration([{"i0": np.array([-4, 3], np.float32)}])
    check_pass("calibrate", """
    main {
      input %x: float32[2]
      %y: float32[2] = tfl.ABS(%x)
      return %y
    }
    """, calibration=calibration)
    assert {value.name: (found.least, found.largest) for value, found in calibration.ranges.items()} == {
        "x": (-4, 3), "y": (3, 4),
    }  # fmt: skip


def test_methods() -> None:
    assert parse_method("minmax") is parse_method("mse") is None
    assert parse_method("percentile:99.99") == 99.99
    for text in ("", "entropy", "percentile", "percentile:x", "percentile:nan", "percentile:20", "percentile:101"):
        with pytest.raises(InputError, match="is none of minmax, mse and percentile:P"):
            parse_method(text)


def test_a_file_that_does_not_run_is_told_of() -> None:
    with pytest.raises(InputError, match=r"cannot run the file on samples: .*\(its custom ops: Acme\); --quantize"):
        check_pass("calibrate", """
        main {
          input %x: float32[2]
          %y: float32[2] = tfl.CUSTOM(%x) {'custom_code': 'Acme'}
          return %y
        }
        """, calibration=Calibration([{"i0": np.zeros(2, np.float32)}]))


def test_a_sample_without_numbers_is_refused() -> None:
    shapes = [(1, 3), (0, 3)]
    calibration = Calibration([{"i0": np.ones(shape, np.float32), "i1": np.ones(0, np.float32)} for shape in shapes])
    with pytest.raises(InputError, match=r"sample 1 holds no numbers: i0 \[0, 3\], i1 \[0\]$"):
        check_pass("calibrate", """
        main {
          input %x: float32[?,3]
          input %past: float32[?]
          %y: float32[?,3] = tfl.ABS(%x)
          %z: float32[?] = tfl.ABS(%past)
          return %y, %z
        }
        """, calibration=calibration)
