"""Samples come from files, directories and scripts; what is none is refused."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from fuseconv.errors import InputError
from fuseconv.quantize.samples import Samples, read_samples


def test_a_file_holds_the_samples_of_each_input(tmp_path: Path) -> None:
    np.savez(tmp_path / "data.npz", a=np.arange(6).reshape(2, 1, 3), b=np.zeros((2, 4)))
    first, second = read_samples(tmp_path / "data.npz")
    assert first["a"].tolist() == [[0, 1, 2]] and second["a"].tolist() == [[3, 4, 5]] and second["b"].shape == (4,)


def test_a_directory_holds_files_in_order(tmp_path: Path) -> None:
    for number in (2, 1):
        np.savez(tmp_path / f"{number}.npz", a=np.full((1, 2), number))
    assert [sample["a"].tolist() for sample in read_samples(str(tmp_path))] == [[1, 1], [2, 2]]


def test_a_script_yields_samples(tmp_path: Path) -> None:
    (tmp_path / "data.py").write_text("def samples():\n    yield {'a': 1}\n    yield {'a': 2}\n")
    assert [*read_samples(tmp_path / "data.py")] == [{"a": 1}, {"a": 2}]


def test_what_is_no_path_is_taken_as_it_is() -> None:
    given = [{"a": np.zeros(1)}]
    assert read_samples(given) is given


@pytest.mark.parametrize(("name", "content", "why"), [
    ("none.npz", None, "there is no calibration data"),
    ("empty", "", "holds no .npz files"),
    ("data.csv", "1,2", "is not an .npz file"),
    ("data.npz", "damaged", "cannot be read"),
    ("data.py", "x = 1", "has no function samples"),
    ("data.py", "import nothing_of_this_name", "cannot be run: ModuleNotFoundError"),
    ("data.py", "None.shape\ndef samples(): yield {}", "cannot be run: AttributeError"),
    ("data.py", "def samples():\n    yield {}\n    raise KeyError('gone')", "cannot be run: KeyError: 'gone'"),
])  # fmt: skip
def test_what_cannot_be_read(name: str, content: str | None, why: str, tmp_path: Path) -> None:
    if name == "empty":
        (tmp_path / name).mkdir()
    elif content is not None:
        (tmp_path / name).write_text(content)
    with pytest.raises(InputError, match=why):
        list(read_samples(tmp_path / name))


def test_unequal_numbers_of_samples(tmp_path: Path) -> None:
    np.savez(tmp_path / "data.npz", a=np.zeros((2, 3)), b=np.zeros((4, 3)))
    with pytest.raises(InputError, match=r"different numbers of samples: their first sizes are \[2, 4\]"):
        list(read_samples(tmp_path / "data.npz"))


def test_samples_behind_those_that_are_measured_are_held_back():
    samples = [{"x": np.array(number)} for number in range(50)]
    some = Samples(iter(samples), 10)
    assert len(list(some)) == 10
    others, held_back = some.to_compare()
    assert held_back and [int(sample["x"]) for sample in others] == list(range(10, 42))
    every = Samples(samples)
    assert len(list(every)) == 50
    assert every.to_compare() == (samples[:32], False)
    assert Samples(samples, 50).to_compare()[1]  # nothing was measured on them
