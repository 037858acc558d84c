"""Run the command line as `python -m fuseconv`."""

from fuseconv.cli import main

if __name__ == "__main__":
    main(prog_name="fuseconv")
