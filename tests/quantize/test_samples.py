"""Samples come from files, directories and scripts; what is none is refused."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fuseconv.errors import InputError
from fuseconv.ir import types
from fuseconv.ir.graph import Graph, Signature, Value
from fuseconv.quantize.images import Pixels
from fuseconv.quantize.samples import Sample, Samples, of_signature, reader
from tests.tf.text_cases import module_of

_SIGNATURES = [
    Signature([name, f"{name}_too"], Graph(name), inputs, []) for name, inputs in (("enc", ["a"]), ("dec", ["b"]))
]
for _signature in _SIGNATURES:
    _signature.graph.inputs = [Value(types.FLOAT32, None, name) for name in _signature.inputs]


_PAIR = Graph("pair")
_PAIR.inputs = [Value(types.FLOAT32, None, name) for name in "ab"]


def _read(data: object, signatures: Sequence[Signature] = _SIGNATURES) -> list[Sample]:
    return list(reader(data, Pixels())(signatures))  # type: ignore[arg-type]


def _bound(data: object, most: int | None = None) -> Samples:
    samples = Samples(data, most)  # type: ignore[arg-type]
    samples.bind(_SIGNATURES)
    return samples


def test_a_file_holds_the_samples_of_each_input(tmp_path: Path) -> None:
    np.savez(tmp_path / "data.npz", a=np.arange(6).reshape(2, 1, 3), b=np.zeros((2, 4)))
    first, second = _read(tmp_path / "data.npz", [Signature(["pair"], _PAIR, ["a", "b"], [])])
    assert first["a"].tolist() == [[0, 1, 2]] and second["a"].tolist() == [[3, 4, 5]] and second["b"].shape == (4,)


def _of_floats(shape: str) -> list[Signature]:
    """Return a signature with an input `i0`."""
    module, _ = module_of(f"main {{\n  input %x: float32[{shape}]\n  return %x\n}}")
    return module.signatures


@pytest.mark.parametrize(("given", "shape", "count", "of"), [
    ((6, 1, 3), "n,3", 6, (1, 3)), ((6, 3), "n,3", 6, (1, 3)), ((6, 3), "2,3", 3, (2, 3)), ((6,), "n", 6, (1,)),
])  # fmt: skip
def test_samples_and_rows(given: tuple[int, ...], shape: str, count: int, of: tuple[int, ...], tmp_path: Path) -> None:
    array = np.arange(np.prod(given), dtype=float).reshape(given)
    np.savez(tmp_path / "data.npz", i0=array)
    for data in (tmp_path / "data.npz", {"i0": array}):
        samples = Samples(data)  # type: ignore[arg-type]
        samples.bind(_of_floats(shape))
        found = [sample["i0"] for sample in samples]
        assert len(found) == count and {each.shape for each in found} == {of}
        assert np.concatenate(found).ravel().tolist() == array.ravel().tolist()
        assert found[0].dtype == np.float32


def test_dicts_are_fitted() -> None:
    for given, found in (
        ([1.0, 2.0, 3.0], (1, 3)), (np.ones((1, 3), np.int64), (1, 3)), ([[1, 2, 3]] * 2, (2, 3)),
    ):  # fmt: skip
        samples = Samples(lambda given=given: [{"i0": given, "more": 1}])  # type: ignore[arg-type, misc]
        samples.bind(_of_floats("n,3"))
        ((name, array),) = next(iter(samples)).items()
        assert name == "i0" and array.dtype == np.float32 and array.shape == found


@pytest.mark.parametrize(("array", "why"), [
    (np.zeros((6, 5)), r"array i0 of .* has the shape \[6, 5\]: give samples \[\?, \?, 3\] or rows \[\?, 3\]"),
    (np.zeros(3), r"the shape \[3\]"), (np.array(1), r"the shape \[\]"),
])  # fmt: skip
def test_arrays_that_hold_no_samples(array: np.ndarray, why: str, tmp_path: Path) -> None:
    np.savez(tmp_path / "data.npz", i0=array)
    samples = Samples(tmp_path / "data.npz")
    samples.bind(_of_floats("n,3"))
    with pytest.raises(InputError, match=why):
        list(samples)


def test_labels_beside_inputs_are_left_out(tmp_path: Path) -> None:
    np.savez(tmp_path / "data.npz", a=np.zeros((2, 3)), label=np.zeros(5))
    for data in (tmp_path / "data.npz", [{"a": np.zeros(3), "label": 1}] * 2):
        assert [set(sample) for sample in _bound(data)] == [{"a"}] * 2


def test_samples_to_compare_are_checked() -> None:
    with pytest.raises(InputError, match="an array for each input, a; sample 0 lacks a and holds x"):
        _bound([{"x": np.zeros(1)}]).to_compare()


def test_what_the_callers_code_raises() -> None:
    def samples() -> Any:
        yield {"a": np.zeros((1, 3))}
        raise KeyError("gone")

    with pytest.raises(InputError, match=r"data cannot be read: KeyError: 'gone' \(.*test_samples.py:\d+\)"):
        list(_bound(samples()))
    with pytest.raises(InputError, match="the calibration data cannot be read: ZeroDivisionError"):
        Samples(lambda: 1 / 0)  # type: ignore[arg-type, return-value]
    with pytest.raises(InputError, match="or yields dicts of arrays; int is neither"):
        Samples(3)  # type: ignore[arg-type]


def test_a_directory_holds_files_in_order(tmp_path: Path) -> None:
    for number in (2, 1):
        np.savez(tmp_path / f"{number}.npz", a=np.full((1, 2), number))
    assert [sample["a"].tolist() for sample in _read(str(tmp_path))] == [[1, 1], [2, 2]]


def test_a_script_yields_samples(tmp_path: Path) -> None:
    (tmp_path / "data.py").write_text("def samples():\n    yield {'a': 1}\n    yield {'a': 2}\n")
    assert _read(tmp_path / "data.py") == [{"a": 1}, {"a": 2}]


def test_a_script_imports_what_lies_beside_it(tmp_path: Path) -> None:
    (tmp_path / "beside_the_script.py").write_text("SAMPLE = {'a': 3}\n")
    script = "def samples():\n    from beside_the_script import SAMPLE\n    yield SAMPLE\n"
    (tmp_path / "data.py").write_text(script)
    before = list(sys.path)
    assert _read(tmp_path / "data.py") == [{"a": 3}]
    assert sys.path == before


def test_what_is_no_path_is_taken_as_it_is() -> None:
    given = [{"a": np.zeros(1)}]
    assert _read(given) == given


@pytest.mark.parametrize(("name", "content", "why"), [
    ("none.npz", None, "there is no calibration data"),
    ("empty", "", "holds no .npz files, and no images that are JPEG or PNG"),
    ("data.csv", "1,2", "is not an .npz file"),
    ("data.npz", "damaged", "is not an .npz file: numpy.savez"),
    ("data.py", "x = 1", "has no function samples"),
    ("data.py", "def samples(): pass", "returns NoneType: yield dicts of arrays"),
    ("data.py", "import nothing_of_this_name", "cannot be run: ModuleNotFoundError"),
    ("data.py", "None.shape\ndef samples(): yield {}", "cannot be run: AttributeError"),
    ("data.py", "raise SystemExit(3)", "cannot be run: SystemExit: 3"),
    ("data.py", "raise BaseException(3)", "cannot be run: BaseException: 3"),
    ("data.py", "def samples():\n    yield {}\n    raise KeyError('gone')", "cannot be run: KeyError: 'gone'"),
])  # fmt: skip
def test_what_cannot_be_read(name: str, content: str | None, why: str, tmp_path: Path) -> None:
    if name == "empty":
        (tmp_path / name).mkdir()
    elif content is not None:
        (tmp_path / name).write_text(content)
    with pytest.raises(InputError, match=why):
        _read(tmp_path / name)


def test_objects_of_python_are_not_read(tmp_path: Path) -> None:
    np.savez(tmp_path / "data.npz", a=np.array([{}, []], object))
    with pytest.raises(InputError, match="its array a holds objects of Python"):
        _read(tmp_path / "data.npz")


def test_unequal_numbers_of_samples(tmp_path: Path) -> None:
    np.savez(tmp_path / "data.npz", a=np.zeros((2, 3)), b=np.zeros((4, 3)))
    with pytest.raises(InputError, match=r"different numbers of samples: their first sizes are \[2, 4\]"):
        _read(tmp_path / "data.npz", [Signature(["pair"], _PAIR, ["a", "b"], [])])


def test_samples_behind_those_that_are_measured_are_held_back():
    samples = [{"a": np.array(number)} for number in range(50)]
    some = _bound(iter(samples), 10)
    assert len(list(some)) == 10
    others, held_back = some.to_compare()
    assert held_back and [int(sample["a"]) for sample in others] == list(range(10, 42))
    every = _bound(samples)
    assert len(list(every)) == 50
    assert every.to_compare() == (samples[:32], False)
    assert _bound(samples, 50).to_compare()[1]  # nothing was measured on them


def test_names_of_arrays_tell_other_signatures() -> None:
    array = np.zeros(1)
    for sample, place, names in (
        ({"a": array}, 0, {"a"}), ({"enc/a": array}, 0, {"a"}), ({"dec/b": array}, 1, {"b"}),
        ({"dec_too/b": array}, 1, {"b"}), ({"dec/c": array}, 0, {"dec/c"}),
    ):  # fmt: skip
        found, inputs = of_signature(sample, _SIGNATURES)
        assert (found, set(inputs)) == (place, names)


def test_a_file_holds_samples_of_signatures_in_turns(tmp_path: Path) -> None:
    arrays: dict[str, Any] = {"enc/a": np.arange(3), "dec/b": np.arange(10, 12)}
    np.savez(tmp_path / "data.npz", **arrays)
    read = [(name, int(array)) for sample in _read(tmp_path / "data.npz") for name, array in sample.items()]
    assert read == [("enc/a", 0), ("dec/b", 10), ("enc/a", 1), ("dec/b", 11), ("enc/a", 2)]


def test_only_samples_of_the_first_signature_are_compared() -> None:
    samples = _bound([{"enc/a": np.array(1)}, {"dec/b": np.array(2)}, {"dec/b": np.array(3)}, {"a": np.array(4)}], 2)
    assert len(list(samples)) == 2
    assert samples.to_compare() == ([{"a": np.array(4)}], True)


@pytest.mark.parametrize(("files", "why"), [
    (["a.npz", "b.png"], "holds both .npz files and images"), (["a.npz"], "are for images; .* holds .npz files"),
])  # fmt: skip
def test_directories_that_are_not_clear(files: list[str], why: str, tmp_path: Path) -> None:
    for name in files:
        (tmp_path / name).touch()
    with pytest.raises(InputError, match=why):
        Samples(tmp_path, pixels=Pixels.of(1, 2))


def test_what_images_are_fed_as_is_for_images() -> None:
    with pytest.raises(InputError, match="are for calibration data that is a directory of images"):
        Samples([], pixels=Pixels.of(127.5, None))
