"""Modules of MLIR bytecode."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from fuseconv.errors import InputError
from fuseconv.ir import types
from fuseconv.load.stablehlo.attributes import TensorType
from fuseconv.load.stablehlo.bytecode import read_bytecode
from tests.load.stablehlo.modules import archived, cases


def test_a_module_has_functions_of_ops() -> None:
    module = read_bytecode(cases()["shapes/pad"].data, "it")
    main = module.functions["main"].regions[0]
    assert [var.type for var in main.arguments] == [TensorType(types.FLOAT32, (2, 3))]
    ops = {op.name: op for op in main.ops}
    assert list(ops) == ["constant", "pad", "return"]
    assert ops["constant"].attribute("value") == np.float32(1.5)
    assert ops["pad"].attribute("edge_padding_low").tolist() == [1, 0]
    assert ops["pad"].operands == [main.arguments[0], ops["constant"].results[0]]
    assert ops["pad"].place.endswith("pad")


@pytest.mark.parametrize("name", ["reductions/reduce_from", "shapes/size_dynamic"])
def test_every_cut_is_one_sentence(name: str) -> None:
    data = cases()[name].data
    for end in range(0, len(data), 7):
        with pytest.raises(InputError, match=r"it (is a damaged|cannot be read)"):
            read_bytecode(data[:end], "it")


def test_changed_bytes_end_in_a_module_or_a_sentence() -> None:
    data = bytearray(cases()["reductions/reduce_from"].data)
    rng = np.random.default_rng(4)
    read = 0
    for place in rng.integers(4, len(data), 300):
        changed = bytearray(data)
        changed[place] ^= 1 << int(rng.integers(8))
        try:
            read_bytecode(bytes(changed), "it")
            read += 1
        except InputError:
            pass
    assert 0 < read < 300


def test_other_versions_are_named() -> None:
    data = bytearray(cases()["shapes/pad"].data)
    data[4] = 2 * 9 + 1
    with pytest.raises(InputError, match="version 9 of MLIR's bytecode"):
        read_bytecode(bytes(data), "it")


def test_an_unknown_op_is_named() -> None:
    data = cases()["shapes/pad"].data.replace(b"pad_v1\0", b"pud_v1\0")
    with pytest.raises(InputError, match="the op pud_v1, which is newer than this version"):
        read_bytecode(data, "it")


def test_reading_takes_few_steps_for_each_byte() -> None:
    """Reading is linear: calls of functions are counted, for times are of a machine that does other things too."""
    calls = 0

    def count(frame: object, event: str, argument: object) -> None:
        nonlocal calls
        calls += event in ("call", "c_call")

    modules = [data for name, data in archived("ops.tar.xz").items() if name.endswith(".mlirbc")]
    for data in sorted(modules, key=len)[-20:]:
        calls = 0
        sys.setprofile(count)
        try:
            read_bytecode(data, "it")
        finally:
            sys.setprofile(None)
        assert len(data) / 10 < calls < 4 * len(data)


def test_the_first_version_of_bytecode_is_read() -> None:
    found = {name: data for name, data in archived("versions.tar.xz").items() if name.startswith("0.9.0/")}
    assert {data[4] >> 1 for data in found.values()} == {0}
    assert all("main" in read_bytecode(data, "it").functions for data in found.values())
