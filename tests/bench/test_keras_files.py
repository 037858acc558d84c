"""The table of Keras files: ratios to the SavedModel and to TFLiteConverter, and their means."""

from __future__ import annotations

from tests.bench import keras_files


def test_the_table_tells_ratios_and_their_geometric_means() -> None:
    results = {
        "A.h5": {"ours": (0.5, 80.0), "saved_model": (0.4, 80.0), "peer": (5.0, 800.0)},
        "B.keras": {"ours": (0.4, 160.0), "saved_model": (0.5, 80.0), "peer": (1.6, 640.0)},
    }
    lines = [[cell.strip() for cell in line.split("|")[1:-1]] for line in keras_files.markdown(results).splitlines()]
    assert lines[2] == ["A.h5", "0.50", "0.40 (1.25)", "5.00 (10.0x)", "80", "80 (1.00)", "800 (10.0x)"]
    assert lines[3] == ["B.keras", "0.40", "0.50 (0.80)", "1.60 (4.0x)", "160", "80 (2.00)", "640 (4.0x)"]
    assert lines[4] == ["geometric mean", "", "1.00", "6.3x", "", "1.41", "6.3x"]
