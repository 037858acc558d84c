"""Some of the cells of models and modes; `python -m tests.quantize.cells` runs all."""

from __future__ import annotations

import pytest

from fuseconv.quantize import QUANTIZATIONS
from tests.quantize.cells import TOLERANCES, Cells

_CHOSEN = {
    "mobile": [("dynamic", "fused"), ("int16x8", "fused"), ("int8", "fused")],
    "stacked": [("float16", "fused"), ("dynamic", "fused"), ("int8", "fused")],
    "gru": [("int4", "fused"), ("int16x8", "fused")],
    "embedding_lstm": [("int4", "fused"), ("int8", "fused")],
}


@pytest.mark.parametrize("name", _CHOSEN)
def test_cells(name: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    cells = Cells(name, tmp_path_factory.mktemp("cells"))
    assert not [(mode, rnn, why) for mode, rnn in _CHOSEN[name] if (why := cells.check(mode, rnn))]


def test_a_wrong_cell_is_told(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    cells = Cells("conv1d", tmp_path_factory.mktemp("cells"))
    monkeypatch.setitem(TOLERANCES, "int8", 1e-9)
    assert "first run of 2 rows with delegates: error" in cells.check("int8")
    assert TOLERANCES.keys() == set(QUANTIZATIONS)
