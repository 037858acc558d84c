"""Random bits, against JAX on the CPU."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest

from fuseconv.errors import InputError
from fuseconv.ir import types
from fuseconv.ir.budget import Budget, limited
from fuseconv.ir.graph import Graph, Value
from fuseconv.load.stablehlo.importer import ModuleImporter
from fuseconv.load.stablehlo.ops.random import dynamic_bits, rng_bit_generator
from fuseconv.load.stablehlo.scope import RefusedError, Scope
from tests.load.stablehlo.modules import check_case, names, operation


@pytest.mark.parametrize("name", names("random"))
def test_it_draws_what_jax_does(name: str, tmp_path: Path) -> None:
    check_case(name, tmp_path)


@pytest.fixture
def scope() -> Scope:
    return Scope(Graph("main"), Mock(ModuleImporter))


def test_no_more_pairs_are_counted_than_the_bytes_justify(scope: Scope) -> None:
    attributes: dict[str, Any] = {"rng_algorithm": "THREE_FRY"}
    op = operation("rng_bit_generator uint64[2] -> uint64[2] uint32[1000000000]", **attributes)
    with limited(Budget(lambda: 1000)), pytest.raises(InputError, match="max-constant-bytes"):
        rng_bit_generator(scope, op, Value(types.UINT64, (2,)))


@pytest.mark.parametrize(("kind", "algorithm", "why"), [
    ("float32", "PHILOX", "random bits as float32"), ("uint32", "THREE_FRY", "THREE_FRY of an unknown amount"),
])  # fmt: skip
def test_other_bits_are_refused(scope: Scope, kind: str, algorithm: str, why: str) -> None:
    attributes: dict[str, Any] = {"rng_algorithm": algorithm}
    op = operation(f"custom_call uint64[2] int32[1] -> uint64[2] {kind}[?]", **attributes)
    with pytest.raises(RefusedError, match=why):
        dynamic_bits(scope, op, Value(types.UINT64, (2,)), Value(types.INT32, (1,)))
