"""What the Markdown files show is true: code runs, output is what is printed, links lead somewhere, tables are up to
date. `python -m tests.test_readme` writes the tables."""

from __future__ import annotations

import dataclasses
import inspect
import os
import re
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from fuseconv import api
from fuseconv.cli import main
from fuseconv.fuse.numeric_check import NumericCheck
from fuseconv.fuse.registry import Registry
from fuseconv.load import keras as keras_data
from fuseconv.options import Options
from fuseconv.report.listing import fusion_rows
from tests import museum
from tests.bench import table
from tests.check_pass import check_pass
from tests.load.keras.walk import outcomes

ROOT = Path(__file__).parents[1]
README, FUSE, FIGURES, MUSEUM = ROOT / "README.md", ROOT / "fuseconv" / "fuse" / "README.md", table.PAGE, museum.PAGE
TARGETS = ROOT / "fuseconv" / "targets" / "README.md"
LAYERS = ROOT / "fuseconv" / "load" / "keras" / "README.md"
REPORT = ROOT / "fuseconv" / "report" / "README.md"
GUIDE = ROOT / ".github" / "CONTRIBUTING.md"
PASSES = ROOT / "fuseconv" / "transforms" / "README.md"
FOLDERS = (".github", "fuseconv", "testdata", "tests")
PAGES = sorted([README, *(page for name in FOLDERS for page in (ROOT / name).rglob("*.md"))])
BLOCK = re.compile(r"```python\n(?:# (\S+\.py)\n)?(.*?)```", re.DOTALL)
FENCE = re.compile(r"^```.*?^```", re.DOTALL | re.MULTILINE)
LINK = re.compile(r"\]\(([^)\s#]*)(?:#([^)\s]+))?\)")
# A path in code, as `fuseconv/pipeline.py` or `transforms/tfl/`.
PATH = re.compile(r"`((?:fuseconv|tests|testdata|transforms|load|fuse|fusions|lower|tf|tfl|ir|write)/[\w/.]*)`")
# A file in code that is no link, as `op_defs.py` or `tests/tf/cases*.py`.
FILE = re.compile(r"`([\w/*]+\.(?:py|txt|json|md))`")
# Not meant to be there: a place-holder.
NO_FILES = {"utils.py", "FILE.py"}
# Folders of which the README names each file, so that no part of them is known to insiders only.
WHOLE = ("load", "fuse", "transforms/rnn", "transforms/tf", "transforms/tfl", "lower", "ir", "tf", "tfl")
# The blocks of each page in order, with the code that tries them; without any the block is a script, which is run.
SCRIPTS = {
    README: {
        "first_conversion.py": "",
        "acme_fusions.py": """
from fuseconv.testing import check, implements
import tensorflow as tf
add = tf.function(lambda x, y: tf.clip_by_value(x + y, 0., 6.), experimental_implements="acme.ClippedAdd")
x = tf.TensorSpec([None, 3])
assert check(add, x, x, ops=["ADD"], plugins=["acme_fusions.py"]).fused == ["acme_clipped_add"]
""",
    },
    TARGETS: {
        "acme_target.py": """
from fuseconv.fuse.plugins import load_registry
target = load_registry(["acme_target.py"]).target("acme")
assert target.knows("PAD") and not target.knows("CONV_2D")
""",
    },
    FUSE: {
        "acme_model.py": "",
        "acme_fusions.py": "",
        "test_acme_fusions.py": "",
        "custom_op.py": "",
        "acme_snake.py": "",
        "test_acme_snake.py": "",
        "fraction.py": """
from fuseconv.testing import check
import tensorflow as tf
check(lambda x: x - tf.floor(x), tf.TensorSpec([None, 3]), ops=["FLOOR_MOD"], plugins=["fraction.py"])
""",
        "acme_rules.py": """
from fuseconv.fuse.plugins import load_registry
from fuseconv.report.listing import rule_rows
(row,) = [row for row in rule_rows(load_registry(["acme_rules.py"])) if row["op"] == "AcmeScale"]
assert row["emits"] == ["MUL"] and row["origin"] == "acme_rules.py"
""",
        "acme_pass.py": """
from fuseconv.testing import check
import tensorflow as tf
spec = tf.TensorSpec([None, 3])
converted = check(lambda x: tf.raw_ops.Rint(x=x), spec, ops=["ROUND"], plugins=["acme_pass.py"])
assert [run.changes > 0 for run in converted.report.passes if run.name == "acme-round"] == [True]
""",
    },
    REPORT: {
        "fused.py": """
from click.testing import CliRunner
from fuseconv.cli import main
convert = ["convert", "testdata/frozen.pb", "-o", "out.tflite", "--report", "report.json"]
assert CliRunner().invoke(main, convert).exit_code == 0
exec(open("fused.py").read(), {})
""",
    },
}
# Blocks that others of their page import.
IMPORTED = {(FUSE, "acme_model.py"), (FUSE, "acme_fusions.py"), (FUSE, "acme_snake.py")}
RUNS = [(page, name) for page, scripts in SCRIPTS.items() for name in scripts if (page, name) not in IMPORTED]


def _name(page: Path) -> str:
    return str(page.relative_to(ROOT))


def test_every_block_is_run() -> None:
    for page in PAGES:
        assert [name for name, _ in BLOCK.findall(page.read_text())] == [*SCRIPTS.get(page, ())], _name(page)


@pytest.mark.parametrize(("page", "name"), RUNS, ids=lambda x: x if isinstance(x, str) else _name(x))
def test_blocks_run(page: Path, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for block, text in BLOCK.findall(page.read_text()):
        (tmp_path / block).write_text(text)
    (tmp_path / "testdata").symlink_to(ROOT / "testdata")
    if SCRIPTS[page][name]:
        monkeypatch.chdir(tmp_path)
        exec(SCRIPTS[page][name], {})
        return
    environment = {**os.environ, "CUDA_VISIBLE_DEVICES": "", "TF_CPP_MIN_LOG_LEVEL": "3"}
    ran = subprocess.run(
        [sys.executable, name], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stderr


def test_the_test_of_a_pass_passes() -> None:
    """The one that the contributor's guide shows."""
    (shown,) = re.findall(r"^    def (test_\w+)(.*?^        \"\"\"\)\n)", GUIDE.read_text(), re.MULTILINE | re.DOTALL)
    there: dict[str, Any] = {"check_pass": check_pass}
    exec(textwrap.dedent(f"    def {''.join(shown)}"), there)
    there[shown[0]]()


def test_the_first_conversion_prints_what_is_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    command, shown = (text.strip("`\n") for text in FENCE.findall(README.read_text()) if text.startswith("```\n"))
    (tmp_path / "testdata").symlink_to(ROOT / "testdata")
    monkeypatch.chdir(tmp_path)
    printed = CliRunner().invoke(main, command.split()[2:]).stdout
    assert _without_times(printed) == _without_times(shown)


def _without_times(text: str) -> list[str]:
    return [line.rstrip() for line in text.splitlines() if not line.startswith("Time")]


def test_every_option_of_convert_is_told() -> None:
    options = {option for parameter in main.commands["convert"].params for option in parameter.opts}
    told = {option for page in PAGES for option in re.findall(r"--[a-z0-9-]+", page.read_text())}
    assert {option for option in options if option.startswith("--")} - told <= {"--output", "--quiet", "--verbose"}


def test_every_name_that_a_pass_may_ask_for_is_told() -> None:
    given = {name: parameter.default for name, parameter in inspect.signature(api.convert).parameters.items()}
    options = Options(**{field.name: given[field.name] for field in dataclasses.fields(Options)})
    names = api._pass_options(options, Registry.builtin(), (), NumericCheck("never", lambda module: b""), None)
    table = PASSES.read_text().partition("<!-- options:begin -->")[2].partition("<!-- options:end -->")[0]
    told = re.findall(r"`(\w+)`", "".join(re.findall(r"^\|([^|]*)\|", table, re.MULTILINE)))
    assert sorted(told) == sorted(["module", "report", *names])


def test_every_command_is_told() -> None:
    assert main.commands.keys() <= set(re.findall(r"`(?:fuseconv )?([a-z]+(?:-[a-z]+)*)\b", README.read_text()))


@pytest.mark.parametrize("page", PAGES, ids=_name)
def test_links_and_paths_lead_somewhere(page: Path) -> None:
    text = FENCE.sub("", page.read_text())
    for target, anchor in LINK.findall(text):
        if target.startswith("https://"):
            continue
        path = page.parent / target if target else page
        assert path.exists(), f"{target} is not there"
        assert not anchor or anchor in _anchors(path), f"{target} has no chapter #{anchor}"
    for path in PATH.findall(text):
        assert any((folder / path).exists() for folder in (ROOT, ROOT / "fuseconv", page.parent)), f"no {path}"


@pytest.mark.parametrize("page", PAGES, ids=_name)
def test_files_are_there(page: Path) -> None:
    """Those without a link: beside the page, or named from the root."""
    text = page.read_text()
    known = {*NO_FILES, *(name for name, _ in BLOCK.findall(text))}
    for file in FILE.findall(re.sub(r"\[[^]]*\]\([^)]*\)", "", FENCE.sub("", text))):
        there = (folder.glob(file) for folder in (page.parent, ROOT, ROOT / "fuseconv"))
        assert file in known or any(map(any, there)), f"no {file}"


@pytest.mark.parametrize("folder", WHOLE)
def test_every_file_of_a_folder_is_told(folder: str) -> None:
    page = ROOT / "fuseconv" / folder / "README.md"
    told = {path for file in FILE.findall(page.read_text()) for path in page.parent.glob(file)}
    files = {path for path in page.parent.glob("*.py") if path.name != "__init__.py"}
    assert not sorted(path.name for path in files - told), f"name them in fuseconv/{folder}/README.md"


def _anchors(page: Path) -> set[str]:
    """The names under which chapters can be linked to."""
    titles = re.findall(r"^#+ (.*)$", FENCE.sub("", page.read_text()), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-") for title in titles}


def test_every_page_is_linked_to() -> None:
    linked = {(page.parent / target).resolve() for page in PAGES for target, _ in LINK.findall(page.read_text())}
    assert not [_name(page) for page in PAGES if page != README and page not in linked]


def test_the_readme_is_short() -> None:
    assert len(README.read_bytes()) <= 10_240


@pytest.mark.parametrize("page", [README, FUSE, MUSEUM, LAYERS], ids=_name)
def test_what_is_generated_is_up_to_date(page: Path) -> None:
    assert _generated(page) == page.read_text(), "`python -m tests.test_readme` writes it"


def _fusions() -> str:
    """The fusions as a table in Markdown, which links to the file of each."""
    lines = ["| Fusion | Of | Into | File |", "|---|---|---|---|"]
    for row in fusion_rows(Registry.builtin()):
        of = ", ".join(f"`{name}`" for name in row["matches"].split()) or row["summary"].partition(" -> ")[0]
        file = row["origin"].rpartition(".")[2] + ".py"
        link = f"[`{file}`](../fusions/{file})"
        lines.append(f"| `{row['name']}` | {of.replace('|', chr(92) + '|')} | {row['emits']} | {link} |")
    return "\n".join(lines)


def _generated(page: Path) -> str:
    """The page with its marked block written anew."""
    if page == FUSE:
        return table.insert(page.read_text(), _fusions(), "fusions")
    if page == MUSEUM:
        return museum.page()
    if page == LAYERS:
        layers = table.insert(page.read_text(), keras_data.registry.table(), "layers")
        return table.insert(layers, outcomes.table(), "walk")
    return table.insert(page.read_text(), table.figures(FIGURES.read_text()), "figures")


if __name__ == "__main__":
    for _page in (README, FUSE, MUSEUM, LAYERS):
        _page.write_text(_generated(_page))
