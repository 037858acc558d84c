"""Which loader a path goes to."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from fuseconv.errors import InputError
from fuseconv.load import load

TESTDATA = Path(__file__).parents[2] / "testdata"


@pytest.mark.parametrize(
    ("path", "meant"),
    [("digits", "digits.keras"), ("digits.h5", "digits.keras"), ("digist.keras", ""), ("no/where", "")],
)
def test_a_neighbor_that_was_meant(path: str, meant: str, tmp_path: Path) -> None:
    (tmp_path / "digits.keras").touch()
    (tmp_path / "notes.txt").touch()
    with pytest.raises(InputError) as error:
        load(tmp_path / path)
    help = f"; did you mean {tmp_path / meant}?" if meant else ""
    assert str(error.value) == f"{tmp_path / path} does not exist{help}"


@pytest.mark.parametrize(
    ("models", "meant"),
    [
        (["1"], ["1"]), (["2", "1"], ["1", "2"]), (["tf2/default/1"], ["tf2/default/1"]),
        (["tf2/a/1", "tf2/b/1"], []), (["a/b/c/d/e"], []),
    ],
)  # fmt: skip
def test_a_directory_of_models(models: list[str], meant: list[str], tmp_path: Path) -> None:
    for model in models:
        (tmp_path / model).mkdir(parents=True)
        (tmp_path / model / "saved_model.pb").touch()
    with pytest.raises(InputError) as error:
        load(tmp_path)
    there = ", ".join(str(tmp_path / model) for model in meant)
    help = {0: "", 1: f"; did you mean {there}?", 2: f"; give one of its models, {there}"}[len(meant)]
    assert str(error.value) == f"{tmp_path} is no SavedModel: there is no saved_model.pb in it{help}"


def test_a_directory_of_many_models(tmp_path: Path) -> None:
    (tmp_path / "a.tflite").touch()  # which is converted already
    for name in "abcde":
        (tmp_path / f"{name}.keras").touch()
    with pytest.raises(InputError, match=r"give one of its models, .*a\.keras, .*b\.keras, .*c\.keras, \.\.\.$"):
        load(tmp_path)


def test_a_checkpoint_is_no_model(tmp_path: Path) -> None:
    (tmp_path / "variables").mkdir()
    (tmp_path / "variables" / "variables.index").touch()
    for path in (tmp_path, tmp_path / "variables", tmp_path / "variables" / "variables"):
        with pytest.raises(InputError, match="; restore the checkpoint in TensorFlow, and save the model"):
            load(path)


@pytest.mark.parametrize("address", ["https://tfhub.dev/google/x/1", "gs://models/x"])
def test_an_address_is_no_path(address: str) -> None:
    with pytest.raises(InputError, match=f"^{address} is an address, not a path; download the model first"):
        load(address)


def test_missing_path(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"nowhere does not exist"):
        load(tmp_path / "nowhere")


def test_directory_that_is_no_model(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"no saved_model.pb in it$"):
        load(tmp_path)
    (tmp_path / "model.ckpt-10.index").touch()
    with pytest.raises(InputError, match=r"no SavedModel.*; restore the checkpoint"):
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


def test_what_is_no_file_is_not_opened(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(InputError, match="is a pipe, no ordinary file"):
        load(tmp_path / "pipe")


@pytest.mark.parametrize(
    "model, option",
    [
        ("frozen.pb", "signatures"), ("frozen.pb", "tags"), ("keras3.keras", "signatures"), ("keras3.keras", "tags"),
    ],
)  # fmt: skip
def test_options_of_another_kind_of_model_are_refused(model: str, option: str) -> None:
    options: dict[str, Any] = {option: ["name"]}
    with pytest.raises(InputError, match=f"--{option.removesuffix('s')}s? name means nothing here"):
        load(TESTDATA / model, **options)
