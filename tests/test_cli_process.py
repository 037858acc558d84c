"""What only a process of the command line's own shows: its streams and their ends."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

TESTDATA = Path(__file__).parents[1] / "testdata"
COMMAND = (sys.executable, "-c", "from fuseconv.cli import main; main()")


def test_no_warnings_of_tensorflow(tmp_path: Path) -> None:
    out = str(tmp_path / "tf1.tflite")
    command = (*COMMAND, "convert", str(TESTDATA / "tf1"), "-o", out, "--verify", "-q")
    done = subprocess.run(command, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("json", [[], ["--json"]])
def test_a_full_disk(json: list[str]) -> None:
    with open("/dev/full", "w") as full:
        done = subprocess.run([*COMMAND, "fusions", *json], stdout=full, stderr=subprocess.PIPE, text=True)
    assert (done.returncode, done.stderr) == (2, "fuseconv: error: No space left on device\n")


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
