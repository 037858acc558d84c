"""StableHLO modules as graphs of `tf` ops."""

from __future__ import annotations

import pytest

from fuseconv.errors import InputError
from fuseconv.load.stablehlo.importer import ModuleImporter
from tests.load.stablehlo.modules import cases


def test_ops_have_the_names_of_the_program() -> None:
    graph = ModuleImporter(cases()["elementwise/remainder"].data, "it").main()
    (op,) = graph.ops
    assert op.kind == "tf.TruncateMod" and op.sources == (op.name,) and op.name.endswith("rem/remainder")


def test_functions_are_called_and_known_by_their_module() -> None:
    importer = ModuleImporter(cases()["shapes/size_dynamic"].data, "it", taken=["it/main"])
    graph = importer.main()
    assert graph.name == "it/main_1"
    assert set(importer.graphs) > {graph.name}
    (call,) = [op for op in graph.ops if op.kind == "tf.PartitionedCall"]
    assert call.attrs["f"].name in importer.graphs


def test_a_module_without_main_is_damaged() -> None:
    data = cases()["shapes/pad"].data.replace(b"main\0", b"nain\0")
    with pytest.raises(InputError, match="it is a damaged StableHLO module: there is no function main"):
        ModuleImporter(data, "it").main()
