"""Files of MLIR bytecode."""

from __future__ import annotations

from pathlib import Path

import pytest

import fuseconv
from fuseconv.errors import InputError
from fuseconv.load import load
from tests.load.stablehlo.modules import cases


def test_inputs_are_named_by_position(tmp_path: Path) -> None:
    path = tmp_path / "add.mlirbc"
    path.write_bytes(cases()["elementwise/add"].data)
    (signature,) = load(path).signatures
    assert (signature.inputs, signature.outputs) == (["args_0", "args_1"], ["output_0"])


def test_a_symbolic_batch_stays_dynamic_or_is_fixed(tmp_path: Path) -> None:
    path = tmp_path / "module.mlir"
    path.write_bytes(cases()["reductions/mean_dynamic"].data)
    (signature,) = load(path).signatures
    assert not isinstance(signature.graph.inputs[0].shape[0], int)  # type: ignore[index]
    assert fuseconv.convert(path, batch_size=2).data


@pytest.mark.parametrize(("data", "why"), [(b"module {}", "is no MLIR bytecode"), (b"ML\xefR", "damaged")])
def test_other_files_end_in_one_sentence(data: bytes, why: str, tmp_path: Path) -> None:
    path = tmp_path / "module.mlirbc"
    path.write_bytes(data)
    with pytest.raises(InputError, match=why):
        load(path)


def test_a_module_has_one_signature(tmp_path: Path) -> None:
    path = tmp_path / "module.mlirbc"
    path.write_bytes(cases()["elementwise/add"].data)
    with pytest.raises(InputError, match="--signature other means nothing here"):
        load(path, signatures=["other"])
