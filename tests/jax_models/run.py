"""Converts models of JAX, Flax and Keras on JAX: `make jax-models`, or
`python -m tests.jax_models.run [--only A,B] [--json]`."""

from __future__ import annotations

import argparse
import json
import shutil
import sys
from datetime import date
from fnmatch import fnmatchcase
from importlib.metadata import version
from pathlib import Path
from typing import Any

from tests.bench.process import Limits, WorkerError, run
from tests.jax_models import table
from tests.jax_models.kinds import FORMS, KINDS

FOLDER = Path("build/jax-models")
_LIMITS = Limits(300, 64)


def measure(kind: str, reuse: bool) -> dict[str, Any]:
    """Return what becomes of a kind, by form; reuse: take JAX's and TensorFlow's models and files of an earlier run."""
    folder = FOLDER / kind
    made = folder / "peer.json"
    if not (reuse and made.exists()):
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        try:
            _step("make", kind, folder, KERAS_BACKEND="jax")
            _step("twin", kind, folder, KERAS_BACKEND="tensorflow")
        except WorkerError as error:
            return {form: {"refused": f"not built: {error}"} for form in FORMS}
        made.write_text(json.dumps({form: _try("peer", kind, folder, form) for form in FORMS}))
    peer = json.loads(made.read_text())
    found = {form: _try("ours", kind, folder, form) for form in FORMS}
    return {form: found[form] | {"peer": found[form].get("peer", {}) | peer[form]} for form in FORMS}


def _step(action: str, kind: str, folder: Path, *form: str, **environment: str) -> Any:
    process = run(
        ["-m", "tests.jax_models.worker", action, kind, folder, *form], _LIMITS, JAX_PLATFORMS="cpu", **environment
    )
    return json.loads(process.output.splitlines()[-1])


def _try(action: str, kind: str, folder: Path, form: str) -> dict[str, Any]:
    try:
        return _step(action, kind, folder, form)
    except WorkerError as error:
        return {"refused": str(error).rpartition("WorkerError: ")[2]}


def main() -> int:
    parser = argparse.ArgumentParser(description="Converts models of JAX, Flax and Keras on JAX.")
    parser.add_argument("--only", default="", help="kinds, with commas between them; * stands for anything")
    parser.add_argument("--json", action="store_true", help="the outcomes as JSON in place of a table")
    parser.add_argument("--reuse", action="store_true", help=f"take the models and TFLiteConverter's files of {FOLDER}")
    parser.add_argument("--write", action="store_true", help="write the table into the README")
    options = parser.parse_args()
    patterns = options.only.split(",") if options.only else ["*"]
    names = [kind for kind in KINDS if any(fnmatchcase(kind, pattern) for pattern in patterns)]
    if not names:
        parser.error(f"no kind is named {options.only}")
    found = {}
    for kind in names:
        found[kind] = measure(kind, options.reuse)
        print(f"{kind}: {table.failures(kind, found[kind]) or 'all holds'}", file=sys.stderr, flush=True)
    packages = ("jax", "flax", "keras", "tensorflow", "ai-edge-litert")
    facts = f"{date.today()}: {', '.join(f'{name} {version(name)}' for name in packages)}."
    text = json.dumps(found, indent=1) if options.json else table.markdown(found, facts)
    print(text)
    if options.write:
        table.write(text)
    return 1 if any(table.failures(kind, outcome) for kind, outcome in found.items()) else 0


if __name__ == "__main__":
    sys.exit(main())
