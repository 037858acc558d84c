"""Claims that a fusion computes what its reference does: what is found, and the time that they take."""

from __future__ import annotations

import pytest

from fuseconv.api import _small_file
from fuseconv.fuse import numeric_check
from fuseconv.fuse.match import Refused
from fuseconv.fuse.numeric_check import Claim, NumericCheck, Pair, functions_of, require_drawable, rows
from fuseconv.fuse.output_difference import Unverifiable
from fuseconv.fuse.registry import Registry
from fuseconv.ir import types
from fuseconv.ir.graph import Module, Value
from tests.tf.text_cases import module_of

REGISTRY = Registry.builtin()


def model(op: str, size: int = 3) -> Module:
    text = f"main {{\n input %x: float32[{size}]\n %y: float32[{size}] = tfl.{op}(%x)\n return %y\n}}"
    module, _ = module_of(text)
    (signature,) = module.signatures
    signature.inputs, signature.outputs = ["x0"], ["y0"]
    return module


def claim(fused: str, reference: str, asked: list[str], size: int = 3) -> Claim:
    """A claim that one op computes what another does. asked: gets the fused op whenever it is judged."""

    def pair() -> Pair:
        asked.append(fused)
        return Pair(model(fused, size), model(reference, size))

    return Claim((fused, reference), f"{fused} of {reference}", "the pattern", [pair], set(), 1, 1)


def checks(mode: str) -> NumericCheck:
    return NumericCheck(mode, lambda module: _small_file(module, REGISTRY))


def test_equal_claims_are_examined_once() -> None:
    asked: list[str] = []
    numeric = checks("auto")
    for _ in range(2):
        assert numeric(claim("ABS", "ABS", asked)) == "the pattern agrees to 0.0e+00"
        with pytest.raises(Refused, match="the pattern computes something else than the fused op: result 0 differs"):
            numeric(claim("ABS", "NEG", asked))
    assert asked == ["ABS", "ABS"] and numeric.warning() == ""


def test_what_there_is_no_time_for_is_warned_of(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(numeric_check, "BUDGET_SECONDS", 0.0)
    numeric = checks("auto")
    assert numeric(claim("ABS", "NEG", [])).startswith("it was not checked against the pattern")
    assert "1 fusions were not checked against what they replace (ABS of NEG)" in numeric.warning()
    with pytest.raises(Refused):
        checks("always")(claim("ABS", "NEG", []))


def test_what_is_too_large_to_be_drawn_cannot_be_verified() -> None:
    assert checks("auto")(claim("ABS", "NEG", [], 1 << 26)) == (
        "it cannot be verified: its operands are too large to be drawn at random"
    )


def test_the_time_of_the_sandbox_counts() -> None:
    numeric = NumericCheck("auto", lambda module: b"")
    before = numeric._clock()
    numeric.sandbox.seconds += 5
    assert numeric._clock() >= before + 5


def test_rows_of_what_weights_multiply() -> None:
    (graph,) = module_of("main {\n input %x: float32[n,4,5]\n input %y: float32[7]\n return %x\n}")[0].graphs()
    assert rows([*graph.inputs, None]) == 12 and rows([]) == 1


def test_functions_are_copied_to_any_depth() -> None:
    module, _ = module_of(
        "main {\n input %x: float32[3]\n %y: float32[3] = tf.PartitionedCall(%x) {'f': @outer}\n return %y\n}",
        "outer {\n input %x: float32[3]\n %y: float32[3] = tf.PartitionedCall(%x) {'f': @inner}\n return %y\n}",
        "inner {\n input %x: float32[3]\n %y: float32[3] = tf.Abs(%x)\n return %y\n}",
    )
    copies = functions_of(module.signatures[0].graph.ops, module)
    assert list(copies) == ["outer", "inner"] and copies["inner"] is not module.functions["inner"]


def test_what_cannot_be_drawn() -> None:
    require_drawable(Value(types.FLOAT32, (), "x"))
    with pytest.raises(Unverifiable, match="the rank of x is not known"):
        require_drawable(Value(types.FLOAT32, None, "x"))
