"""Compare the files that two commits write: `make same BASE=main~5 [CASES=DIR] [ONLY=...]`, or
`python -m tests.bench.same BASE [--cases DIR] [--only A,B]`.

Each side converts every model of testdata/, the operator cases and the models of the benchmark in one process of its
own, and prints a digest of the bytes, or the sentence that refused it. Rows that differ are listed, and the exit
code is 1: a commit that moves code must leave every digest as it was, and one that improves files says which and why.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tests.bench.compare import BUILD, MODEL_DIRECTORY, checked_out
from tests.bench.models import chosen
from tests.bench.process import work

# What one side runs: digests of the models named on standard input, one JSON line each. It must run on any commit.
_DIGESTS = """
import hashlib, json, sys
import fuseconv
from fuseconv.errors import FuseconvError
for line in sys.stdin:
    path = line.rstrip("\\n")
    try:
        digest = hashlib.sha256(fuseconv.convert(path, verify_fusions="never").data).hexdigest()
    except FuseconvError as error:
        digest = f"{type(error).__name__}: {error}"
    print(json.dumps([path, digest]), flush=True)
"""


def models(cases: Path, only: str = "") -> list[Path]:
    """The models to convert: those of testdata/ and of the benchmark, or of the latter `only` some; operator cases."""
    testdata = [path for path in sorted(Path("testdata").iterdir()) if path.name != "opcases" and path.suffix != ".py"]
    names = chosen(only)
    for name in names:
        work("make", name, MODEL_DIRECTORY)
    return [*testdata, *(MODEL_DIRECTORY / name for name in names), *sorted(cases.glob("*/saved_model"))]


def digests(tree: Path, paths: list[Path]) -> dict[str, str]:
    """The digest of the file that the fuseconv of a tree makes of each model, or why it makes none, by path."""
    child = subprocess.run(
        [sys.executable, "-c", _DIGESTS], cwd=tree, capture_output=True, text=True, check=False,
        input="".join(f"{path.resolve()}\n" for path in paths),
    )  # fmt: skip
    if child.returncode:
        raise SystemExit(f"{tree} ended with exit code {child.returncode}: {child.stderr[-2000:]}")
    return dict(map(json.loads, child.stdout.splitlines()))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("base", help="the commit to compare with")
    parser.add_argument("--cases", type=Path, default=Path("testdata/opcases"), help="a directory of operator cases")
    parser.add_argument("--only", default="", help="models of the benchmark, with commas between them")
    options = parser.parse_args()
    BUILD.mkdir(exist_ok=True)
    paths = models(options.cases, options.only)
    with checked_out(options.base) as base, ThreadPoolExecutor(2) as pool:
        before, after = pool.map(lambda tree: digests(tree, paths), (base, Path.cwd()))
    changed = [path for path in before if before[path] != after[path]]
    for path in changed:
        print(f"{os.path.relpath(path)}\n    base: {before[path]}\n    head: {after[path]}")
    print(f"{len(before) - len(changed)} of {len(before)} files are the same to the bit")
    return 1 if changed else 0


if __name__ == "__main__":
    sys.exit(main())
