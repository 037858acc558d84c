"""Run the command line: as `fuseconv`, and as `python -m fuseconv`."""

import gc
import os

from fuseconv.collector import importing
from fuseconv.process import end_at_signals


def main() -> None:
    end_at_signals()
    # What numpy multiplies matrices with starts a thread a core, each of which would wait for work in a loop for 20 ms
    # before it sleeps: 2^20 cycles are less than 1 ms.
    os.environ.setdefault("OPENBLAS_THREAD_TIMEOUT", "20")
    with importing():
        from fuseconv.cli import main as command  # takes a while, in which somebody may press Ctrl-C

    try:
        command(prog_name="fuseconv")
    finally:
        gc.freeze()  # else Python searches all modules for garbage, and takes them apart, before the process ends


if __name__ == "__main__":
    main()
