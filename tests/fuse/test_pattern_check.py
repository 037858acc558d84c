"""A pattern is its own reference: what a fusion builds for it must compute what the matched ops do."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from fuseconv.api import _small_file
from fuseconv.fuse.match import Fusion
from fuseconv.fuse.numeric_check import NumericCheck
from fuseconv.fuse.pattern import Constant, pattern
from fuseconv.fuse.pattern_check import PatternCheck
from fuseconv.fuse.pattern_rewriter import fuse_patterns
from fuseconv.fuse.registry import Registry
from fuseconv.ir import types
from fuseconv.ir.graph import Quantization
from fuseconv.ir.verifier import check
from fuseconv.report.records import Report
from tests.tf.text_cases import module_of

REGISTRY = Registry.builtin()
HEAD = "main {\n input %x: float32[n,3]\n"
SWISH = HEAD + (
    " %k: float32[n,3] = tf.Mul(%x, float32[] 1.702)\n %s: float32[n,3] = tf.Sigmoid(%k)\n"
    " %y: float32[n,3] = tf.Mul(%x, %s)\n return %y\n}"
)
RELU6 = (
    HEAD + " %r: float32[n,3] = tfl.RELU(%x)\n %y: float32[n,3] = tfl.MINIMUM(%r, float32[] 6.0)\n return %y\n}"
)


def fused(text: str, fusions: Sequence[Fusion], mode: str = "auto") -> tuple[list[str], Report, PatternCheck]:
    """Return the kinds of the ops after the fusions, the report, and the check."""
    module, _ = module_of(text)
    report, numeric = Report(), NumericCheck(mode, lambda small: _small_file(small, REGISTRY))
    patterns = PatternCheck(numeric)
    try:
        fuse_patterns(module, fusions, report, fusions[0].patterns[0].dialect, pattern_check=patterns)
    finally:
        numeric.close()
    check(module)
    return [op.kind for op in module.signatures[0].graph.ops], report, patterns


def fusion(traced: Callable, rewrite: Callable, **more: Any) -> Fusion:
    return Fusion("acme", "", pattern(traced), rewrite, **more)


def swish(tf: Any, x: Any) -> Any:
    return tf.Mul(x, tf.Sigmoid(tf.Mul(x, 1.702)))


def clipped(tfl: Any, x: Any, limit: Constant) -> Any:
    return tfl.MINIMUM(tfl.RELU(x), limit)


def why(report: Report, kind: str = "fused") -> list[str]:
    return [record.why for record in report.records if record.kind == kind]


def test_an_op_that_computes_something_near_is_told() -> None:
    gelu = fusion(swish, lambda tfl, m: tfl.gelu(m.x))
    kinds, report, patterns = fused(SWISH, [gelu])
    assert kinds == ["tf.Mul", "tf.Sigmoid", "tf.Mul"]
    (refused,) = why(report, "refused")
    assert refused.startswith("the pattern computes something else than the fused op: result 0 differs by 0.0")
    assert patterns.warnings() == [f"the fusion acme is wrong and was not made: {refused}"]


def test_what_agrees_is_made_and_says_so() -> None:
    kinds, report, patterns = fused(RELU6, [fusion(clipped, lambda tfl, m: tfl.relu6(m.x))])
    assert kinds == ["tfl.RELU6"] and patterns.warnings() == []
    assert why(report) == ["the pattern agrees to 0.0e+00"]


def test_never_believes_the_module() -> None:
    kinds, report, _ = fused(SWISH, [fusion(swish, lambda tfl, m: tfl.gelu(m.x))], "never")
    assert kinds == ["tfl.GELU"] and why(report) == [""]


def test_a_constant_keeps_its_number() -> None:
    """ReLU6 for any limit is right for a limit of 6 only."""
    relu6 = fusion(clipped, lambda tfl, m: tfl.relu6(m.x))
    assert fused(RELU6.replace("6.0", "5.0"), [relu6])[0] == ["tfl.RELU", "tfl.MINIMUM"]


def test_places_with_other_constants_are_checked_apart() -> None:
    text = RELU6.replace(" return %y", (
        " %q: float32[n,3] = tfl.RELU(%y)\n %z: float32[n,3] = tfl.MINIMUM(%q, float32[] 5.0)\n"
        " %p: float32[n,3] = tfl.RELU(%z)\n %o: float32[n,3] = tfl.MINIMUM(%p, float32[] 6.0)\n return %o"
    ))  # fmt: skip
    kinds, report, _ = fused(text, [fusion(clipped, lambda tfl, m: tfl.relu6(m.x))])
    assert kinds == ["tfl.RELU6", "tfl.RELU", "tfl.MINIMUM", "tfl.RELU6"]
    assert len(why(report)) == 2 and len(why(report, "refused")) == 1


def test_what_is_built_stays_quantized() -> None:
    def coarse(tfl: Any, m: Any) -> Any:
        stored = tfl.quantize(m.x, results=[(types.INT8, m.x.shape)])
        stored.quantization = Quantization((1.0,), (0,))
        return tfl.relu(tfl.dequantize(stored))

    text = HEAD + " %y: float32[n,3] = tfl.RELU(%x)\n return %y\n}"
    kinds, report, _ = fused(text, [fusion(lambda tfl, x: tfl.RELU(x), coarse)])
    assert kinds == ["tfl.RELU"] and "computes something else" in why(report, "refused")[0]


def test_what_is_read_besides_the_pattern_cannot_be_verified() -> None:
    text = HEAD + " %a: float32[n,3] = tfl.ABS(%x)\n %y: float32[n,3] = tfl.RELU(%a)\n return %y\n}"
    past = fusion(lambda tfl, x: tfl.RELU(x), lambda tfl, m: tfl.abs_(m.x.op.operands[0]))
    assert why(fused(text, [past])[1]) == ["it cannot be verified: it reads x, which is no part of its pattern"]


def test_an_inner_value_that_stays_may_be_read() -> None:
    text = HEAD + " %a: float32[n,3] = tfl.ABS(%x)\n %y: float32[n,3] = tfl.RELU(%a)\n return %y, %a\n}"
    shared = fusion(
        lambda tfl, x: tfl.RELU(tfl.ABS(x, name="inner", shared=True)), lambda tfl, m: tfl.mul(m.inner.result, 1.0)
    )
    kinds, report, _ = fused(text, [shared])
    assert kinds == ["tfl.ABS", "tfl.MUL"] and why(report) == ["the pattern agrees to 0.0e+00"]


def test_a_custom_op_cannot_be_verified() -> None:
    custom = fusion(clipped, lambda tfl, m: tfl.custom("Acme", [m.x], [(m.x.dtype, m.x.shape)]))
    (sentence,) = why(fused(RELU6, [custom])[1])
    assert sentence.startswith("it cannot be verified: the runtime cannot load the fused op")


def test_a_fusion_draws_what_its_pattern_needs() -> None:
    """Places are drawn as 0 and 1, so that only what the fusion itself draws tells a sign from a limit."""
    text = (
        "main {\n input %i: int32[4]\n %a: int32[4] = tfl.ABS(%i)\n"
        " %y: float32[4] = tfl.GATHER(float32[3] [1.0, 2.0, 3.0], %a) {'axis': 0, 'batch_dims': 0}\n return %y\n}"
    )

    def looked_up(tfl: Any, table: Constant, i: Any) -> Any:
        return tfl.GATHER(table, tfl.ABS(i), axis=0, batch_dims=0)

    def limited(tfl: Any, m: Any) -> Any:
        return tfl.gather(m.table, tfl.maximum(m.i, 0), axis=0, batch_dims=0)

    assert "tfl.MAXIMUM" in fused(text, [fusion(looked_up, limited)])[0]
    signed = fusion(looked_up, limited, draw=lambda rng, m: {"i": rng.integers(-2, 3, m.i.shape)})
    assert "tfl.MAXIMUM" not in fused(text, [signed])[0]


def test_our_own_fusions_are_left_to_tests_but_always_checks_them(monkeypatch: pytest.MonkeyPatch) -> None:
    def rewrite(tfl: Any, m: Any) -> Any:
        return tfl.gelu(m.x)

    rewrite.__module__ = "fuseconv.fusions.acme"
    assert fused(SWISH, [fusion(swish, rewrite)])[0] == ["tfl.GELU"]
    assert fused(SWISH, [fusion(swish, rewrite)], "always")[0] == ["tf.Mul", "tf.Sigmoid", "tf.Mul"]
