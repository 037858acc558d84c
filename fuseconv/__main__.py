"""Run the command line: as `fuseconv`, and as `python -m fuseconv`."""

import gc

from fuseconv.collector import importing
from fuseconv.process import end_at_signals


def main() -> None:
    end_at_signals()
    with importing():
        from fuseconv.cli import main as command  # takes a while, in which somebody may press Ctrl-C

    try:
        command(prog_name="fuseconv")
    finally:
        gc.freeze()  # else Python searches all modules for garbage, and takes them apart, before the process ends


if __name__ == "__main__":
    main()
