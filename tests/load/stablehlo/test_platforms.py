"""Modules that are exported for several platforms."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import fuseconv
from fuseconv.errors import InputError
from fuseconv.load.stablehlo.bytecode import Module, Operation, Region, Var, read_bytecode
from fuseconv.load.stablehlo.cursor import DamagedError
from fuseconv.load.stablehlo.platforms import index_of_cpu, taken_branches, takes_index
from fuseconv.runners import TFLiteFile
from tests.load.stablehlo.modules import cases, check_case, operation, tensor, walk


def _module(name: str) -> Module:
    return read_bytecode(cases()[f"platforms/{name}"].data, name)


@pytest.mark.parametrize("name", ["forms", "lapack", "same"])
def test_a_file_computes_what_jax_does_on_the_cpu(name: str, tmp_path: Path) -> None:
    assert "IF" not in check_case(f"platforms/{name}", tmp_path)


def test_a_file_whose_forms_compute_the_same_has_one_of_them() -> None:
    module = _module("forms")
    assert takes_index(module, "m")
    for index in range(3):
        taken = taken_branches(module, index)
        inside = [op.name for region in taken.values() for op in region.ops]
        assert inside.count("dot_general") == inside.count("reduce_window") == 1


def test_functions_of_the_cpu_tell_which_it_is() -> None:
    assert index_of_cpu(_module("lapack"), "m") == 1


@pytest.mark.parametrize(("name", "platforms", "why"), [
    ("dependent", (), r"does not say which of them is the CPU; export it for one: platforms=\['cpu'\]"),
    ("dependent", ("cuda", "tpu"), "exported for cuda, tpu; export it for the CPU: platforms"),
])  # fmt: skip
def test_what_the_cpu_computes_is_not_guessed(name: str, platforms: tuple[str, ...], why: str) -> None:
    with pytest.raises(InputError, match=why):
        index_of_cpu(_module(name), name, platforms)


@pytest.mark.parametrize(("platforms", "index"), [(("cpu", "cuda"), 0), (["CUDA", "CPU"], 1)])
def test_names_tell(platforms: list[str], index: int) -> None:
    assert index_of_cpu(_module("dependent"), "m", platforms) == index


@pytest.mark.parametrize(("platforms", "function"), [(("cpu", "cuda"), np.sin), (("cuda", "cpu"), np.cos)])
def test_an_exported_function_runs_the_branch_of_the_cpu(platforms: tuple[str, ...], function: np.ufunc) -> None:
    exported = SimpleNamespace(mlir_module_serialized=cases()["platforms/dependent"].data, platforms=platforms)
    conversion = fuseconv.convert(exported)
    x = np.array([0.5, -2.0, 3.0], np.float32)
    (made,) = TFLiteFile(conversion.data or b"").run("serving_default", {"args_0": x}).values()
    np.testing.assert_allclose(made, function(x), rtol=1e-6)
    assert len(conversion.report.emitted) == 1


def _op(text: str, *operands: Var, **attributes: Any) -> Operation:
    op = operation(f"{text} int32[] -> int32[]", **attributes)
    op.operands, op.results[0].op = [*operands], op
    return op


def _constant(number: int) -> Var:
    return _op("constant", value=np.array(number, np.int32)).results[0]


def _branch(made: Var, *ops: Operation) -> Region:
    end = operation("return int32[] ->")
    end.operands = [made]
    return Region([], [*ops, end])


def _case(index: Var, *made: Var) -> Operation:
    op = _op("case", index)
    op.regions = [_branch(var) for var in made]
    return op


def _program(*ops: Operation, returned: Var, index: Var, functions: dict | None = None) -> Module:
    main = SimpleNamespace(regions=[Region([index], _branch(returned, *ops).ops)])
    return SimpleNamespace(functions={"main": main, **(functions or {})})  # type: ignore[return-value]


@pytest.mark.parametrize(("index", "expected"), [(0, 7), (1, 8), (2, 8)])
def test_an_index_of_no_branch_takes_the_last_and_bounds_hand_on_what_is_within(index: int, expected: int) -> None:
    platform, (zero, one) = Var(tensor("int32[]")), map(_constant, (0, 1))
    first = _case(platform, zero, one)
    clamped = _op("clamp", zero, first.results[0], one)
    wide = _op("convert", clamped.results[0])
    second = _case(wide.results[0], _constant(7), _constant(8))
    module = _program(first, clamped, wide, second, returned=second.results[0], index=platform)
    (made,) = taken_branches(module, index)[second].returned
    assert made.op is not None and made.op.attribute("value") == expected


def test_a_function_that_is_called_for_several_numbers_is_left_to_folding() -> None:
    platform, argument = (Var(tensor("int32[]")) for _ in range(2))
    inner = _case(argument, *map(_constant, (3, 4)))
    callee = SimpleNamespace(regions=[Region([argument], _branch(inner.results[0], inner).ops)])
    turned = _case(platform, *map(_constant, (1, 0)))
    calls = [_op("call", index, callee="f") for index in (platform, turned.results[0])]
    one = {"index": platform, "functions": {"f": callee}, "returned": calls[0].results[0]}
    assert len(taken_branches(_program(calls[0], **one), 0)) == 1  # type: ignore[arg-type]
    assert taken_branches(_program(turned, *calls, **one), 0) == {}  # type: ignore[arg-type]


def test_all_cases_of_a_module_that_the_platform_decides_are_taken() -> None:
    module = _module("dependent")
    cases_of_it = [op for function in module.functions.values() for op in walk(function) if op.name == "case"]
    assert cases_of_it and taken_branches(module, 0).keys() == {*cases_of_it}


def test_what_is_ill_formed_is_damage() -> None:
    platform = Var(tensor("int32[]"))
    call = _op("custom_call", platform, call_target_name="f", called_computations=3)
    with pytest.raises(DamagedError, match="no list of functions"):
        taken_branches(_program(call, returned=platform, index=platform), 0)
    with pytest.raises(DamagedError, match="what it does on a platform is ill-formed"):
        taken_branches(_program(_op("convert"), returned=platform, index=platform), 0)
