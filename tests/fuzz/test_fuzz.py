"""A run of the fuzzer, the defects that it found before, and what its judge sees."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.fuzz import bundles, bytecode, configs, damage, disk, grafts, graphs, tables
from tests.fuzz.blow_ups import BLOW_UPS
from tests.fuzz.cases import KINDS, OLD_OUTPUT, Case, plan, prepare
from tests.fuzz.child import SECRET
from tests.fuzz.judge import judge
from tests.fuzz.regressions import REGRESSIONS, checksum
from tests.fuzz.run import Servers, main, run_all, run_case, summary
from tests.fuzz.server import Outcome, Request

# As many as the weights of all kinds are together; `make fuzz` runs more.
CASES = 68
# Where the ways stand in which a kind does damage.
WAYS = {
    "bytes": (damage, "_WAYS"), "graph": (graphs, "_CHANGES"), "index": (bundles, "_WAYS"), "disk": (disk, "_WAYS"),
    "config": (configs, "_WAYS"), "sections": (bytecode, "_WAYS"),
    "graft": (grafts, "WAYS"), "tables": (tables, "WAYS"),
}  # fmt: skip


@pytest.fixture(scope="module")
def servers() -> Iterator[Servers]:
    with Servers() as servers:
        yield servers


@pytest.fixture
def left(monkeypatch: pytest.MonkeyPatch) -> dict[str, set[Any]]:
    """The ways of doing damage that no case has taken yet, by the kind of cases."""

    class Watched(tuple[Any, ...]):
        def __getitem__(self, index: Any) -> Any:
            way = super().__getitem__(index)
            for ways in found.values():
                ways.discard(way)
            return way

    found = {kind: {*getattr(module, name)} for kind, (module, name) in WAYS.items()}
    for module, name in WAYS.values():
        monkeypatch.setattr(module, name, Watched(getattr(module, name)))
    return found


def _cases(left: dict[str, set[Any]]) -> Iterator[Case]:
    """Cases of all kinds; each blow-up; then as many as it takes until there was every way of doing damage."""
    yield from (case for case in map(plan(1), range(CASES)) if case.kind != "blow-up")
    yield from (Case("blow-up", name, 1) for name in BLOW_UPS)
    for kind, ways in left.items():
        cases = map(plan(9, (kind,)), range(100))
        while ways and (case := next(cases, None)) is not None:
            yield case


def test_no_defect_is_found(left: dict[str, set[Any]], servers: Servers) -> None:
    results = [run_case(case, servers) for case in _cases(left)]
    assert {result.kind for result in results} == KINDS.keys()
    assert not any(left.values())
    assert not [result.case for result in results if result.defects], summary(results)


def test_cases_that_run_side_by_side_come_in_order() -> None:
    cases = [*map(plan(1, ("graph",)), range(5))]
    assert [result.case for result in run_all(cases)] == [case.name for case in cases]


def test_no_defect_is_found_again(servers: Servers) -> None:
    results = [run_case(Case.parse(name), servers) for name, _, _ in REGRESSIONS]
    assert not [result.case for result in results if result.defects], summary(results)


def test_regressions_are_the_models_that_they_were(tmp_path: Path) -> None:
    for number, (name, crc, why) in enumerate(REGRESSIONS):
        assert why
        assert checksum(name, tmp_path / str(number)) == crc, f"{name} names another model since its mutations changed"


def fake(command: str, servers: Servers, folder: Path, seconds: float = 60.0) -> tuple[Outcome, list[str]]:
    """What becomes of a command of `fakes`, and the groups of the defects that the judge sees."""
    case = folder / "case"
    for name in ("out", "tmp", "outside"):
        (case / name).mkdir(parents=True)
    (case / "outside" / "secret").write_text(SECRET)
    (case / "out" / "out.tflite").write_bytes(OLD_OUTPUT)
    request = Request(str(case), str(folder), str(case / "model.pb"), [], seconds, f"tests.fuzz.fakes:{command}")
    outcome = servers.run(request, with_keras=False)
    return outcome, [defect.group for defect in judge(outcome, request)]


@pytest.mark.parametrize("command", ["fine", "refuses"])
def test_what_is_well(command: str, servers: Servers, tmp_path: Path) -> None:
    assert fake(command, servers, tmp_path)[1] == []


@pytest.mark.parametrize(
    ("command", "group"),
    [
        ("leaves_a_file", "files left"),
        ("overwrites", "files left"),
        ("dies", "signal 11"),
        ("raises", "exit 125: "),
        ("has_a_defect", "exit 1: ?"),
        ("says_two_sentences", "sentence"),
        ("says_nothing", "sentence"),
        ("says_too_much", "sentence"),
        ("runs_out_of_memory", "memory"),
        ("reads_elsewhere", "does open"),
        ("reads_natively", "does native code reads the file outside"),
        ("leaks", "leak"),
        ("starts_a_program", "does subprocess.Popen"),
        ("connects", "does socket.connect"),
        ("unmarshals", "does marshal.loads"),
        ("writes_elsewhere", "files left"),
        ("eats_memory", "memory"),
        ("outlives", "process"),
        ("writes_no_model", "LiteRT refuses the file"),
    ],
)
def test_what_the_judge_sees(command: str, group: str, servers: Servers, tmp_path: Path) -> None:
    outcome, groups = fake(command, servers, tmp_path)
    assert group in groups, outcome


def test_a_command_without_end_is_killed(servers: Servers, tmp_path: Path) -> None:
    assert fake("sleeps", servers, tmp_path, seconds=1.0)[1] == ["time"]


def test_a_seed_gives_the_same_cases() -> None:
    first, again, other = ([case(n).name for n in range(200)] for case in (plan(3), plan(3), plan(4)))
    assert first == again != other
    assert len(set(first)) == 200
    assert {Case.parse(name).name for name in first} == set(first)


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind not in ("disk", "verify")])
def test_a_name_gives_the_same_bytes(kind: str) -> None:
    case = plan(5, (kind,))(7)
    assert case.kind == kind
    with tempfile.TemporaryDirectory() as first, tempfile.TemporaryDirectory() as second:
        assert checksum(case.name, Path(first)) == checksum(case.name, Path(second))


def test_a_case_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    name = plan(1, ("inspect",))(0).name
    assert main(["--case", name, "--keep", str(tmp_path / "kept")]) == 0
    assert f'"case": "{name}"' in capsys.readouterr().out
    assert (tmp_path / "kept" / "case" / "model.tflite").is_file()
    assert main(["--case", name, "--keep", str(tmp_path / "kept")]) == 2


def test_names_of_no_case() -> None:
    for name in ("graph", "graph/nothing/1", "nothing/frozen.pb/1", "graph/frozen.pb/x"):
        with pytest.raises(ValueError):
            Case.parse(name)
    assert main(["--only", "nothing"]) == 2


def test_a_defect_is_told_by_its_group(tmp_path: Path) -> None:
    case = plan(1, ("graph",))(0)
    request = prepare(case, tmp_path)
    outcome = Outcome(exit=1, stderr="fuseconv: error: this is a defect\n", trace="ir/graph.py:add KeyError")
    assert [defect.group for defect in judge(outcome, request)] == ["exit 1: ir/graph.py:add KeyError"]
