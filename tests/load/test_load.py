"""Which loader a path goes to."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from fuseconv.errors import InputError
from fuseconv.load import load


def test_missing_path(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"nowhere does not exist"):
        load(tmp_path / "nowhere")


def test_directory_that_is_no_model(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"no SavedModel"):
        load(tmp_path)


def test_takes_paths_as_text(tf2: Path) -> None:
    assert load(str(tf2)).signatures


def test_saved_models_load_without_tensorflow(tf2: Path, tf1: Path) -> None:
    code = (
        "import sys; from fuseconv.load import load\n"
        f"for path in {[str(tf2), str(tf1)]}: load(path)\n"
        "assert not {'tensorflow', 'keras'} & sys.modules.keys()"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
