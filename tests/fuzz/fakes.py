"""Commands that do what no command may: the judge is shown that it sees each."""

from __future__ import annotations

import ctypes
import marshal
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

# Where a case's commands run is its folder "tmp".
OUTPUT = Path("../out/out.tflite")


def fine(args: list[str], prog_name: str) -> None:
    """Does nothing."""


def refuses(args: list[str], prog_name: str) -> None:
    _fail("fuseconv: error: the model is damaged")


def _fail(text: str, code: int = 2) -> None:
    print(text, file=sys.stderr)
    sys.exit(code)


def leaves_a_file(args: list[str], prog_name: str) -> None:
    Path("../out/.out.tflite.abc").touch()
    refuses(args, prog_name)


def overwrites(args: list[str], prog_name: str) -> None:
    OUTPUT.write_bytes(b"half a file")
    refuses(args, prog_name)


def dies(args: list[str], prog_name: str) -> None:
    os.kill(os.getpid(), signal.SIGSEGV)


def raises(args: list[str], prog_name: str) -> None:
    raise KeyError("x")


def has_a_defect(args: list[str], prog_name: str) -> None:
    _fail("fuseconv: error: this is a defect of fuseconv, please report it", 1)


def says_two_sentences(args: list[str], prog_name: str) -> None:
    _fail("fuseconv: error: one\nfuseconv: error: two")


def says_nothing(args: list[str], prog_name: str) -> None:
    sys.exit(2)


def says_too_much(args: list[str], prog_name: str) -> None:
    _fail("fuseconv: error: " + "x" * 10_000)


def runs_out_of_memory(args: list[str], prog_name: str) -> None:
    _fail("fuseconv: error: this machine's memory does not suffice for the model")


def reads_elsewhere(args: list[str], prog_name: str) -> None:
    Path("/etc/hostname").read_bytes()


def reads_natively(args: list[str], prog_name: str) -> None:
    """As native code does, which no audit hook sees."""
    libc = ctypes.CDLL(None)
    descriptor = libc.open(b"../outside/secret", os.O_RDONLY)
    libc.read(descriptor, ctypes.create_string_buffer(64), 64)


def leaks(args: list[str], prog_name: str) -> None:
    OUTPUT.write_bytes(Path("../outside/secret").read_bytes())


def starts_a_program(args: list[str], prog_name: str) -> None:
    subprocess.run(["true"], check=True)


def connects(args: list[str], prog_name: str) -> None:
    with socket.socket() as client:
        client.connect_ex(("127.0.0.1", 9))


def unmarshals(args: list[str], prog_name: str) -> None:
    marshal.loads(marshal.dumps(1))


def writes_elsewhere(args: list[str], prog_name: str) -> None:
    Path("../outside/written").touch()


def sleeps(args: list[str], prog_name: str) -> None:
    time.sleep(600)


def eats_memory(args: list[str], prog_name: str) -> None:
    del [bytearray(os.urandom(1 << 20)) * 1700][0]


def outlives(args: list[str], prog_name: str) -> None:
    if os.fork() == 0:
        time.sleep(600)
        os._exit(0)


def writes_no_model(args: list[str], prog_name: str) -> None:
    OUTPUT.write_bytes(b"no model")
