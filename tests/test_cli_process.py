"""What only a process of the command line's own shows: its streams and their ends."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

TESTDATA = Path(__file__).parents[1] / "testdata"
COMMAND = (sys.executable, "-c", "from fuseconv.cli import main; main()")


def test_no_chatter_of_tensorflow_and_the_runtimes(tmp_path: Path) -> None:
    """Of two commands in one process, which imports TensorFlow."""
    model, out = str(TESTDATA / "tf1"), str(tmp_path / "tf1.tflite")
    commands = ["convert", model, "-o", out, "--verify", "-q"], ["verify", model, out]
    code = f"from fuseconv.cli import main\nfor args in {commands}: main(args, standalone_mode=False)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout and "\x1b" not in done.stdout


@pytest.mark.parametrize("json", [[], ["--json"]])
def test_a_full_disk(json: list[str]) -> None:
    with open("/dev/full", "w") as full:
        done = subprocess.run([*COMMAND, "fusions", *json], stdout=full, stderr=subprocess.PIPE, text=True)
    assert (done.returncode, done.stderr) == (2, "fuseconv: error: standard output: No space left on device\n")


def test_no_output_at_all() -> None:
    command = 'exec "$0" -c "from fuseconv.cli import main; main()" fusions >&-'
    done = subprocess.run(["sh", "-c", command, sys.executable], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_reader_that_leaves() -> None:
    process = subprocess.Popen([*COMMAND, "ops"], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout is not None and process.stderr is not None
    process.stdout.close()
    assert process.stderr.read() == b""
    assert process.wait() == 0
