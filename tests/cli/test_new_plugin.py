"""A package that `new-plugin` writes passes its own tests, and is found by its entry point."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from fuseconv.cli import main
from fuseconv.cli.new_plugin import write_plugin
from fuseconv.errors import InputError
from fuseconv.fuse.plugins import load_registry

ROOT = Path(__file__).parents[2]


def test_its_tests_pass_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(main, ["new-plugin", "my_ops"])
    assert (result.exit_code, result.stdout.split()[1]) == (0, "my_ops/my_ops.py")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    environment = {"PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, cwd=tmp_path / "my_ops", env=environment, capture_output=True, text=True)
    assert done.returncode == 0 and "4 passed" in done.stdout, done.stdout + done.stderr


def test_what_it_offers(tmp_path: Path) -> None:
    folder = tmp_path / "deep" / "acme"
    write_plugin("acme", folder)
    registry = load_registry([folder / "acme.py"])
    assert not registry.warnings and "AcmeScale" in registry.rules
    assert ("AcmeScale", f"the shape function for AcmeScale of {folder / 'acme.py'}") in registry.offered_ops
    assert [fusion.name for fusion in registry.fusions][-1] == "acme_clipped_add"
    assert '[project.entry-points."fuseconv.plugins"]\nacme = "acme"' in (folder / "pyproject.toml").read_text()


def test_a_name_with_a_dash(tmp_path: Path) -> None:
    write_plugin("acme-audio", tmp_path / "acme-audio")
    project = (tmp_path / "acme-audio" / "pyproject.toml").read_text()
    assert 'name = "acme-audio"' in project and 'acme_audio = "acme_audio"' in project
    assert "AcmeAudioScale" in load_registry([tmp_path / "acme-audio" / "acme_audio.py"]).rules


@pytest.mark.parametrize("name", ["a b", "-", "class", "Acme", "1a", "../x", "__main__"])
def test_a_name_is_one_that_python_imports(name: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="is no name of a package"):
        write_plugin(name, tmp_path / "x")


@pytest.mark.parametrize("name", ["numpy", "fuseconv", "sys", "json"])
def test_a_name_is_one_that_nobody_has(name: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=f"there is a module {name} already"):
        write_plugin(name, tmp_path / "x")


def test_what_is_there_is_left_alone(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="is there already: take another name"):
        write_plugin("acme", tmp_path)
