"""Runs the fuzzer: `python -m tests.fuzz.run [--seconds 600 | --cases 10000] [--seed 1] [--only KIND,...]`.

Ends with 1 if it finds a defect. One case alone, with its model kept: `--case KIND/SOURCE/SEED --keep DIR`.

It is not guided by coverage: atheris, which could do that, runs its cases in one process, so that a case's memory, its
files and what outlives it could not be told from those of the others.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import shlex
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import IO

from tests.fuzz.cases import KINDS, Case, plan, prepare
from tests.fuzz.judge import Defect, judge
from tests.fuzz.server import Outcome, Request
from tests.fuzz.sources import ROOT


@dataclass
class Result:
    """A case and what became of it."""

    case: str
    kind: str
    outcome: Outcome
    defects: list[Defect] = field(default_factory=list)


class Servers:
    """The fork servers of one thread, each started when it is first needed. A context manager."""

    def __init__(self) -> None:
        self._processes: dict[bool, subprocess.Popen[str]] = {}

    def __enter__(self) -> Servers:
        return self

    def __exit__(self, *error: object) -> None:
        for process in self._processes.values():
            _stream(process.stdin).close()
            process.wait(60)

    def run(self, request: Request, with_keras: bool) -> Outcome:
        """Runs a command. A busy machine gets more time: the limit is of a machine that does nothing else."""
        process = self._processes.get(with_keras) or self._start(with_keras)
        self._processes[with_keras] = process
        request.seconds *= max(1.0, os.getloadavg()[0] / (os.cpu_count() or 1))
        requests, answers = _stream(process.stdin), _stream(process.stdout)
        requests.write(json.dumps(asdict(request)) + "\n")
        requests.flush()
        answer = answers.readline()
        if not answer:
            raise RuntimeError(f"the fork server died with {process.wait()}, of {request.args}")
        return Outcome(**json.loads(answer))

    def _start(self, with_keras: bool) -> subprocess.Popen[str]:
        # Threads of native libraries would not survive a fork.
        alone = {"TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": "", "OMP_NUM_THREADS": "1"}
        return subprocess.Popen(
            [sys.executable, "-m", "tests.fuzz.server", *(["keras"] if with_keras else [])],
            cwd=ROOT, env=os.environ | alone | {"PYTHONPATH": os.fspath(ROOT)}, text=True, stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
        )  # fmt: skip


def _stream(stream: IO[str] | None) -> IO[str]:
    assert stream is not None
    return stream


def run_case(case: Case, servers: Servers, base: Path | None = None) -> Result:
    """Runs one case, in a folder that goes away unless it is given."""
    with tempfile.TemporaryDirectory(prefix="fuzz-") as temporary:
        request = prepare(case, base or Path(temporary))
        outcome = servers.run(request, case.needs_keras)
        return Result(case.name, case.kind, outcome, judge(outcome, request))


def run_all(cases: Iterable[Case], until: float | None = None, jobs: int = 2) -> Iterator[Result]:
    """Runs cases, `jobs` at a time; yields each result as it is there. until: when to start no more (monotonic)."""
    local = threading.local()
    opened: list[Servers] = []

    def one(case: Case) -> Result:
        if not hasattr(local, "servers"):
            local.servers = Servers()
            opened.append(local.servers)
        return run_case(case, local.servers)

    cases = iter(cases)
    try:
        with ThreadPoolExecutor(jobs) as pool:
            waiting = [pool.submit(one, case) for case in itertools.islice(cases, 2 * jobs)]
            while waiting:
                yield waiting.pop(0).result()
                if until is None or time.monotonic() < until:
                    waiting += [pool.submit(one, case) for case in itertools.islice(cases, 1)]
    finally:
        for servers in opened:
            servers.__exit__()


def summary(results: Iterable[Result]) -> str:
    """A line for each kind of cases, and the defects by their groups, the largest first."""
    counts: dict[str, Counter[str]] = {kind: Counter() for kind in KINDS}
    groups: dict[str, list[tuple[str, str]]] = {}
    for result in results:
        state = "defects" if result.defects else "ok" if result.outcome.exit == 0 else "refused"
        counts.setdefault(result.kind, Counter())[state] += 1
        for defect in result.defects[:1]:
            groups.setdefault(defect.group, []).append((result.case, defect.why))
    lines = [f"{'kind':12}{'cases':>8}{'ok':>8}{'refused':>8}{'defects':>8}"]
    total: Counter[str] = sum(counts.values(), Counter())
    for kind, found in [*counts.items(), ("all", total)]:
        if found:
            numbers = (sum(found.values()), *(found[state] for state in ("ok", "refused", "defects")))
            lines.append(f"{kind:12}" + "".join(f"{number:8}" for number in numbers))
    for group, members in sorted(groups.items(), key=lambda item: (-len(item[1]), item[0])):
        lines += ["", f"{len(members)} x {group}"]
        lines += [f"  {name}: {why}" for name, why in members[:5]]
    return "\n".join(lines)


def _one(name: str, keep: Path) -> int:
    """Runs one case, and tells everything about it."""
    keep.mkdir(parents=True, exist_ok=True)
    if any(keep.iterdir()):
        print(f"{keep} is not empty", file=sys.stderr)
        return 2
    with Servers() as servers:
        result = run_case(Case.parse(name), servers, keep.resolve())
    with tempfile.TemporaryDirectory() as folder:
        request = prepare(Case.parse(name), Path(folder))
        print(shlex.join(["fuseconv", *request.args]).replace(folder, os.fspath(keep.resolve())))
    print(json.dumps(asdict(result), indent=1))
    return 1 if result.defects else 0


def _many(options: argparse.Namespace) -> int:
    only = tuple(options.only.split(",")) if options.only else ()
    if not set(only) <= KINDS.keys():
        print(f"the kinds are {', '.join(KINDS)}", file=sys.stderr)
        return 2
    start = time.monotonic()
    until = None if options.cases else start + options.seconds
    numbers = range(options.cases) if options.cases else itertools.count()
    results = []
    for result in run_all(map(plan(options.seed, only), numbers), until, options.jobs):
        results.append(result)
        for defect in result.defects[:1]:
            print(f"{result.case}: {defect.group}: {defect.why[:300]}", flush=True)
    print(f"\n{summary(results)}\n\n{len(results)} cases in {time.monotonic() - start:.0f} s, seed {options.seed}")
    return 1 if any(result.defects for result in results) else 0


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Damages models, converts them, and judges what becomes of it.")
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--cases", type=int, default=0, help="a number of cases, in place of --seconds")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="", help=f"of these kinds: {', '.join(KINDS)}")
    parser.add_argument("--jobs", type=int, default=2, help="cases at a time")
    parser.add_argument("--case", help="only the case of this name")
    parser.add_argument("--keep", type=Path, help="where the model of --case stays")
    options = parser.parse_args(arguments)
    if not options.case:
        return _many(options)
    if options.keep:
        return _one(options.case, options.keep)
    with tempfile.TemporaryDirectory() as folder:
        return _one(options.case, Path(folder))


if __name__ == "__main__":
    sys.exit(main())
