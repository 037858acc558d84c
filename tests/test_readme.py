"""What the README shows is true: its chapter on converter modules runs, and its table of fusions is the registry's."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from fuseconv.cli import main
from fuseconv.fuse.registry import Registry
from fuseconv.report.listing import fusion_table

README = Path(__file__).parents[1] / "README.md"
BLOCK = re.compile(r"```python\n# (\S+\.py)\n(.*?)```", re.DOTALL)
FILES = {
    "acme_model.py", "acme_fusions.py", "test_acme_fusions.py", "custom_op.py", "fraction.py", "acme_rules.py"
}  # fmt: skip
FRACTION = """
import tensorflow as tf
from fuseconv.testing import check
check(lambda x: x - tf.floor(x), tf.TensorSpec([None, 3]), ops=["FLOOR_MOD"], plugins=["fraction.py"])
"""
RULES = """
from fuseconv.fuse.plugins import load_registry
from fuseconv.report.listing import rule_rows
(row,) = [row for row in rule_rows(load_registry(["acme_rules.py"])) if row["op"] == "AcmeScale"]
assert row["emits"] == ["MUL"] and row["origin"] == "acme_rules.py"
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The README's files, each under the name that its first line gives."""
    folder = tmp_path_factory.mktemp("readme")
    blocks = dict(BLOCK.findall(README.read_text()))
    assert blocks.keys() == FILES
    for name, text in blocks.items():
        (folder / name).write_text(text)
    return folder


@pytest.mark.parametrize("script", ["test_acme_fusions.py", "custom_op.py", FRACTION, RULES])
def test_the_chapter_on_converter_modules(folder: Path, script: str) -> None:
    arguments = [script] if script.endswith(".py") else ["-c", script]
    environment = {**os.environ, "CUDA_VISIBLE_DEVICES": "", "TF_CPP_MIN_LOG_LEVEL": "3"}
    ran = subprocess.run(
        [sys.executable, *arguments], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stderr


def test_every_option_of_convert_is_told() -> None:
    options = {option for parameter in main.commands["convert"].params for option in parameter.opts}
    told = set(re.findall(r"--[a-z0-9-]+", README.read_text()))
    assert {option for option in options if option.startswith("--")} - told <= {"--output", "--quiet", "--verbose"}


def test_the_table_of_fusions_is_the_registrys() -> None:
    """`python -m tests.test_readme` writes it."""
    assert _with_table(README.read_text()) == README.read_text()


def _with_table(text: str) -> str:
    begin, end = "<!-- fusions:begin -->\n", "<!-- fusions:end -->"
    before, _, rest = text.partition(begin)
    _, _, after = rest.partition(end)
    return f"{before}{begin}{fusion_table(Registry.builtin())}\n{end}{after}"


if __name__ == "__main__":
    README.write_text(_with_table(README.read_text()))
