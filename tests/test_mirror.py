"""Tests stand at the paths of what they test: those of fuseconv/x/y.py in tests/x/test_y.py, or test_y_<aspect>.py."""

from __future__ import annotations

from pathlib import Path

import pytest

from fuseconv.pass_manager import passes_of
from fuseconv.pipeline import CONVERT
from tests.fast import ROOT, is_fast

SOURCES = sorted(
    path.relative_to(ROOT / "fuseconv") for path in (ROOT / "fuseconv").rglob("*.py") if path.name != "__init__.py"
)
PASSES = {item.name: item for item in passes_of(CONVERT)}
# Passes that stand in the file of a close relative.
_RELATIVES = {
    "inline-all": "inline", "inline-composites": "inline", "hoist-out-of-unrolled-loops": "hoist-loop-invariants",
}  # fmt: skip
# Folders of tests of many files together, or of what tests and measures.
_OTHERS = ("bench", "fuzz", "jax_models", "keras_hub")


def _file(name: str) -> Path:
    """Return the file of a pass, from the folder of the package."""
    return Path(*PASSES[name].function.__module__.split(".")[1:]).with_suffix(".py")


def mirror(source: Path) -> Path:
    """Return the test file of a source file, from the folder of either."""
    return source.with_name(f"test_{source.name}")


@pytest.mark.parametrize("source", SOURCES, ids=str)
def test_a_source_file_has_tests_at_its_path(source: Path) -> None:
    # Rules are tested where tests/lower/rows.txt says; that each has a row there is a test of its own.
    path = ROOT / "tests" / mirror(source)
    aspects = path.parent.glob(f"{path.stem}_*.py")
    assert source.parts[:2] == ("lower", "ops") or path.is_file() or any(aspects), f"write {path.relative_to(ROOT)}"


def test_tests_stand_at_the_paths_of_source_files() -> None:
    """test_<name>.py, or test_<name>_<aspect>.py, for <name>.py; what tests a whole folder, for the folder."""
    stems: dict[Path, set[str]] = {}
    for source in SOURCES:
        stems.setdefault(source.parent, {source.parent.name}).add(source.stem)
    for path in sorted((ROOT / "tests").rglob("test_*.py")):
        folder = path.relative_to(ROOT / "tests").parent
        if folder != Path() and folder.parts[0] not in _OTHERS:
            name = path.stem.removeprefix("test_")
            assert any(name == stem or name.startswith(f"{stem}_") for stem in stems.get(folder, ())), path


@pytest.mark.parametrize("name", [name for name in PASSES if _file(name).parts[0] == "transforms"])
def test_a_pass_stands_in_a_file_of_its_name(name: str) -> None:
    assert _file(name).stem == _RELATIVES.get(name, name).replace("-", "_")


@pytest.mark.parametrize("name", PASSES)
def test_a_pass_is_shown_in_ir_text(name: str) -> None:
    path = ROOT / "tests" / mirror(_file(name))
    assert is_fast(path), f"{path} needs TensorFlow: set that apart in {path.stem}_parity.py"
    assert f'check_pass("{name}", ' in path.read_text(), f"show {name} in {path} by check_pass"
