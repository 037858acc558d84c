"""A case: a name that says everything - kind of damage, source, seed - and the command that is made of it.

Plain `random.Random(name)` makes the damage, not hypothesis. The name of a case is the report of a defect, so it must
mean the same on every machine and in every order of cases. The damage is seldom worth shrinking, as it is small
already. A change to a kind's mutations changes what its names mean, so that regressions (`regressions.py`) are recipes.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random

from tests.fuzz import (
    blow_ups,
    bundles,
    bytecode,
    chains,
    commands,
    configs,
    disk,
    grafts,
    graphs,
    ladders,
    messages,
    nodes,
    shared_tables,
    tables,
)  # fmt: skip
from tests.fuzz.child import SECRET
from tests.fuzz.damage import damage
from tests.fuzz.server import Request
from tests.fuzz.sources import Source, names, source

Files = dict[str, bytes]
OLD_OUTPUT = b"what was here before"
_FORMS = ("saved_model", "frozen", "keras", "bytecode", "tflite")


@dataclass(frozen=True)
class Case:
    """kind: of damage (`KINDS`); source: the name of the model; seed: of the random numbers."""

    kind: str
    source: str
    seed: int

    @property
    def name(self) -> str:
        return f"{self.kind}/{self.source}/{self.seed}"

    @classmethod
    def parse(cls, name: str) -> Case:
        """The case of that name. Raises ValueError if it is none's."""
        kind, _, rest = name.partition("/")
        of, _, seed = rest.rpartition("/")
        if kind not in KINDS or of not in KINDS[kind].sources():
            raise ValueError(f"{name} is the name of no case")
        return cls(kind, of, int(seed))

    @property
    def needs_keras(self) -> bool:
        """Whether it runs where TensorFlow is imported."""
        return self.kind in ("verify", "command") or self.source.endswith((".h5", ".keras"))


@dataclass(frozen=True)
class Kind:
    """A kind of damage. sources: the names of what it is done to; weight: its part of the cases, in some unit; make:
    the files of the damaged model."""

    make: Callable[[Random, Source], Files]
    sources: Callable[[], tuple[str, ...]]
    weight: int


def plan(seed: int, only: tuple[str, ...] = ()) -> Callable[[int], Case]:
    """The cases of a run by their number: kinds by their weight, each kind's sources in turn."""
    kinds = [kind for kind in KINDS if not only or kind in only]
    # One unit of each kind after the other, so that few cases are of all kinds.
    rounds = max(KINDS[kind].weight for kind in kinds)
    wheel = [kind for number in range(rounds) for kind in kinds if number < KINDS[kind].weight]
    orders = {kind: list(KINDS[kind].sources()) for kind in kinds}
    for kind, order in orders.items():
        Random(f"{seed}/{kind}").shuffle(order)

    def case(number: int) -> Case:
        kind = wheel[number % len(wheel)]
        turn = number // len(wheel) * wheel.count(kind) + wheel[: number % len(wheel)].count(kind)
        return Case(kind, orders[kind][turn % len(orders[kind])], seed * 1_000_000 + number)

    return case


def prepare(case: Case, base: Path) -> Request:
    """Writes the model of a case under `base`; returns the command to run."""
    rng = Random(case.name)
    folder = base / "case"
    for name in ("out", "tmp", "outside"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    (folder / "outside" / "secret").write_bytes(SECRET.encode())
    model = _write(case, rng, folder)
    if rng.random() < 0.5:
        (folder / "out" / "out.tflite").write_bytes(OLD_OUTPUT)
    command = _command(case, rng, folder, model)
    return Request(str(folder), str(base), str(model), *command, case.kind == "command")  # type: ignore[arg-type]


# Kinds whose models are made of nothing but a name.
_BUILT: dict[str, Callable[[str, Random], bytes]] = {
    "blow-up": blow_ups.build, "ladder": ladders.build, "node": nodes.build, "chain": chains.build,
}  # fmt: skip


def _write(case: Case, rng: Random, folder: Path) -> Path:
    if case.kind == "shared":
        of = Source(case.source, "tflite", {"": shared_tables.build(case.source, rng)}, ".tflite")
        return of.write(folder / "model")
    if case.kind in _BUILT:
        of = Source(case.source, "frozen", {"": _BUILT[case.kind](case.source, rng)}, ".pb")
        return of.write(folder / "model")
    of = source(case.source)
    if case.kind == "disk":
        return disk.arrange(rng, of, folder / "model", folder / "outside")
    if case.kind == "verify":
        whole = source(case.source.removesuffix(".tflite"))
        damaged = KINDS[case.kind].make(rng, of)
        replace(of, files=damaged).write(folder / "tmp" / "file")
        return whole.write(folder / "model")
    return of.write(folder / "model", KINDS[case.kind].make(rng, of))


def _command(case: Case, rng: Random, folder: Path, model: Path) -> tuple[list[str], float, str, bool]:
    """The arguments, the seconds, the command, and whether LiteRT must take what is written."""
    seconds, command = 20.0, Request.command
    if case.kind == "verify":
        return ["verify", str(model), str(folder / "tmp" / "file.tflite")], seconds, command, False
    if case.kind == "quantize":
        # In integers, the file would run (`tables` does that).
        form = rng.choice(("float16", "dynamic"))
        out = str(folder / "out" / "out.tflite")
        return ["quantize", str(model), "-o", out, "--quantize", form], seconds, command, True
    if case.source.endswith(".tflite"):
        return ["inspect", str(model), *rng.choice(([], ["--json"]))], seconds, command, False
    if case.kind == "command":
        whole = source(f"{case.source}.tflite").files[""]
        return commands.arguments(rng, folder, model, whole), 3 * seconds, command, False
    if case.kind == "shared":
        return _of_tables(rng, folder, model, "conv_bn.tflite"), 2 * seconds, command, True
    if case.kind == "tables":
        return _of_tables(rng, folder, model, case.source), 2 * seconds, command, True
    args = ["convert", str(model), "-o", str(folder / "out" / "out.tflite")]
    options = rng.choice(_OPTIONS)
    if "--report" in options:
        options = (*options, str(folder / "out" / "report.json"))
    custom = "--allow-custom-ops" in options or "--select-tf-ops" in options
    # Who asks for all checks waits for them, each of which has a limit.
    return [*args, *options], seconds * (10 if "always" in options else 1), command, not custom


_OPTIONS: tuple[tuple[str, ...], ...] = (
    (), (), (), ("--json",), ("--json",), ("--allow-custom-ops",), ("--select-tf-ops",), ("--batch-size", "2"),
    ("--rnn", "loop"), ("--rnn", "unroll"), ("--rnn", "auto"), ("--verify-fusions", "always"), ("--downcast-float64",),
    ("--report",), ("--no-fuse", "*"),
)  # fmt: skip


def _of_tables(rng: Random, folder: Path, model: Path, name: str) -> list[str]:
    """What one does with a .tflite file of another's."""
    out, whole = str(folder / "out" / "out.tflite"), source(name).files[""]
    (folder / "tmp" / "samples.npz").write_bytes(tables.samples(whole))
    data = ("--calibration-data", str(folder / "tmp" / "samples.npz"))
    way = rng.randrange(8)
    if way < 2:
        target = rng.choice(("gpu", "coreml", "xnnpack", "micro", "qnn", "mediatek", "openvino", "google-tensor"))
        return ["inspect", str(model), *rng.choice(([], ["--json"], ["--target", target], ["--micro-resolver"]))]
    if way < 6:
        form = rng.choice((("float16",), ("dynamic",), ("int4",), ("int8", *data), ("int8", *data), ("int16x8", *data)))
        return ["quantize", str(model), "-o", out, "--quantize", *form]
    if way == 6:
        (folder / "tmp" / "whole.tflite").write_bytes(whole)
        return ["compare", str(folder / "tmp" / "whole.tflite"), str(model), "--runs", rng.choice("01")]
    return ["profile", str(model), "--runs", "1"]


def _tables(rng: Random, of: Source) -> Files:
    return {"": tables.damage_tables(rng, of.files[""])}


def _bytes(rng: Random, of: Source) -> Files:
    """One file, or two, with its bytes damaged; pieces come from any other model of the form."""
    files = dict(of.files)
    other = source(rng.choice([name for name in names(of.form) if of.form != "tflite"] or [of.name]))
    for name in rng.sample(sorted(files), min(len(files), rng.choice((1, 1, 1, 2)))):
        files[name] = damage(rng, files[name], other.files.get(name, files[name]))
    return files


def _proto(change: Callable[[Random, messages.Model], None]) -> Callable[[Random, Source], Files]:
    """The files of a model whose protocol buffer is changed by this."""

    def make(rng: Random, of: Source) -> Files:
        name = "saved_model.pb" if of.form == "saved_model" else ""
        model = messages.parse(name, of.files[name])
        change(rng, model)
        return of.files | {name: model.SerializeToString(deterministic=True)}

    return make


def _graft(rng: Random, of: Source) -> Files:
    """A model with pieces of another one of any form."""
    donor = source(rng.choice(_graphs()))
    name, others = ("saved_model.pb" if one.form == "saved_model" else "" for one in (of, donor))
    model = messages.parse(name, of.files[name])
    grafts.graft(rng, model, messages.parse(others, donor.files[others]))
    return of.files | {name: model.SerializeToString(deterministic=True)}


def _settings(rng: Random, of: Source) -> Files:
    return {"": configs.damage_settings(rng, of.files[""], of.suffix)}


_INDEX = "variables/variables.index"


def _index(rng: Random, of: Source) -> Files:
    return of.files | {_INDEX: bundles.damage_index(rng, of.files[_INDEX])}


def _config(rng: Random, of: Source) -> Files:
    return {"": configs.damage_config(rng, of.files[""], of.suffix)}


def _members(rng: Random, of: Source) -> Files:
    return {"": configs.damage_members(rng, of.files[""], of.suffix)}


def _sections(rng: Random, of: Source) -> Files:
    return {"": bytecode.damage_sections(rng, of.files[""])}


@functools.cache
def _of_forms(*forms: str) -> tuple[str, ...]:
    return tuple(name for form in forms for name in names(form))


@functools.cache
def _with_index() -> tuple[str, ...]:
    return tuple(name for name in names("saved_model") if _INDEX in source(name).files)


def _graphs() -> tuple[str, ...]:
    return _of_forms("saved_model", "frozen")


KINDS: dict[str, Kind] = {
    "whole": Kind(lambda rng, of: of.files, lambda: _of_forms(*_FORMS), 1),
    "bytes": Kind(_bytes, _graphs, 3),
    "message": Kind(_proto(messages.mutate), _graphs, 6),
    "graph": Kind(_proto(graphs.mutate), _graphs, 9),
    "graft": Kind(_graft, _graphs, 4),
    "sizes": Kind(_proto(graphs.resize), _graphs, 3),
    "blow-up": Kind(lambda rng, of: {}, lambda: tuple(blow_ups.BLOW_UPS), 1),
    "ladder": Kind(lambda rng, of: {}, lambda: tuple(ladders.LADDERS), 3),
    "node": Kind(lambda rng, of: {}, nodes.ops, 9),
    "chain": Kind(lambda rng, of: {}, lambda: tuple(chains.CHAINS), 1),
    "index": Kind(_index, _with_index, 3),
    "disk": Kind(lambda rng, of: {}, lambda: _of_forms("saved_model", "frozen", "keras"), 1),
    "keras-bytes": Kind(_bytes, lambda: _of_forms("keras"), 1),
    "members": Kind(_members, lambda: _of_forms("keras"), 1),
    # The other files are refused for what they hold already.
    "config": Kind(_config, lambda: ("keras2.h5", "keras3.h5", "keras3.keras"), 3),
    "settings": Kind(_settings, lambda: ("keras2.h5", "keras3.h5", "keras3.keras"), 2),
    "module-bytes": Kind(_bytes, lambda: _of_forms("bytecode"), 1),
    "sections": Kind(_sections, lambda: _of_forms("bytecode"), 3),
    "command": Kind(lambda rng, of: of.files, lambda: _of_forms("saved_model", "frozen"), 2),
    "inspect": Kind(_bytes, lambda: _of_forms("tflite"), 3),
    "quantize": Kind(_bytes, lambda: _of_forms("tflite"), 3),
    "shared": Kind(lambda rng, of: {}, lambda: tuple(shared_tables.SHARED), 1),
    "tables": Kind(_tables, lambda: _of_forms("tflite"), 3),
    "verify": Kind(_bytes, lambda: _of_forms("tflite"), 1),
}
