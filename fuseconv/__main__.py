"""Run the command line: as `fuseconv`, and as `python -m fuseconv`."""

from fuseconv.process import end_at_signals


def main() -> None:
    end_at_signals()
    from fuseconv.cli import main as command  # takes a while, in which somebody may press Ctrl-C

    command(prog_name="fuseconv")


if __name__ == "__main__":
    main()
