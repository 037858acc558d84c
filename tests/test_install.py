"""The package as its users get it: installed by pip into an environment of its own."""

from __future__ import annotations

import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A virtual environment with the package installed from a copy of the source, and nothing else of the project.

    What the package depends on is found where this test's own environment has it, so nothing is downloaded.
    """
    root = tmp_path_factory.mktemp("install")
    source = root / "source"
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(ROOT / "fuseconv", source / "fuseconv", ignore=ignored)
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source)
    environment = root / "environment"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", environment], check=True)
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    packages = environment / "lib" / version / "site-packages"
    (packages / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")
    python = environment / "bin" / "python"
    pip = [sys.executable, "-m", "pip", "--python", str(python), "install", "--quiet", "--no-deps"]
    subprocess.run([*pip, "--no-build-isolation", "--force-reinstall", str(source)], check=True)
    return environment


def _run(environment: Path, folder: Path, *args: object) -> str:
    command = [str(environment / "bin" / "fuseconv"), *map(str, args)]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_command_converts_and_inspects(environment: Path, tmp_path: Path) -> None:
    _run(environment, tmp_path, "convert", ROOT / "testdata" / "keras2_lstm", "-o", "out.tflite")
    shown = _run(environment, tmp_path, "inspect", "out.tflite")
    assert "UNIDIRECTIONAL_SEQUENCE_LSTM" in shown


def test_the_package_brings_its_data(environment: Path, tmp_path: Path) -> None:
    # A frozen graph has no list of its ops; the table that stands in for it is a data file of the package.
    _run(environment, tmp_path, "convert", ROOT / "testdata" / "frozen.pb", "-o", "out.tflite")


def test_it_is_the_installed_package_that_runs(environment: Path, tmp_path: Path) -> None:
    code = "import fuseconv; print(fuseconv.__file__)"
    python = environment / "bin" / "python"
    place = subprocess.run([python, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True).stdout
    assert Path(place.strip()).is_relative_to(environment)
