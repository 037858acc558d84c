"""StableHLO modules as graphs of `tf` ops."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import fuseconv
from fuseconv.errors import FuseconvError, InputError, UnsupportedError
from fuseconv.load.stablehlo.importer import ModuleImporter
from tests.load.stablehlo.modules import cases


def test_ops_have_the_names_of_the_program() -> None:
    graph = ModuleImporter(cases()["elementwise/remainder"].data, "it").main()
    (op,) = graph.ops
    assert op.kind == "tf.TruncateMod" and op.sources == (op.name,) and op.name.endswith("rem/remainder")


def test_functions_are_called_and_known_by_their_module() -> None:
    importer = ModuleImporter(cases()["models/mlp"].data, "it", taken=["it/main"])
    graph = importer.main()
    assert graph.name == "it/main_1"
    assert set(importer.graphs) > {graph.name}
    (call,) = [op for op in graph.ops if op.kind == "tf.PartitionedCall"]
    assert call.attrs["f"].name in importer.graphs and call.name.endswith("/jit(silu)")


def test_a_module_without_main_is_damaged() -> None:
    data = cases()["shapes/pad"].data.replace(b"main\0", b"nain\0")
    with pytest.raises(InputError, match="it is a damaged StableHLO module: there is no function main"):
        ModuleImporter(data, "it").main()


def test_an_argument_of_a_type_that_tflite_lacks_is_told() -> None:
    importer = ModuleImporter(cases()["elementwise/tanh"].data, "it")
    main = importer.module.functions["main"]
    for held, name, value in (
        (main.regions[0].arguments[0], "type", "f8E5M2"), (main.attribute("function_type"), "inputs", ["f8E5M2"]),
    ):  # fmt: skip
        object.__setattr__(held, name, value)
    with pytest.raises(UnsupportedError, match="an argument of its function cannot be taken: it is of the type f8E5M2"):
        importer.main()


@pytest.mark.parametrize("name", [
    "convolution/conv_transposed", "indexing/add_elements", "linear_algebra/solve_left", "loops/scan",
    "sorting/argmax", "sorting/sort_two_keys", "windows/max_pool_same",
])  # fmt: skip
def test_changed_bytes_end_in_graphs_or_a_sentence(name: str) -> None:
    data = cases()[name].data
    rng = np.random.default_rng(11)
    ends = {True: 0, False: 0}
    for place in rng.integers(4, len(data), 150):
        changed = bytearray(data)
        changed[place] ^= 1 << int(rng.integers(8))
        try:
            ModuleImporter(bytes(changed), "it").main()
            ends[True] += 1
        except FuseconvError:
            ends[False] += 1
    assert all(ends.values())


def _names(name: str) -> set[str]:
    importer = ModuleImporter(cases()[name].data, "m")
    main = importer.main()
    return {op.name for graph in (main, *importer.graphs.values()) for op in graph.ops}


def test_a_call_without_a_name_is_what_it_calls() -> None:
    importer = ModuleImporter(cases()["models/lstm_dynamic"].data, "m")
    main = importer.main()
    assert not any("_wrapped_jax_export_main" in name for name in importer.graphs)
    assert {"StatelessWhile", "MatMul"} & {op.type for op in main.ops}


def test_names_of_a_loop_stand_below_that_of_the_loop() -> None:
    names = _names("models/lstm_dynamic")
    assert any(name.startswith("body/closed_call") for name in names)
    assert not any("while/" in name for name in names)


def test_names_do_not_repeat_what_is_around_them(tmp_path: Path) -> None:
    path = tmp_path / "m.mlirbc"
    path.write_bytes(cases()["models/gru_dynamic"].data)
    emitted = [name for op in fuseconv.convert(path).report.emitted for name in op.sources]
    inside = [name for name in emitted if "/while/body/" in name]
    assert inside and all(name.startswith("jit(<lambda>)/") and name.count("jit(<lambda>)") == 1 for name in inside)
