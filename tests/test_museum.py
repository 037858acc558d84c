"""Each case of testdata/museum is what its decorator says: right, refused by name, or still to be repaired."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from testdata.museum import case as museum_case
from testdata.museum.case import Case, load, spec
from tests.museum import PAGE, STATES, Outcome, ask, expected, judge, ours, recorded, table

CASES = load()


def _parameter(case: Case) -> object:
    marks = [pytest.mark.xfail(strict=True, reason=case.pending)] if case.pending else []
    return pytest.param(case, id=case.name, marks=marks)


@pytest.mark.parametrize("case", [_parameter(case) for case in CASES.values()])
def test_a_case_is_what_it_says(case: Case) -> None:
    outcome = ours(case)
    told = f"{outcome}: {outcome.why}"
    if case.refused:
        assert outcome.state == "refused" and re.search(case.refused, outcome.why), told
    elif case.processor and outcome.state == "wrong":
        assert outcome.where and all("XNNPACK" in where for where in outcome.where), told
    else:
        assert outcome.state == ("wrong" if case.kernel else "right"), told


def test_the_museum_is_large() -> None:
    assert len(CASES) >= 60
    assert all(re.fullmatch(r"here|[\w-]+#\d+", source) for case in CASES.values() for source in case.sources)


def test_the_table_tells_of_every_case() -> None:
    states = recorded(PAGE.read_text())
    assert list(states) == list(CASES), "run make museum"


@pytest.mark.slow
def test_what_the_table_says_of_tfliteconverter_is_true() -> None:
    states = recorded(PAGE.read_text())
    assert {outcome.case: str(outcome) for outcome in ask(list(CASES), "peer", 120.0)} == states


def _case(make: Callable[[], Any], **changes: Any) -> Case:
    kept: dict[str, Any] = {
        "name": "x",
        "theme": "x",
        "sources": ("here",),
        "wrong": "x",
        "make": make,
        "specs": (spec(None, 2),),
    }
    return Case(**{**kept, "inputs": None, "refused": "", "kernel": "", "processor": "", "pending": "", **changes})


def _converted(make: Callable[[], Any]) -> Callable[[Path], bytes | str]:
    """Another function's file, whatever is asked for."""
    data: list[bytes] = []

    def keep(folder: Path) -> str:
        import fuseconv

        data.append(fuseconv.convert(folder).data or b"")
        return "kept"

    assert judge(_case(make), keep).state == "refused"
    return lambda folder: data[0]


def test_a_right_file_is_right() -> None:
    assert judge(_case(lambda: tf.sin), _converted(lambda: tf.sin)) == Outcome("x", "right")


def test_a_wrong_file_is_wrong() -> None:
    outcome = judge(_case(lambda: tf.sin), _converted(lambda: tf.cos))
    assert (outcome.state, outcome.where) == ("wrong", ()) and "an error of" in outcome.why


def test_a_file_that_the_runtime_refuses_fails() -> None:
    assert judge(_case(lambda: tf.sin), lambda folder: b"no file").state == "fails"


def test_state_that_leaks_is_wrong() -> None:
    def counter() -> Callable[[tf.Tensor], tf.Tensor]:
        count = tf.Variable(museum_case.floats(1, 2))
        return lambda x: x + count.assign_add([1.0, 1.0])

    assert judge(_case(counter), _converted(counter)).state == "right"
    assert judge(_case(lambda: lambda x: x + tf.constant([2.0, 3.0])), _converted(counter)).state == "wrong"


def test_weights_are_the_same_each_time() -> None:
    case = _case(lambda: museum_case.weights(3))
    np.testing.assert_array_equal(case.build(), case.build())


@pytest.mark.slow
def test_a_process_that_ends_costs_one_case() -> None:
    first, last = list(ask(["no such case", "roll"], "ours", 600.0))
    assert first.state == "crashes" and "no such case" in first.why
    assert last == Outcome("roll", "right")


def test_the_table_is_read_as_it_is_written() -> None:
    cases = {"x": _case(lambda: tf.sin), "y": _case(lambda: tf.sin, name="y", pending="soon", sources=("LiteRT#1",))}
    text = table(cases, {"x": "wrong (TF, LiteRT)", "y": "crashes"})
    assert recorded(text) == {"x": "wrong (TF, LiteRT)", "y": "crashes"}
    assert "[LiteRT#1](https://github.com/google-ai-edge/LiteRT/issues/1)" in text
    assert "2 cases. TFLiteConverter: 1 wrong, 1 crashes. fuseconv: 1 right, 1 pending." in text
    assert expected(cases["y"]) == "pending: soon"
    assert set(STATES) >= {"wrong", "crashes"}
