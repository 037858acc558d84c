"""Why ops cannot be converted, each in a sentence."""

from __future__ import annotations

from fuseconv.fuse.registry import Registry
from fuseconv.lower.engine.unsupported_ops import reasons, unsupported_reason


def test_each_op_has_the_sentence_that_speaks_of_it() -> None:
    told = [(op, why) for why, ops in reasons().items() for op in ops.split()]
    assert len(told) > 50 and len({op for op, _ in told}) == len(told)
    assert all(unsupported_reason(op) == why and not why.endswith(".") for op, why in told)
    assert unsupported_reason("Betainc2") == "no rule lowers this op"


def test_no_op_with_a_rule_is_among_them() -> None:
    assert not {op for ops in reasons().values() for op in ops.split()} & Registry.builtin().rules.keys()
