"""Imports point one way, and the guests stay in their rooms."""

from __future__ import annotations

import ast
import functools
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import fuseconv

ROOT = Path(fuseconv.__file__).parent
# A room may import from itself, from rooms of lower layers, and, in the layer of the stages, from what it is built on.
LAYERS = [
    {"__main__"},
    {"cli"},
    {"comparing"},
    {"lite", "testing", "verifying", "profiling", "model_explorer"},
    {"output_comparison"},
    {"custom_op_file", "cut_original", "verification_inputs", "verification_layers", "single_ops"},
    {"runners"},
    {"api"},
    {"options"},
    {"pipeline"},
    {"load", "transforms", "fuse", "fusions", "lower", "quantize", "write", "inspecting"},
    {"pass_manager", "facts"},
    {"tf"},
    {"report"},
    {"targets"},
    {"tfl"},
    {"ir"},
    {"input_ranges", "npz"},
    {"arguments", "child", "collector", "files", "input_shapes", "process"},
    {"errors"},
]
STAGES = {
    "fuse": {"fusions", "lower"},
    "fusions": {"fuse"},
    "transforms": {"fuse"},
    "quantize": {"load", "transforms", "write"},
    "inspecting": {"load"},
}
# Who may import a package at all; and whether only inside functions.
GUESTS = {
    "click": ({"cli"}, False),
    "rich": ({"report"}, False),
    "jinja2": ({"report"}, True),
    "model_explorer": ({"model_explorer"}, False),
    "ai_edge_litert": ({"fuse", "profiling", "quantize", "runners", "testing", "tfl"}, False),
    "tensorflow": ({"cut_original", "load", "verification_inputs", "quantize", "runners", "tf", "testing"}, True),
    "keras": ({"load"}, True),
    "tf_keras": ({"load"}, True),
}


@functools.cache
def _tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text())


@functools.cache
def _imports(path: Path) -> tuple[tuple[str, bool], ...]:
    """The modules that a file imports, and whether it does so as it is loaded."""
    return tuple(_found_imports(path))


def _found_imports(path: Path) -> Iterator[tuple[str, bool]]:
    tree = _tree(path)
    functions = [node for node in ast.walk(tree) if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))]
    inside = {id(node) for function in functions for node in ast.walk(function)}
    for node in list(ast.walk(tree)):
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            node.body = []  # names for annotations are not imported when the program runs
    for node in ast.walk(tree):
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path} has a relative import"
            names = [f"{node.module}.{a.name}" if node.module == "fuseconv" else node.module or "" for a in node.names]
        for name in names:
            yield name, id(node) not in inside


def _room(module: str) -> str:
    parts = module.split(".")
    return parts[1] if len(parts) > 1 else ""


FILES = sorted(path for path in ROOT.rglob("*.py") if path.name != "__init__.py" or path.parent != ROOT)


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_imports_point_one_way(path: Path) -> None:
    room = path.relative_to(ROOT).parts[0].removesuffix(".py")
    layer = next((i for i, rooms in enumerate(LAYERS) if room in rooms), None)
    assert layer is not None, f"{room} is no room of the design"
    for name, at_load in _imports(path):
        package = name.split(".")[0]
        if package in GUESTS:
            rooms, lazy = GUESTS[package]
            assert room in rooms, f"{package} does not belong in {room}"
            assert not (lazy and at_load), f"{package} must be imported inside a function"
        if package != "fuseconv" or _room(name) in (room, ""):
            continue
        target = _room(name)
        target_layer = next((i for i, rooms in enumerate(LAYERS) if target in rooms), None)
        assert target_layer is not None, f"{name} is no room of the design"
        allowed = target_layer > layer or target in STAGES.get(room, ())
        assert allowed, f"{room} must not import {target}"


def test_the_guide_shows_the_layers_in_their_order() -> None:
    table = (ROOT.parent / ".github" / "CONTRIBUTING.md").read_text().partition("| Layer |")[2].partition("\n\n")[0]
    told = re.findall(r"`(\w+)`", "".join(row.split("|")[1] for row in table.splitlines()[2:]))
    order = [next(i for i, rooms in enumerate(LAYERS) if room in rooms) for room in told]
    assert order == sorted(order) and sorted(told) == sorted(set().union(*LAYERS))


def test_files_and_functions_are_short() -> None:
    files = {path.relative_to(ROOT): path for path in FILES}
    assert not {str(name): n for name, path in files.items() if (n := len(path.read_text().splitlines())) > 450}
    functions = [
        (name, node) for name, path in files.items() for node in ast.walk(_tree(path))
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
    ]  # fmt: skip
    assert not {f"{path}: {f.name}": n for path, f in functions if (n := _lines(f)) > 60}


def _lines(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Return the number of a function's lines, its docstring's left out."""
    docstring = function.body[0] if ast.get_docstring(function) else None
    told = docstring.end_lineno - docstring.lineno + 1 if docstring else 0  # type: ignore[operator]
    return function.end_lineno - function.lineno + 1 - told  # type: ignore[operator]


def test_sentences_of_errors_begin_in_lower_case() -> None:
    """They stand behind "fuseconv: error:"."""
    capital = re.compile(r"Error\(\s*f?\"(?:An?|Its|The|There|This) .*")
    assert not {str(path.relative_to(ROOT)): found for path in FILES if (found := capital.findall(path.read_text()))}


def test_nothing_is_called_utils() -> None:
    assert not [path for path in ROOT.rglob("*") if path.stem in ("utils", "util", "helpers", "misc")]
