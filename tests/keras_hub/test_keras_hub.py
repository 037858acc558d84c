"""The harness, without keras-hub: what a class is made of, what is drawn, how a kind is judged, what the table says."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.bench.process import Limits, Process, WorkerError
from tests.bench.process import run as run_process
from tests.keras_hub import kinds, run, server, table, worker
from tests.keras_hub.inputs import draw, sized
from tests.keras_hub.sizes import COMMON, VOCABULARY

LIMITS = Limits(60, 16)


class Model:
    def __init__(self, hidden_dim: int, depth: int, rate: float = 0.1, *, num_layers: int = 9, **others: Any) -> None:
        self.arguments = (hidden_dim, depth, rate, num_layers, others)


def test_a_class_is_made_of_its_own_sizes_and_common_ones() -> None:
    made = Model(**kinds.arguments(Model, {"depth": 3, "name": "x"}))
    assert made.arguments == (COMMON["hidden_dim"], 3, 0.1, COMMON["num_layers"], {"name": "x"})
    assert kinds.arguments(Model, {"depth": 3, "hidden_dim": 7})["hidden_dim"] == 7


def test_a_class_without_sizes_is_told() -> None:
    with pytest.raises(kinds.NotTriedError, match=r"no sizes for depth of Model"):
        kinds.arguments(Model, {})


def test_a_model_has_a_cache_if_its_call_takes_one_and_nothing_else() -> None:
    class Cached:
        def call_with_cache(self, token_ids: Any, cache: Any, cache_update_index: Any, mask: Any = None) -> None: ...

    class Images:
        def call_with_cache(self, token_ids: Any, cache: Any, cache_update_index: Any, images: Any) -> None: ...

    assert [kinds._has_cache(cls) for cls in (Cached, Images, Model)] == [True, False, False]


@pytest.mark.parametrize(
    "name, shape, first, second",
    [
        ("token_ids", (None, None), (1, 16), (3, 24)),
        ("images", (None, None, None, 3), (1, 64, 64, 3), (3, 96, 96, 3)),
        ("images", (None, None, 16, 16, 3), (1, 2, 16, 16, 3), (3, 3, 16, 16, 3)),
        ("vision_indices", (None, None), (1, 8), (3, 12)),
        ("pixel_values", (None, None, None, None), (1, 2, 16, 48), (3, 3, 16, 48)),
        ("pixel_values", (None, 28, 28, 3), (1, 28, 28, 3), (3, 28, 28, 3)),
        ("audio_mel", (None, None, None, 8), (1, 1, 16, 8), (3, 2, 16, 8)),
        ("x", (None, 5), (1, 5), (3, 5)),
        ("x", (2, 5), (2, 5), (2, 5)),
    ],
)
def test_sizes_of_open_dimensions(
    name: str, shape: tuple[int | None, ...], first: tuple[int, ...], second: tuple[int, ...]
) -> None:
    assert (sized(name, shape, 0), sized(name, shape, 1)) == (first, second)


def test_inputs_are_drawn_by_their_names() -> None:
    def drawn(name: str, dtype: str) -> np.ndarray:
        array = draw(name, (40, 16), np.dtype(dtype), np.random.default_rng(0))
        assert array.dtype == dtype and array.shape == (40, 16)
        return array

    ids = drawn("decoder_token_ids", "int32")
    assert ids.min() >= 2 and ids.max() == VOCABULARY - 1
    for dtype in ("int32", "bool"):
        mask = drawn("padding_mask", dtype).astype(int)
        assert mask[0].all() and not mask.all() and (np.diff(mask) <= 0).all() and mask.sum(1).min() >= 8
    assert set(np.unique(drawn("segment_ids", "int32"))) == {0, 1}
    assert drawn("mask_positions", "int32").max() < 16
    assert (np.diff(drawn("vision_indices", "int32")) == 1).all()
    grid = draw("pixel_position_ids", (4, 2), np.dtype("int32"), np.random.default_rng(0))
    assert grid.tolist() == [[0, 0], [0, 1], [1, 0], [1, 1]]
    boxes = drawn("boxes", "float32")
    assert 0 < boxes.min() < boxes.max() < 1
    assert drawn("images", "float32").std() > 0.5
    assert set(np.unique(drawn("labels", "float32"))) == {0, 1, 2, 3}


def test_kinds_are_chosen_by_patterns() -> None:
    there = ["GPT2Backbone", "GPT2CausalLM", "GPT2CausalLM+cache", "ViTBackbone"]
    assert run.chosen(there, "") == there
    assert run.chosen(there, "ViT*,GPT2CausalLM") == ["GPT2CausalLM", "ViTBackbone"]
    with pytest.raises(ValueError, match="no kind is named Bert"):
        run.chosen(there, "ViTBackbone,Bert")


def test_the_tolerance_is_that_of_the_policy() -> None:
    assert [run.tolerance(kind) for kind in ("A", "A+cache", "A/x+float16")] == [1e-4, 1e-4, 1e-2]


@pytest.mark.parametrize(
    "answers, state",
    [
        ({"make": {"not_tried": "no sizes"}}, "not tried"),
        ({"make": WorkerError("x")}, "not built"),
        ({"convert": WorkerError("x")}, "refused"),
        ({"check": WorkerError("x")}, "does not run"),
        ({"check": {"ops": 3, "error": 0.5, "wrong": "a difference"}}, "wrong"),
        ({"latency": WorkerError("no end in 60 s")}, "right"),
        ({}, "right"),
    ],
)
def test_how_a_kind_is_judged(
    answers: dict[str, Any], state: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run, "convert_cold", lambda model, out, limits: Process("", 1.0, 50.0, told("convert") or 1.0))

    def told(action: str) -> Any:
        usual = {"make": {}, "convert": None, "peer": {"seconds": 2.0}, "latency": {"ours": 1.0, "peer": 1.0}}
        usual["check"] = {"ops": 3, "bytes": 100, "error": 1e-7, "seconds": 1.0}
        answer = (usual | answers)[action]
        if isinstance(answer, WorkerError):
            raise answer
        return answer

    outcome = run.measure("A", tmp_path, FakeServer(told))  # type: ignore[arg-type]
    assert outcome["state"] == state


class FakeServer:
    limits = LIMITS

    def __init__(self, told: Callable[[str], Any]) -> None:
        self.told = told
        self.asked: list[str] = []

    def work(self, action: str, *_: Any) -> Any:
        self.asked.append(action)
        return self.told(action)


def test_a_side_that_is_known_is_not_asked_for_again(tmp_path: Path) -> None:
    """What a run left without TFLiteConverter is completed."""
    (tmp_path / "runs.npz").touch()
    answers = {"peer": {"seconds": 2.0}, "latency": {"ours": 1.0, "peer": 3.0}}
    answers["check"] = {"ops": 9, "bytes": 100, "error": 1e-7}
    fake = FakeServer(answers.__getitem__)
    known = {"state": "right", "why": "", "ours": {"state": "right", "ops": 3, "error": 1e-7, "seconds": 1.0}}
    outcome = run.measure("A", tmp_path, fake, known=known)  # type: ignore[arg-type]
    assert fake.asked == ["peer", "check", "latency"]
    assert (outcome["ours"]["ops"], outcome["peer"]["ops"], outcome["peer"]["milliseconds"]) == (3, 9, 3.0)


def _step(action: str, *arguments: str) -> Any:
    match action:
        case "say":
            print("what a library prints")
            return {"said": list(arguments)}
        case "fail":
            raise ValueError("too bad")
        case "die":
            os.kill(os.getpid(), signal.SIGKILL)
        case "hang":
            time.sleep(60)
        case "grow":
            bytearray(2 << 30)
    return {}


@pytest.mark.parametrize(
    "action, told",
    [
        ("say", {"said": ["a", "b"]}),
        ("fail", "ValueError: too bad"),
        ("die", f"exit code -{int(signal.SIGKILL)}"),
        ("hang", "no end in 0.5 s"),
        ("grow", "MemoryError"),
    ],
)
def test_a_step_is_a_process_with_limits(action: str, told: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker, "step", _step)
    limits = Limits(0.5 if action == "hang" else 60, 1 if action == "grow" else 16)
    reply = server.answer(action, ["a", "b"], limits)
    assert (reply["failure"] if "failure" in reply else reply["told"]) == told


def side(state: str, ops: int, why: str = "") -> dict[str, Any]:
    known = {"ops": ops, "milliseconds": 2.0, "error": 2e-7} if state in ("right", "wrong") else {}
    return {"state": state, "why": why, "seconds": 1.0} | known


def outcome(ours: dict[str, Any], peer: dict[str, Any]) -> dict[str, Any]:
    return {"state": ours["state"], "why": ours["why"], "ours": ours, "peer": peer}


def test_the_table_says_what_became_of_each_kind() -> None:
    facts = "Measured on a Sunday."
    text = table.markdown({
        "A": outcome(side("right", 10), side("right", 40)),
        "B": outcome(side("right", 10), side("refused", 0, "needs Flex | ops")),
        "C": outcome(side("wrong", 10, "a difference"), side("right", 10)),
        "D": {"state": "not tried", "why": "no sizes for depth of D"},
        "E": {"state": "right", "why": "", "ours": side("right", 10)},
    }, facts)  # fmt: skip
    told, _, head, _, *rows = text.splitlines()
    assert told == facts
    assert head == (
        "4 models: fuseconv converts 3 right, TFLiteConverter 2 of the 3 that it was given. Ops where both are: 0.25 "
        "of theirs. Latency where both are: 1.00 of theirs. Besides: 1 wrong, 1 not tried."
    )
    assert [cell.strip() for cell in rows[2].strip("|").split("|")] == [
        "A", "10 / 40 (0.25)", "2 / 2 (1.00)", "2e-07", "1.0 / 1.0", "right",
    ]  # fmt: skip
    assert "refused: needs Flex / ops |" in rows[3] and "not run" in rows[4]
    assert "- C: a difference" in rows and "- D: no sizes for depth of D" in rows
    assert not any(row.startswith("| C") for row in rows)


def test_why_tflite_converter_refuses_is_told_without_the_place() -> None:
    error = """Could not translate MLIR to FlatBuffer.<unknown>:0: error: loc(callsite(fused["Pad:", "a/Pad@b"] at
<unknown>:0: error: loc(fused["Pad:", "a/Pad@b"] at "c")): 'tf.Pad' op is neither a custom op nor a flex op
<unknown>:0: note: loc(fused["x"]): called from"""
    assert worker.reason(error.replace("at\n", 'at "c")): first\n')) == "first"
    assert worker.reason(error.partition("\n")[2]) == "'tf.Pad' op is neither a custom op nor a flex op"
    assert worker.reason("no such thing\nas that") == "no such thing"


def test_a_process_ends_with_its_time() -> None:
    with pytest.raises(WorkerError, match=r"no end in 0\.3 s"):
        run_process(["-c", "import time; time.sleep(60)"], Limits(0.3, 16))


def test_a_process_gets_no_more_than_its_memory() -> None:
    assert run_process(["-c", "print(len(bytearray(1 << 20)))"], Limits(60, 4)).output == "1048576\n"
    with pytest.raises(WorkerError, match="MemoryError"):
        run_process(["-c", "bytearray(2 << 30)"], Limits(60, 1))
