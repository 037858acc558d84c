"""Without TensorFlow and Keras: what needs none of them works, what does ends with a sentence on what to install.

Here another process finds none of the three; `tests/light_install.sh` installs into an environment without them.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
MODELS = ROOT / "testdata"
LIGHT = ("ai-edge-litert", "numpy", "flatbuffers", "protobuf", "click", "rich", "ml_dtypes", "h5py")
# As if they were not installed.
_WITHOUT = """if True:
    import sys
    class Absent:
        def find_spec(self, name, path=None, target=None):
            if name.partition(".")[0] in ("tensorflow", "keras", "tf_keras"):
                raise ModuleNotFoundError(f"No module named {name!r}", name=name)
    sys.meta_path.insert(0, Absent())
"""
_COMMANDS = """
    from fuseconv.cli import main
    for args in %r:
        main(args, prog_name="fuseconv", standalone_mode=False)
"""


def _run_code(code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", _WITHOUT + code], capture_output=True, text=True, timeout=60)


def _run(*commands: list[str]) -> subprocess.CompletedProcess[str]:
    return _run_code(_COMMANDS % (commands,))


def test_models_that_are_read_as_data_are_converted(tmp_path: Path) -> None:
    models = ["keras2_lstm", "keras3.keras", "keras2.h5", "frozen.pb"]
    outputs = [str(tmp_path / f"{name}.tflite") for name in models]
    done = _run(
        *(["convert", str(MODELS / name), "-q", "-o", out] for name, out in zip(models, outputs)),
        ["inspect", outputs[0]], ["quantize", outputs[0], "-q", "-o", outputs[1], "--quantize", "dynamic"],
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    assert "UNIDIRECTIONAL_SEQUENCE_LSTM" in done.stdout


@pytest.mark.parametrize(("args", "sentence"), [
    (["convert", "custom.keras"], "custom.keras cannot be read as data (*) needs keras"),
    (["convert", "keras3.keras", "--keras-loader", "keras"], "to load keras3.keras needs keras"),
    (["verify", "keras2_lstm"], "to run this model needs tensorflow"),
])  # fmt: skip
def test_what_needs_them_says_what_to_install(args: list[str], sentence: str, tmp_path: Path) -> None:
    command, name, *rest = args
    file = tmp_path / "out.tflite"
    made = [["convert", str(MODELS / "keras2_lstm"), "-q", "-o", str(file)]] if command == "verify" else []
    output = [str(file)] if command == "verify" else ["-o", str(file)]
    done = _run(*made, [command, str(MODELS / name), *output, *rest])
    first, _, last = f"fuseconv: error: {sentence}, which is not installed: pip install ".partition("(*)")
    assert first in done.stderr and last in done.stderr and "defect" not in done.stderr
    assert done.stderr.strip().endswith("tf-keras") and len(done.stderr.splitlines()) == 1


def test_the_readme_names_what_a_light_install_needs() -> None:
    line = f"pip install {' '.join(LIGHT)}".replace("numpy", '"numpy>=2"')  # an older one may be there already
    assert line in (ROOT / "README.md").read_text()
    assert line in (ROOT / "tests" / "light_install.sh").read_text()
    tomllib = pytest.importorskip("tomllib")  # Python 3.11 has it
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"]
    names = {requirement.partition(">")[0] for requirement in declared}
    # jinja2 makes pages of reports, and is asked for where one is wanted.
    assert names - set(LIGHT) == {"tensorflow", "keras", "tf-keras", "jinja2"} and set(LIGHT) <= names


def test_the_tests_of_plug_ins_say_what_to_install() -> None:
    done = _run_code("    from fuseconv.testing import check\n    check(lambda x: x, None)\n")
    sentence = "fuseconv.testing needs tensorflow, which is not installed: pip install tensorflow tf-keras"
    assert done.stderr.splitlines()[-1] == f"fuseconv.errors.InputError: {sentence}"
