"""Runs operator cases: `python -m tests.opcases DIRECTORY`, a table by op; exits with 1 if any case is wrong.

A case is a directory with `saved_model/`, `inputs.npz`, `outputs.npz` (TensorFlow's results) and `case.json`. It is
converted and run in worker processes, so that a crash or a hang costs one case; TensorFlow is not imported.
"""

from __future__ import annotations

import argparse
import json
import queue
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO, Any

# pass; refused: the converter said that it cannot; wrong: other numbers, types or shapes; error: anything else.
STATES = ("pass", "refused", "wrong", "error")
_TOLERANCES = {"float16": (1e-2, 1e-2), "bfloat16": (1e-2, 1e-2), "float64": (1e-3, 1e-4), "float32": (1e-3, 1e-4)}
_LONGEST_REASON = 300
_WORKER = (sys.executable, "-m", "tests.opcases", "--worker")


@dataclass
class Outcome:
    """What became of a case, and why."""

    case: str
    op: str
    state: str
    why: str = ""
    seconds: float = 0.0


def run_case(path: Path) -> Outcome:
    """Converts one case and runs the file in the stock interpreter. Raises what these raise."""
    start = time.perf_counter()
    case = json.loads((path / "case.json").read_text())
    state, why = _judge(path, case)
    return Outcome(path.name, case["op"], state, why[:_LONGEST_REASON], time.perf_counter() - start)


def _judge(path: Path, case: dict[str, Any]) -> tuple[str, str]:
    import fuseconv
    from fuseconv.errors import UnsupportedError

    try:
        data = fuseconv.convert(path / "saved_model").data
    except UnsupportedError as error:
        return "refused", "; ".join(f"{op}: {why}" for op, _, why in error.ops) or str(error)
    return compare(data, path, case)


def compare(data: bytes | None, path: Path, case: dict[str, Any]) -> tuple[str, str]:
    """Whether a file gives a case's outputs: the state, and what is wrong."""
    import numpy as np
    from ai_edge_litert.interpreter import Interpreter

    given = np.load(path / "inputs.npz", allow_pickle=True)
    expected = np.load(path / "outputs.npz", allow_pickle=True)
    interpreter = Interpreter(model_content=data)
    runner = interpreter.get_signature_runner()
    # A runner holds on to the tensors: only what it tells is kept.
    inputs, outputs = (
        {name: detail["index"] for name, detail in details.items()}
        for details in (runner.get_input_details(), runner.get_output_details())
    )
    del runner
    for entry in case["inputs"]:
        if entry["name"] in inputs and given[entry["key"]].shape != tuple(_shape(interpreter, inputs[entry["name"]])):
            interpreter.resize_tensor_input(inputs[entry["name"]], given[entry["key"]].shape)
    interpreter.allocate_tensors()
    for entry in case["inputs"]:
        if entry["name"] in inputs and given[entry["key"]].size:
            interpreter.set_tensor(inputs[entry["name"]], given[entry["key"]])
    interpreter.invoke()
    details = {detail["index"]: detail for detail in interpreter.get_tensor_details()}
    for entry in case["outputs"]:
        if entry["name"] not in outputs:
            return "wrong", f"the file has no output {entry['name']}"
        why = _difference(interpreter, details[outputs[entry["name"]]], expected[entry["key"]], entry, case)
        if why:
            return "wrong", f"{entry['name']}: {why}"
    return "pass", ""


def _shape(interpreter: Any, index: int) -> list[int]:
    return next(d["shape"].tolist() for d in interpreter.get_input_details() if d["index"] == index)


def _difference(interpreter: Any, detail: dict[str, Any], expected: Any, entry: dict, case: dict) -> str:
    import numpy as np

    kind = np.dtype(detail["dtype"]).kind
    name = "string" if kind in "OSU" else np.dtype(detail["dtype"]).name
    if name != entry["dtype"]:
        return f"its type is {name}, not {entry['dtype']}"
    shape = tuple(detail["shape"])
    actual = np.empty(shape, expected.dtype) if 0 in shape else interpreter.get_tensor(detail["index"])
    if actual.shape != expected.shape:
        return f"its shape is {list(actual.shape)}, not {list(expected.shape)}"
    if case["nondeterministic"] or not expected.size:
        return ""
    if kind not in "fcV":
        count = int((actual != expected).sum())
        return f"{count} of {expected.size} elements differ" if count else ""
    wide = np.complex128 if kind == "c" else np.float64
    a, b = actual.astype(wide), expected.astype(wide)
    rtol, atol = _TOLERANCES.get(name, (1e-3, 1e-4))
    near = np.isclose(a, b, rtol=rtol, atol=atol, equal_nan=True)
    if near.all():
        return ""
    place = tuple(int(i) for i in np.argwhere(~near)[0])
    return f"{int((~near).sum())} of {near.size} elements differ, {a[place]:.6g} for {b[place]:.6g} at {list(place)}"


class Worker:
    """A process that answers a case, its path or name on a line, with its outcome in JSON, a line; an error ends it."""

    def __init__(self, command: Sequence[str]) -> None:
        self.log: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 (closed by `end`)
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.log, text=True
        )

    def ask(self, path: Path | str, timeout: float) -> str | None:
        """The answer; None if the worker died or took too long, and is dead now."""
        assert self.process.stdin is not None and self.process.stdout is not None
        timer = threading.Timer(timeout, self.process.kill)
        timer.start()
        try:
            self.process.stdin.write(f"{path}\n")
            self.process.stdin.flush()
            return self.process.stdout.readline() or None
        except BrokenPipeError:
            return None
        finally:
            timer.cancel()

    def end(self) -> str:
        """Ends the process; returns the last that it said."""
        self.process.kill()
        self.process.communicate()
        self.log.seek(0)
        said = self.log.read().decode(errors="replace").strip().splitlines()
        self.log.close()
        return said[-1] if said else ""


def run(paths: Sequence[Path], jobs: int, timeout: float, command: Sequence[str] = _WORKER) -> list[Outcome]:
    """The outcome of each case, in order; `timeout` is in seconds a case, `command` starts a worker."""
    pending: queue.SimpleQueue[Path] = queue.SimpleQueue()
    for path in paths:
        pending.put(path)
    outcomes: dict[Path, Outcome] = {}

    def serve() -> None:
        worker = Worker(command)
        while True:
            try:
                path = pending.get_nowait()
            except queue.Empty:
                break
            start = time.perf_counter()
            answer = worker.ask(path, timeout)
            if answer is not None:
                outcomes[path] = Outcome(**json.loads(answer))
                continue
            seconds = time.perf_counter() - start
            said = worker.end()
            code = worker.process.returncode
            why = f"no answer in {timeout:g} s" if seconds >= timeout else said or f"the process died ({code})"
            op = json.loads((path / "case.json").read_text())["op"]
            outcomes[path] = Outcome(path.name, op, "error", why[:_LONGEST_REASON], seconds)
            worker = Worker(command)
        worker.end()

    threads = [threading.Thread(target=serve) for _ in range(jobs)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return [outcomes[path] for path in paths]


def table(outcomes: Sequence[Outcome]) -> str:
    """The outcomes by op, one line an op, then each case that did not pass with the reason."""
    by_op: dict[str, Counter] = {}
    for outcome in outcomes:
        by_op.setdefault(outcome.op, Counter())[outcome.state] += 1
    total = sum(by_op.values(), Counter())
    width = max((len(op) for op in by_op), default=0)
    rows: list[tuple[str, ...]] = [("op", *STATES)]
    rows += [(op, *(str(counts[state] or ".") for state in STATES)) for op, counts in sorted(by_op.items())]
    rows.append(("all", *(str(total[state]) for state in STATES)))
    lines = [f"{row[0]:<{width}} " + " ".join(f"{cell:>7}" for cell in row[1:]) for row in rows]
    failing = [o for state in ("wrong", "error", "refused") for o in outcomes if o.state == state]
    if failing:
        lines.append("")
    lines += [f"{o.state:<8} {o.case}: {o.why}" for o in failing]
    share = total["pass"] / max(1, len(outcomes))
    lines.append(f"\n{total['pass']} of {len(outcomes)} cases pass ({share:.1%}); {total['wrong']} are wrong")
    return "\n".join(lines)


def find(directory: Path, only: Sequence[str] = ()) -> list[Path]:
    """The cases in a directory, or those of the ops or names in `only`."""
    found = sorted(path.parent for path in directory.glob("*/case.json"))
    if only:
        found = [path for path in found if path.name in only or path.name.rpartition("__")[0] in only]
    return found


def _work() -> None:
    answers, sys.stdout = sys.stdout, sys.stderr
    for line in sys.stdin:
        answers.write(json.dumps(asdict(run_case(Path(line.rstrip("\n"))))) + "\n")
        answers.flush()


def main() -> int:
    parser = argparse.ArgumentParser(description="Runs operator cases; exits with 1 if one gives a wrong result.")
    parser.add_argument("directory", type=Path, nargs="?")
    parser.add_argument("--only", default="", help="names of ops or cases, with commas between them")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--timeout", type=float, default=60, help="seconds a case")
    parser.add_argument("--json", action="store_true", help="the outcomes as JSON in place of a table")
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        _work()
        return 0
    if options.directory is None:
        parser.error("which directory?")
    paths = find(options.directory, [name for name in options.only.split(",") if name])
    if not paths:
        parser.error(f"there are no cases in {options.directory}")
    outcomes = run(paths, options.jobs, options.timeout)
    print(json.dumps([asdict(o) for o in outcomes], indent=1) if options.json else table(outcomes))
    return 1 if any(outcome.state == "wrong" for outcome in outcomes) else 0


if __name__ == "__main__":
    sys.exit(main())
