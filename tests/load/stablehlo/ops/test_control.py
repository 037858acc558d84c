"""Calls of StableHLO, and calls of what is known by name."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import fuseconv
from fuseconv.ir.graph import FuncRef
from fuseconv.load.stablehlo.importer import ModuleImporter
from fuseconv.load.stablehlo.ops.control import _plain
from tests.load.stablehlo.modules import cases, check_case

_FUSIONS = """
import numpy as np
from fuseconv.fuse.match import Fusion, composite

def rewrite(tfl, m):
    return tfl.mul(m.x, tfl.logistic(tfl.mul(m.x, np.float32(FACTOR or m.attrs["beta"]))))

FUSIONS = [Fusion("user_swish", "LOGISTIC", composite("user.swish", "x -> y", {"beta": float}), rewrite)]
"""


def test_a_composite_that_is_known_is_one_op(tmp_path: Path) -> None:
    ops = check_case("elementwise/erf", tmp_path)
    assert ops["TANH"] == 1


@pytest.mark.parametrize(("factor", "fused"), [("None", True), ("1.0", False)])
def test_a_composite_of_the_user_is_fused_if_its_body_computes_the_same(
    factor: str, fused: bool, tmp_path: Path
) -> None:
    module, fusions = tmp_path / "module.mlirbc", tmp_path / "fusions.py"
    module.write_bytes(cases()["models/composite_swish"].data)
    fusions.write_text(_FUSIONS.replace("FACTOR", factor))
    report = fuseconv.convert(module, plugins=[str(fusions)]).report
    assert ("LOGISTIC" in {op.type for op in report.emitted}) is fused
    assert ("user_swish" in {record.rule for record in report.records if record.kind == "fused"}) is fused


def test_a_composite_that_nobody_fuses_is_its_body(tmp_path: Path) -> None:
    assert check_case("models/composite_rms_norm", tmp_path)["RSQRT"] == 1
    assert sum(check_case("models/composite_swish", tmp_path).values()) <= 5


def test_a_composite_says_its_name_and_attributes() -> None:
    importer = ModuleImporter(cases()["models/composite_rms_norm"].data, "m")
    importer.main()
    said = [graph.attrs.get("_implements") for graph in importer.graphs.values()]
    (known,) = [each for each in said if each is not None]
    assert isinstance(known, FuncRef) and known.name == "odml.rms_norm"
    assert known.attrs == {"epsilon": pytest.approx(1e-6)}


@pytest.mark.parametrize(("value", "expected"), [
    (3, 3), ("a", "a"), (np.array([1, 2]), [1, 2]), ([1, "b"], [1, "b"]), (np.zeros((2, 2)), None), ({"a": 1}, None),
    ([{}], None), (np.array(1, np.float32), 1.0),
])  # fmt: skip
def test_attributes_that_an_annotation_can_have(value: object, expected: object) -> None:
    assert _plain(value) == expected
