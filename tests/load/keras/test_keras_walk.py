"""Every layer class that Keras 3 and tf-keras export: its files are read as data and compute the same, or refused."""

from __future__ import annotations

import importlib
import json
from pathlib import Path

import pytest

from fuseconv.load.keras.registry import LAYERS
from tests.load.keras.walk import outcomes

NAMED = json.loads(outcomes.FILE.read_text())
ROWS = [(name, library) for name, row in NAMED.items() for library in row]
# The others are for `make test-slow`: they take minutes.
SAMPLE = [("keras", "ELU", True), ("tf_keras", "CategoryEncoding", False), ("keras", "SpectralNormalization", False)]


@pytest.mark.parametrize("library", outcomes.LIBRARIES)
def test_every_layer_has_cases_and_an_outcome(library: str) -> None:
    names = outcomes.exported(importlib.import_module(library))
    assert names == {name for name, of in ROWS if of == library}
    assert all(len(outcomes.CASES[name]) >= 3 for name in names)


def test_a_layer_of_which_nothing_is_read_is_unknown_or_says_why() -> None:
    for name, row in NAMED.items():
        if name not in LAYERS:
            reasons = {reason for each in row.values() for reason in each["why"]}
            assert all(each["read"] == 0 for each in row.values()), name
            assert all("its class is none that is read as data" in reason for reason in reasons), name


@pytest.mark.parametrize(("library", "name", "numbers"), SAMPLE)
def test_a_sample_is_read_as_it_is_told(library: str, name: str, numbers: bool, tmp_path: Path) -> None:
    assert outcomes.walk(importlib.import_module(library), name, tmp_path, numbers) == NAMED[name][library]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "library"), ROWS)
def test_files_of_a_layer_are_read_or_refused_as_it_is_told(name: str, library: str, tmp_path: Path) -> None:
    assert outcomes.walk(importlib.import_module(library), name, tmp_path) == NAMED[name][library]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "library"), [(name, of) for name, of in ROWS if NAMED[name][of]["read"]])
def test_data_and_keras_agree(name: str, library: str, tmp_path: Path) -> None:
    outcomes.check_by_keras(importlib.import_module(library), name, tmp_path)
