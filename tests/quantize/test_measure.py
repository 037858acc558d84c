"""Ranges are those of the samples, and samples that do not fit are refused by name."""

from __future__ import annotations

import tracemalloc
from typing import Any

import numpy as np
import pytest

import fuseconv.quantize.measure as module
from fuseconv.errors import InputError
from fuseconv.ir.graph import Signature
from fuseconv.quantize.calibrate import Calibration, calibrate
from fuseconv.quantize.samples import Samples
from tests.check_pass import check_pass
from tests.tf.text_cases import module_of

_TEXT = """
main {
  input %x: float32[n,2]
  %y: float32[n,2] = tfl.ABS(%x)
  %z: float32[n,2] = tfl.LOGISTIC(%y)
  return %z
}
"""
_SAMPLES = [{"i0": np.array([[-4, 3]], np.float32)}, {"i0": np.array([[1, 2], [0, 7]], np.float32)}]


@pytest.mark.parametrize("measuring", [True, False])
def test_ranges_of_all_samples(measuring: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if not measuring:
        monkeypatch.setattr(module, "_measuring", lambda: None)
    calibration = Calibration(_SAMPLES)
    check_pass("calibrate", _TEXT, calibration=calibration)
    ranges = {value.name: (found.least, found.largest) for value, found in calibration.ranges.items()}
    assert ranges["x"] == (-4, 7) and ranges["y"] == (0, 7)
    assert ranges["z"] == pytest.approx((0.5, 1 / (1 + np.exp(-7))))


@pytest.mark.parametrize(("method", "largest"), [("minmax", 500), ("percentile:98", 1), ("mse", 500)])
def test_rare_extremes_are_left_out(method: str, largest: float) -> None:
    rng = np.random.default_rng(0)
    samples = [{"i0": rng.uniform(-1, 1, (50, 2)).astype(np.float32)} for _ in range(4)]
    samples[2]["i0"][3, 1] = 500
    calibration = Calibration(samples, method=method, levels=65535)
    check_pass("calibrate", _TEXT, calibration=calibration)
    found = {value.name: each.largest for value, each in calibration.ranges.items()}
    assert found["x"] == pytest.approx(largest, abs=0.3) == found["y"]


@pytest.mark.parametrize("method", ["minmax", "mse"])
@pytest.mark.parametrize("measuring", [True, False])
def test_no_tensors_are_kept(method: str, measuring: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if not measuring:
        monkeypatch.setattr(module, "_measuring", lambda: None)
    traced: dict[int, int] = {}
    size = 1 << 14

    def note(count: int) -> None:
        traced[count] = tracemalloc.get_traced_memory()[0]

    samples = ({"i0": np.full((1, size), number, np.float32)} for number in range(60))
    calibration = Calibration(samples, method, progress=note)
    tracemalloc.start()
    try:
        check_pass("calibrate", _TEXT.replace("2]", f"{size}]"), calibration=calibration)
    finally:
        tracemalloc.stop()
    # The first samples are, for verification.
    assert traced[60] - traced[20] < 4 * size


@pytest.mark.parametrize("method", ["minmax", "mse"])
def test_means_of_what_products_read(method: str) -> None:
    graph, report = module_of("""
    main {
      input %x: float32[n,2]
      %y: float32[n,2] = tfl.ABS(%x)
      %z: float32[n,1] = tfl.FULLY_CONNECTED(%y, float32[1,2] [1, 2], _)
      return %z
    }
    """)
    calibration = Calibration(_SAMPLES, method=method)
    calibrate(graph, report, calibration)
    assert {value.name: means.tolist() for value, means in calibration.means.items()} == {"y": [2.25, 3.75]}


@pytest.mark.parametrize("method", ["minmax", "mse"])
def test_means_of_each_signature_that_has_samples(method: str) -> None:
    text = """
    main {
      input %x: float32[n,2]
      %y: float32[n,2] = tfl.ABS(%x)
      %z: float32[n,1] = tfl.FULLY_CONNECTED(%y, float32[1,2] [1, 2], _)
      %t: float32[n,1] = tfl.FULLY_CONNECTED(%x, float32[1,2] [1, 2], _)
      return %z, %t
    }
    """
    names = [("x", "y"), ("a", "b"), ("c", "d")]
    graphs = [module_of(text.replace("%x", f"%{x}").replace("%y", f"%{y}"))[0].signatures[0].graph for x, y in names]
    both, report = module_of(text)
    both.signatures[:] = [Signature([x], graph, ["i0"], ["o0", "o1"]) for (x, _), graph in zip(names, graphs)]
    samples = [{"x/i0": _SAMPLES[0]["i0"]}, {"a/i0": _SAMPLES[1]["i0"]}, {"x/i0": _SAMPLES[1]["i0"]}]
    calibration = Calibration(samples, method=method)
    calibrate(both, report, calibration)
    assert {value.name: means.tolist() for value, means in calibration.means.items()} == {
        "x": [-1.75, 3.75], "y": [2.25, 3.75], "a": [0.5, 4.5], "b": [0.5, 4.5],
    }  # fmt: skip


@pytest.mark.parametrize("method", ["minmax", "mse"])
@pytest.mark.parametrize("read", [True, False])
def test_means_beside_recurrent_ops(method: str, read: bool) -> None:
    weights, state = "float32[1,1] [0.5]", "float32[1,1] {'variable': True} = tfl.FILL(int32[2] [1, 1], float32[] 0.0)"
    graph, report = module_of(f"""
    main {{
      input %x: float32[1,3,1]
      %h: {state}
      %c: {state}
      %a: float32[1,3,1] = tfl.ABS(%x)
      %y: float32[1,3,1] = tfl.UNIDIRECTIONAL_SEQUENCE_LSTM(%a, {", ".join([weights] * 8)}, _, _, _, \
{", ".join(["float32[1] [0.5]"] * 4)}, _, _, %h, %c) {{'fused_activation_function': 'TANH'}}
      {"%z: float32[3,1] = tfl.FULLY_CONNECTED(%a, float32[1,1] [2], _)" if read else ""}
      return {"%y, %z" if read else "%y"}
    }}
    """)
    samples = [{"i0": np.array([[[each], [-1], [2]]], np.float32)} for each in (3, -6)]
    calibration = Calibration(samples, method=method)
    calibrate(graph, report, calibration)
    assert {value.name: means.tolist() for value, means in calibration.means.items()} == ({"a": [2.5]} if read else {})
    assert calibration.moments


@pytest.mark.parametrize("method", ["minmax", "mse"])
def test_nan_that_no_output_shows(method: str) -> None:
    text = """
    main {
      input %x: float32[n,4]
      %y: float32[n,4] = tfl.SQRT(%x)
      %z: int32[n] = tfl.ARG_MAX(%y, int32[] 1) {'output_type': 'INT32'}
      return %z
    }
    """
    x = np.array([[-1, 1, 9, 4]], np.float32)
    with pytest.raises(InputError, match=r"sample 0 makes numbers|Nan value"):
        calibrate(*module_of(text), Calibration([{"i0": x}], method=method))


def test_the_first_samples_alone() -> None:
    module, report = module_of(_TEXT)
    samples = Samples(_SAMPLES, most=1)
    samples.bind(module.signatures)
    calibration = Calibration(samples)
    calibrate(module, report, calibration)
    assert max(found.largest for found in calibration.ranges.values()) == 4


@pytest.mark.parametrize(("samples", "why"), [
    ([], "no samples"),
    ([{"x": np.zeros((1, 2), np.float32)}], "an array for each input, i0; sample 0 lacks i0 and holds x"),
    ([np.zeros((1, 2), np.float32)], "a sample is a dict {'i0': array}; sample 0 is 'ndarray'"),
    ([{"i0": np.zeros((1, 3), np.float32)}], r"float32 \[\?, 2\], with the batch; sample 0 holds float32 \[1, 3\]"),
    ([{"i0": np.zeros((1, 2), np.int32)}], "sample 0 holds int32"),
    ([{"i0": np.zeros(2, np.float32)}], r"holds float32 \[2\]$"),
    ([{"i0": [[1.0, 2.0], [3.0]]}], "sample 0 of the input i0 is no array"),
    ([_SAMPLES[0], {"i0": np.full((1, 2), np.nan, np.float32)}], "sample 1 of the input i0 holds numbers that are not"),
])  # fmt: skip
def test_samples_that_do_not_fit(samples: list[Any], why: str) -> None:
    with pytest.raises(InputError, match=why):
        calibrate(*module_of(_TEXT), Calibration(samples))


def test_numbers_that_are_none() -> None:
    text = _TEXT.replace("tfl.ABS", "tfl.LOG").replace("tfl.LOGISTIC", "tfl.ABS")
    with pytest.raises(InputError, match=r"sample 0 makes numbers in the tensor [yz] that are none"):
        calibrate(*module_of(text), Calibration([{"i0": np.full((1, 2), -1, np.float32)}]))


@pytest.mark.parametrize("measuring", [True, False])
def test_samples_of_each_signature(measuring: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if not measuring:
        monkeypatch.setattr(module, "_measuring", lambda: None)
    both, report = module_of(_TEXT)
    other, _ = module_of(_TEXT.replace("%x", "%a").replace("%y", "%b").replace("ABS", "NEG"))
    both.signatures[0].names[:] = ["first"]
    both.signatures.append(Signature(["second"], other.signatures[0].graph, ["i0"], ["o0"]))
    calibration = Calibration([*_SAMPLES, {"second/i0": np.array([[6, 5]], np.float32)}])
    calibrate(both, report, calibration)
    ranges = {value.name: (found.least, found.largest) for value, found in calibration.ranges.items()}
    assert ranges["y"] == (0, 7) and ranges["a"] == (5, 6) and ranges["b"] == (-6, -5)
    assert [warning.split(":")[0] for warning in report.warnings] == [
        "calibrated on 2 samples of the signature first", "calibrated on 1 sample of the signature second",
    ]  # fmt: skip
    calibrate(both, report, Calibration(_SAMPLES))
    missing = "there are no samples of the signature second: its ops stay float; its arrays are named second/i0"
    assert report.warnings[-1] == missing
    with pytest.raises(InputError, match=r"signature first .*, i0 \(of others: second/i0\); sample 0 lacks i0 and"):
        calibrate(both, report, Calibration([{"i": _SAMPLES[0]["i0"]}]))


@pytest.mark.parametrize("measuring", [True, False])
def test_invariants_of_a_loop_that_nothing_reads(measuring: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if not measuring:
        monkeypatch.setattr(module, "_measuring", lambda: None)
    calibration = Calibration([{"i0": np.array([2, -8], np.float32)}])
    check_pass("calibrate", """
    main {
      input %x: float32[n]
      %a: float32[n] = tfl.ABS(%x)
      %k: int32[]; %u: float32[n]; %y: float32[n] = tfl.WHILE(int32[] 0, %a, %x) \
{'cond_subgraph_index': @more, 'body_subgraph_index': @step}
      return %y
    }
    more {
      input %i: int32[]
      input %f: float32[n]
      input %g: float32[n]
      %m: bool[] = tfl.LESS(%i, int32[] 3)
      return %m
    }
    step {
      input %i: int32[]
      input %f: float32[n]
      input %g: float32[n]
      %j: int32[] = tfl.ADD(%i, int32[] 1)
      %h: float32[n] = tfl.MAXIMUM(%g, %f)
      return %j, %f, %h
    }
    """, calibration=calibration)  # fmt: skip
    ranges = {value.name: (found.least, found.largest) for value, found in calibration.ranges.items()}
    assert ranges["a"] == ranges["y"] == (2, 8)
    assert ("h" in ranges) == measuring


def test_texts_are_samples() -> None:
    text = """
    main {
      input %x: float32[n,2]
      input %s: string[n]
      %y: float32[n,2] = tfl.ABS(%x)
      return %y
    }
    """
    calibration = Calibration([{"i0": np.ones((1, 2), np.float32), "i1": np.array([b"yes"])}])
    calibrate(*module_of(text), calibration)
    assert len(calibration.ranges) == 2


def test_warnings() -> None:
    graph, report = module_of(_TEXT)
    calibrate(graph, report, Calibration([{"i0": np.ones((1, 2), np.float32)}] * 2))
    assert [warning.split(":")[0] for warning in report.warnings] == [
        "calibrated on 2 samples", "all samples are alike", "the input i0 is 1 in all samples",
    ]  # fmt: skip


def test_weights_alone_take_in_what_they_are_multiplied_by() -> None:
    text = """
    main {
      input %x: float32[n,2]
      %y: float32[n,1] = tfl.FULLY_CONNECTED(%x, float32[1,2] [1, 2], _)
      return %y
    }
    """
    graphs = [module_of(text.replace("%y", f"%{name}"))[0].signatures[0].graph for name in "yz"]
    both, report = module_of(text)
    both.signatures[:] = [Signature([name], graph, ["i0"], ["o0"]) for name, graph in zip("yz", graphs)]
    samples = [{"y/i0": np.array([[1, 2]], np.float32)}, {"z/i0": np.array([[3, 4], [5, 6]], np.float32)}]
    calibration = Calibration(samples, weights_alone=True)
    calibrate(both, report, calibration)
    assert not report.warnings
    assert {value.name: moments.mean.tolist() for value, moments in calibration.moments.items()} == {
        "y": [1, 2], "z": [4, 5],
    }  # fmt: skip


def test_samples_are_not_read_where_no_weights_go_together() -> None:
    def samples() -> Any:
        raise AssertionError
        yield

    calibration = Calibration(samples(), weights_alone=True)
    calibrate(*module_of("main {\n  input %x: float32[n]\n  %y: float32[n] = tfl.ABS(%x)\n  return %y\n}"), calibration)
    assert not calibration.moments
