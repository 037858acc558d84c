"""What an unexpected exception tells."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import fuseconv
from fuseconv import api
from fuseconv.errors import DefectError, InputError
from fuseconv.ir.graph import Graph, Module, Op
from fuseconv.pass_manager import insert, module_pass
from fuseconv.pipeline import CONVERT
from fuseconv.report.defects import defect
from tests.frozen import FLOAT, Frozen


def raised(*variables: object) -> DefectError:
    try:
        for _ in variables:
            raise KeyError("lost")
    except KeyError as error:
        return defect(error)
    raise AssertionError


def test_names_the_node_as_the_model_does() -> None:
    op = Op("tf.Relu", name="r", sources=("model/relu",))
    assert "at the node 'model/relu' (Relu), KeyError" in str(raised(op))
    assert "at the node 'r' (Relu), KeyError" in str(raised(Op("tf.Relu", name="r")))


def test_names_the_graph_where_no_node_is_known() -> None:
    assert "in 'main', KeyError" in str(raised(Graph("main")))
    assert "--debug: KeyError" in str(raised(1))


def test_a_pass_that_fails(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def fails(module: Module, report: object) -> None:
        for op in module.signatures[0].graph.ops:
            raise TypeError(f"not {op.type}")

    fails.__module__ = "fuseconv.transforms.tfl.fails"  # what a plug-in's raises is no defect of ours
    failing = module_pass("fails", after="canonicalize-tfl")(fails)
    monkeypatch.setattr(api, "CONVERT", insert(CONVERT, failing))
    graph = Frozen(1)
    graph.node("y", "Neg", "x", T={"type": FLOAT})
    with pytest.raises(DefectError, match=r"defect of fuseconv.*at the node 'y' \(NEG\), TypeError: not NEG") as caught:
        fuseconv.convert(graph.write(tmp_path))
    assert caught.value.exit_code == 1


def test_a_node_that_contradicts_itself_is_told_instead(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def fails(*args: object, **kwargs: object) -> None:
        raise TypeError("something in its wake")

    monkeypatch.setattr(api, "report_misfits", fails)
    graph = Frozen(2, 3)
    graph.node("y", "Transpose", "x", graph.constant("perm", np.array([0, 0], np.int32)), T={"type": FLOAT})
    with pytest.raises(InputError, match=r"the node 'y' \(Transpose\) cannot run: .*damaged"):
        fuseconv.convert(graph.write(tmp_path))


def test_a_number_beyond_32_bits(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def overflows(*args: object, **kwargs: object) -> None:
        raise OverflowError("Python integer 1099511627776 out of bounds for int32")

    monkeypatch.setattr(api, "report_misfits", overflows)
    graph = Frozen(1)
    graph.node("y", "Neg", "x", T={"type": FLOAT})
    with pytest.raises(InputError, match=r"that TFLite's 32 bits do not hold: .*1099511627776"):
        fuseconv.convert(graph.write(tmp_path))


def test_what_nests_too_deeply(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    # Python 3.13.0 does not count the calls of a function of *args that calls itself.
    def nests(*args: object, **kwargs: object) -> None:
        raise RecursionError("maximum recursion depth exceeded")

    monkeypatch.setattr(api, "report_misfits", nests)
    graph = Frozen(1)
    graph.node("y", "Neg", "x", T={"type": FLOAT})
    with pytest.raises(InputError, match="nests functions, loops or attributes too deeply"):
        fuseconv.convert(graph.write(tmp_path))
