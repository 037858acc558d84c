"""What only a process of its own shows: signals, streams that are closed or broken, disks that are full."""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from fuseconv import process
from fuseconv.inspecting import inspect

TESTDATA = Path(__file__).parents[1] / "testdata"
MODEL = TESTDATA / "two_signatures"
MAIN = "from fuseconv.__main__ import main; main()"
TIMEOUT = 120
# What gives the file another name for the time being.
OPTIONS = ["", "--verify", "--report report.json"]
SHELLS = ["2>&-", "2>&- >&-", "<&- >&- 2>&-", "2>/dev/full", "2>&1 >/dev/null | true; exit ${PIPESTATUS[0]}"]
# Sends itself the signals while the file is written; the second comes while the first is still being cleaned up after.
STOPPED = """
import fuseconv.api, os, sys
def write(module, stream, **options):
    stream.write(b"half")
    try:
        for number in {numbers}:
            os.kill(os.getpid(), number)
    finally:
        for number in {numbers}:
            os.kill(os.getpid(), number)
fuseconv.api.write = write
"""


def run(
    *args: object, code: str = "", limit: int | None = None, shell: str = ""
) -> subprocess.CompletedProcess[str]:
    """Runs the command line. code: what runs before it; limit: the bytes that a file may have; shell: redirections."""
    command = [sys.executable, "-c", code + MAIN, *map(str, args)]
    if shell:
        command = ["bash", "-c", f'"$@" {shell}', "bash", *command]

    def limited() -> None:
        # A shell starts what runs in its background with SIGINT ignored, nohup with SIGHUP: tests among it.
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        signal.signal(signal.SIGHUP, signal.SIG_DFL)
        if limit is not None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

    environment = os.environ | {"PYTHONPATH": str(TESTDATA.parent)}
    return subprocess.run(
        command, capture_output=True, encoding="utf-8", errors="replace", timeout=TIMEOUT, preexec_fn=limited,
        env=environment, check=False,
    )  # fmt: skip


def _given(options: str, folder: Path) -> list[str]:
    return [str(folder / word) if "." in word else word for word in options.split()]


class TestSignals:
    @pytest.mark.parametrize(
        ("name", "code", "options"),
        [*(("SIGINT", 130, options) for options in OPTIONS), ("SIGTERM", 143, ""), ("SIGHUP", 129, "--verify")],
    )
    def test_nothing_is_left(self, name: str, code: int, options: str, tmp_path: Path) -> None:
        out = tmp_path / "out.tflite"
        out.write_bytes(b"precious")
        stopped = STOPPED.format(numbers=[int(getattr(signal, name))])
        done = run("convert", MODEL, "-o", out, *_given(options, tmp_path), code=stopped)
        assert (done.returncode, done.stdout, done.stderr) == (code, "", "fuseconv: interrupted\n")
        assert [(path.name, path.read_bytes()) for path in tmp_path.iterdir()] == [("out.tflite", b"precious")]

    def test_several_at_once(self, tmp_path: Path) -> None:
        stopped = STOPPED.format(numbers=[int(signal.SIGHUP), int(signal.SIGTERM), int(signal.SIGHUP)])
        done = run("convert", MODEL, "-o", tmp_path / "out.tflite", code=stopped)
        assert (done.returncode, done.stderr) == (129, "fuseconv: interrupted\n")
        assert not list(tmp_path.iterdir())

    def test_what_is_ignored_stays_so(self, tmp_path: Path) -> None:
        ignoring = (
            "import fuseconv.api as p, os, signal\n"
            "signal.signal(signal.SIGHUP, signal.SIG_IGN)\n"
            "old = p.write\n"
            "def write(*args, **options): os.kill(os.getpid(), signal.SIGHUP); return old(*args, **options)\n"
            "p.write = write\n"
        )
        done = run("convert", MODEL, "-o", tmp_path / "out.tflite", "-q", code=ignoring)
        assert (done.returncode, done.stderr) == (0, "")

    def test_handlers_are_put_back(self) -> None:
        before = signal.getsignal(signal.SIGTERM)
        with pytest.raises(process.Stopped) as stopped, process.stopping():
            os.kill(os.getpid(), signal.SIGTERM)
        assert process.exit_code(stopped.value) == 143
        assert process.exit_code(KeyboardInterrupt()) == 130
        assert signal.getsignal(signal.SIGTERM) is before

    def test_an_import_that_makes_another_error_of_it(self) -> None:
        """As pybind11 does: "ImportError: initialization failed"."""
        with pytest.raises(process.Stopped) as stopped, process.stopping():
            try:
                os.kill(os.getpid(), signal.SIGTERM)
            except KeyboardInterrupt:
                raise ImportError("initialization failed") from None
        assert process.exit_code(stopped.value) == 143

    @pytest.mark.parametrize(("name", "code"), [("SIGINT", 130), ("SIGTERM", 143), ("SIGHUP", 129)])
    @pytest.mark.parametrize("when", ["the command line is imported", "the command has ended"])
    def test_outside_of_a_command(self, when: str, name: str, code: int) -> None:
        before = f"import atexit, os, sys\ndef kill(): os.kill(os.getpid(), {int(getattr(signal, name))})\n"
        if when == "the command has ended":
            before += "atexit.register(kill)\n"
        else:
            before += "class Finder:\n    def find_spec(self, name, *_): name == 'click' and kill()\n"
            before += "sys.meta_path.insert(0, Finder())\n"
        done = run("--version", code=before)
        assert (done.returncode, done.stderr) == (code, "fuseconv: interrupted\n")
        assert done.stdout.startswith("fuseconv") == (when == "the command has ended")

    def test_threads_have_none(self) -> None:
        passed = []

        def body() -> None:
            with process.stopping():
                passed.append(True)

        thread = threading.Thread(target=body)
        thread.start()
        thread.join()
        assert passed


class TestStreams:
    @pytest.mark.parametrize(
        ("shell", "args"),
        [*((shell, ["inspect", "nothing"]) for shell in SHELLS),
         ("2>&-", ["inspect", "nothing", "--json"]), ("2>/dev/full", ["inspect", "--no"])],
    )  # fmt: skip
    def test_an_exit_code_survives_standard_error(self, shell: str, args: list[str]) -> None:
        assert run(*args, shell=shell).returncode == 2

    @pytest.mark.parametrize("args", [["--help"], ["--version"], ["fusions", "--json"], ["ops", "Conv*"]])
    def test_a_reader_that_has_left(self, args: list[str]) -> None:
        read, write = os.pipe()
        os.close(read)
        command = [sys.executable, "-c", MAIN, *args]
        with os.fdopen(write, "w") as pipe:
            done = subprocess.run(command, stdout=pipe, stderr=subprocess.PIPE, text=True, timeout=TIMEOUT, check=False)
        assert (done.returncode, done.stderr) == (0, "")

    @pytest.mark.parametrize("args", [["--help"], ["ops", "Conv2D"], ["ops", "Conv2D", "--json"]])
    def test_a_full_disk_under_standard_output(self, args: list[str]) -> None:
        done = run(*args, shell=">/dev/full")
        assert (done.returncode, done.stderr) == (2, "fuseconv: error: standard output: No space left on device\n")

    def test_nothing_is_printed_into_the_file(self, tmp_path: Path) -> None:
        """Which would have the number of the stream that is closed."""
        code = (
            "import fuseconv.api as p, os\n"
            "old = p.write\n"
            "def write(*args, **options):\n"
            "    os.write(2, b'a warning of a library')\n    return old(*args, **options)\n"
            "p.write = write\n"
        )
        out = tmp_path / "out.tflite"
        assert run("convert", MODEL, "-o", out, code=code, shell="<&- >&- 2>&-").returncode == 0
        assert inspect(out) and b"a warning" not in out.read_bytes()


class TestFiles:
    @pytest.mark.parametrize("options", OPTIONS)
    def test_a_full_disk(self, options: str, tmp_path: Path) -> None:
        done = run("convert", MODEL, "-o", tmp_path / "out.tflite", *_given(options, tmp_path), limit=500)
        assert done.returncode == 2 and not done.stdout
        sentence = f"cannot write into {tmp_path}: File too large; choose another --output"
        assert done.stderr == f"fuseconv: error: {sentence}\n"
        assert not list(tmp_path.iterdir())

    def test_a_c_array_that_does_not_fit(self, tmp_path: Path) -> None:
        """The file that it is made from does fit."""
        whole = [tmp_path / "out.tflite", tmp_path / "out.cc"]
        sizes = [run("convert", MODEL, "-o", path).returncode or path.stat().st_size for path in whole]
        for path in whole:
            path.unlink()
        done = run("convert", MODEL, "-o", whole[1], limit=sum(sizes) // 2)
        sentence = f"cannot write into {tmp_path}: File too large; choose another --output"
        assert (done.returncode, done.stderr) == (2, f"fuseconv: error: {sentence}\n")
        assert not list(tmp_path.iterdir())

    def test_a_report_that_does_not_fit(self, tmp_path: Path) -> None:
        """The report is larger than the file, which is not left alone."""
        report = tmp_path / "report.json"
        whole = run("convert", MODEL, "-o", tmp_path / "out.tflite", "--report", report)
        assert whole.returncode == 0, whole.stderr
        sizes = [path.stat().st_size for path in (tmp_path / "out.tflite", report)]
        limit = sum(sizes) // 2  # between the two: the seconds in a report have not always as many digits
        assert sizes[0] + 100 < limit
        for path in list(tmp_path.iterdir()):
            path.unlink()
        done = run("convert", MODEL, "-o", tmp_path / "out.tflite", "--report", report, "--json", limit=limit)
        sentence = f"--report {report} cannot be written: File too large"
        assert (done.returncode, done.stderr) == (2, f"fuseconv: error: {sentence}\n")
        assert json.loads(done.stdout)["error"] == {"message": sentence, "exit_code": 2}
        assert not list(tmp_path.iterdir())

    def test_a_report_that_cannot_be_written_is_told_first(self, tmp_path: Path) -> None:
        """The directory takes no new files, though it says that it may be written."""
        if not os.path.isdir("/proc/self"):
            return
        never = "import fuseconv.load as l\ndef load(*args, **kwargs): raise AssertionError\nl.load = load\n"
        done = run("convert", MODEL, "-o", tmp_path / "out.tflite", "--report", "/proc/report.json", code=never)
        assert done.returncode == 2
        assert done.stderr.startswith("fuseconv: error: --report /proc/report.json ")
        assert not list(tmp_path.iterdir())

    def test_two_at_once(self, tmp_path: Path) -> None:
        """One of them wins, whole."""
        models = [MODEL, TESTDATA / "conv_bn"]
        expected = []
        for model in models:
            run("convert", model, "-o", tmp_path / "out.tflite")
            expected.append((tmp_path / "out.tflite").read_bytes())
        command = [sys.executable, "-c", MAIN, "convert", "-q", "-o", str(tmp_path / "out.tflite")]
        running = [subprocess.Popen([*command, str(model)]) for model in models]
        assert [each.wait(TIMEOUT) for each in running] == [0, 0]
        assert (tmp_path / "out.tflite").read_bytes() in expected
        assert len(list(tmp_path.iterdir())) == 1


def test_letters_that_an_encoding_does_not_have(tmp_path: Path) -> None:
    """As of Windows' pipes, where a name may hold any."""
    encoding = "import sys; sys.stdout.reconfigure(encoding='cp850'); "
    done = run("convert", MODEL, "-o", tmp_path / "\u51fa.tflite", code=encoding)
    assert done.returncode == 0 and "\\u51fa.tflite" in done.stdout


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="the system has no affinity of processes")
def test_processors_are_those_that_the_process_may_use() -> None:
    code = "import os; os.sched_setaffinity(0, [min(os.sched_getaffinity(0))])\n"
    code += "from fuseconv.process import processors; print(processors())"
    assert subprocess.check_output([sys.executable, "-c", code], text=True, timeout=TIMEOUT) == "1\n"
