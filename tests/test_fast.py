"""The fast tests are told by what their files import."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fast import ROOT, is_fast


@pytest.mark.parametrize(
    ("text", "fast"),
    [
        ("import numpy\nfrom tests.check_pass import check_pass", True),
        ("import tensorflow as tf", False),
        ("def test_it():\n    from tensorflow.python import x", False),
        ("from tests.annotated import annotated", False),
        ("from tests.tf import harness", False),
        ("import subprocess", False),
    ],
)
def test_what_a_file_imports_tells(text: str, fast: bool, tmp_path: Path) -> None:
    path = tmp_path / "test_x.py"
    path.write_text(text)
    assert is_fast(path) is fast


def test_this_file_is_fast(request: pytest.FixtureRequest) -> None:
    assert is_fast(Path(__file__)) and request.node.get_closest_marker("fast")
    assert not is_fast(ROOT / "tests/tf/folders/test_folders.py")


def test_a_fast_test_that_imports_tensorflow_by_the_converter_fails() -> None:
    with pytest.raises(AssertionError, match="a fast test imports tensorflow"):
        exec("import tensorflow")
