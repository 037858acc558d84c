"""Modules that are exported for several platforms: what runs on one of them.

`main` takes the number of the platform, which JAX hands on to each function that asks for it: case(index) {0, 2, 1}
numbers the forms that an op has, case(that) {...} holds them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from fuseconv.errors import ILL_FITTING, InputError
from fuseconv.load.stablehlo.attributes import UnreadError
from fuseconv.load.stablehlo.bytecode import Module, Operation, Region, Var, told
from fuseconv.load.stablehlo.cursor import DamagedError
from fuseconv.load.stablehlo.ops.loops import read_outside
from fuseconv.load.stablehlo.scope import text

_MAIN = "main"
# What JAX says of an argument that the runtime gives, and the name of this one.
_GLOBAL, _INDEX = "jax.global_constant", "_platform_index"
_CALLEES = {"call": "callee", "composite": "decomposition"}
_HANDING = frozenset({*_CALLEES, "return"})
# What is in the names of cases that ask for the platform for the program.
_ASKED = "platform_index"
_UNTOLD = -1
_MOST_DEPTH = 64
_MOST_PLATFORMS = 16
# How the names of functions begin that the CPU alone has, and of those that only CUDA, ROCm or TPUs have.
_OF_CPU = ("lapack_", "blas_")
_OF_OTHERS = (
    "cu_", "cublas", "cudnn", "cufft", "cusolver", "cusparse", "hip", "roc", "__cu", "__gpu", "triton", "tpu_",
    "Eigh", "LuDecomposition", "Qr",
)  # fmt: skip


def takes_index(module: Module, name: str) -> bool:
    """Return whether the first argument of `main` is the number of the platform that it is to run on. Raises InputError
    if the module is damaged. name: of the file, for the sentence."""
    main = module.functions.get(_MAIN)
    with told(name):
        attrs = main.attribute("arg_attrs") if main is not None and main.has("arg_attrs") else None
    first = attrs[0] if isinstance(attrs, list) and attrs else None
    return isinstance(first, dict) and first.get(_GLOBAL) == _INDEX


def taken_branches(module: Module, index: int) -> dict[Operation, Region]:
    """Return what runs of each case that the number of the platform decides. index: that number."""
    run = _run(module, index)
    return {} if run.is_unsure else run.taken


def index_of_cpu(module: Module, name: str, platforms: Sequence[str] = ()) -> int:
    """Return the number of the CPU. platforms: their names, if they are told; a module alone does not say.

    Without a name, it is that of what calls functions of the CPU's, else that of what calls none of another platform's,
    if these all compute the same. Raises InputError if that does not tell, or if names are told without the CPU and not
    all platforms compute the same. name: of the file or node, for the sentence."""
    known = [platform.lower() for platform in platforms]
    if "cpu" in known:
        return known.index("cpu")
    with told(name):
        runs = _runs(module)
    fit = [run for run in runs if run.calls(_OF_CPU)] or [run for run in runs if not run.calls(_OF_OTHERS)] or runs
    if _same(fit if not known else runs):
        return fit[0].index
    if known:
        raise InputError(f"{name} is exported for {', '.join(known)}; export it for the CPU: platforms=['cpu'].")
    raise InputError(
        f"{name} is exported for several platforms, which compute in different ways, and does not say which of them is "
        "the CPU; export it for one: platforms=['cpu'], or give fuseconv.convert the jax.export.Exported itself."
    )


def _same(runs: Sequence[_Run]) -> bool:
    return all(run.form == runs[0].form and not run.is_unsure for run in runs)


def _runs(module: Module) -> list[_Run]:
    """Return what runs on each platform."""
    found = [_run(module, 0)]
    while len(found) < min(found[-1].count, _MOST_PLATFORMS):
        found.append(_run(module, len(found)))
    found[0].is_unsure |= found[-1].count > _MOST_PLATFORMS
    return found


def _run(module: Module, index: int) -> _Run:
    try:
        return _Run(module, index)
    except (DamagedError, UnreadError):
        raise
    except ILL_FITTING as error:
        raise DamagedError(f"what it does on a platform is ill-formed: {error!r}") from error


class _Run:
    """What runs on a platform.

    taken: the branch of each case that the platform's number decides. form: all ops, in a form in which equal programs
    are equal; the forms that JAX has of an op compute the same, so that the op stands for them. targets: the functions
    outside of StableHLO that are called. count: how many platforms there seem to be. is_unsure: a function is called
    for several numbers, so that what is taken in it is not known."""

    def __init__(self, module: Module, index: int) -> None:
        self.index = index
        self.taken: dict[Operation, Region] = {}
        self.form: list[Any] = []
        self.targets: set[str] = set()
        self.count = 1
        self.is_unsure = False
        self._functions = module.functions
        self._same_as: dict[Var, Var] = {}
        self._numbers: dict[Var, int] = {}
        self._next = self._muted = 0
        self._walked = {_MAIN: 0}
        main = self._function(_MAIN)
        if not main.arguments:
            raise DamagedError("main takes no number of a platform")
        self._platform = main.arguments[0]
        self._count(main.arguments)
        self._walk(main.ops, 0)

    def calls(self, names: tuple[str, ...]) -> bool:
        """Return whether a function is called whose name begins with one of these."""
        return any(target.startswith(names) for target in self.targets)

    def _function(self, name: str) -> Region:
        if name not in self._functions:
            raise DamagedError(f"there is no function {name}")
        return self._functions[name].regions[0]

    def _known(self, var: Var) -> int | None:
        """Return the number that a variable holds, if the number of the platform decided it."""
        found = self._same_as.get(var, var)
        if found is self._platform:
            return self.index
        return None if found is var else _number(found)

    def _walk(self, ops: Sequence[Operation], depth: int) -> None:
        if depth > _MOST_DEPTH:
            raise DamagedError(f"its functions and regions stand in each other more than {_MOST_DEPTH} deep")
        for op in ops:
            if op.name == "case" and op.operands and op.regions and self._known(op.operands[0]) is not None:
                self._take(op, depth)
            elif op.name in _CALLEES:
                self._call(op, depth)
            elif self._hands_on(op):
                self._let(op.results[0], op.operands[len(op.operands) // 2])
            elif op.name != "constant":  # which is told where it is read
                self._tell(op, depth, {})

    def _take(self, op: Operation, depth: int) -> None:
        index = self._known(op.operands[0])
        if self._is_platform(op.operands[0]):
            self.count = max(self.count, len(op.regions))
        inside = range(len(op.regions))
        branch = self.taken[op] = op.regions[index if index in inside else -1]  # type: ignore[index]
        is_form = self._chooses_form(op)
        self._muted += is_form
        self._walk(branch.ops[:-1], depth + 1)
        self._muted -= is_form
        for result, var in zip(op.results, branch.returned):
            self._let(result, var)
        if is_form and not self._muted:
            read = [var for var in read_outside(*op.regions) if self._known(var) is None]
            self.form.append((op.place, [self._told(var) for var in read]))
            self._count([self._same_as[result] for result in op.results])

    def _chooses_form(self, op: Operation) -> bool:
        """Return whether a case holds the forms that JAX has of an op: the platform's number alone numbers them, in
        another case, and both have the name of that op. What a program's own `platform_dependent` makes has not."""
        numbering = op.operands[0].op
        own = numbering in self.taken and self._is_platform(numbering.operands[0]) and numbering.place == op.place
        return own and op.place != "" and _ASKED not in op.place

    def _is_platform(self, var: Var) -> bool:
        return self._same_as.get(var, var) is self._platform

    def _call(self, op: Operation, depth: int) -> None:
        name = text(op.attribute(_CALLEES[op.name]))
        returned = self._enter(name, op.operands, depth)
        self._tell(op, depth, {_CALLEES[op.name]: self._walked[name]})
        for result, var in zip(op.results, returned):
            if self._known(var) is not None:
                self._let(result, var)

    def _enter(self, name: str, operands: Sequence[Var], depth: int) -> list[Var]:
        """Walk a function, the first time that it is called; return what it returns."""
        callee = self._function(name)
        handed = [self._known(var) for var in operands] or [None] * len(callee.arguments)
        if name in self._walked:
            self.is_unsure |= handed != [self._known(var) for var in callee.arguments]
            if self._walked[name] == _UNTOLD and not self._muted:
                self.form.append(self)  # which is no other platform's
            return callee.returned
        self._walked[name] = _UNTOLD if self._muted else len(self.form)
        for argument, operand in zip(callee.arguments, operands):
            if self._known(operand) is not None:
                self._let(argument, operand)
        self._count(callee.arguments)
        self._walk(callee.ops, depth + 1)
        return callee.returned

    def _hands_on(self, op: Operation) -> bool:
        """Return whether an op makes of the platform's number, or of what it decided, the same: conversions do, and
        bounds that it is within."""
        if op.name == "convert":
            return len(op.results) == 1 and self._known(op.operands[0]) is not None
        if op.name != "clamp" or len(op.operands) != 3:
            return False
        least, held, most = _number(op.operands[0]), self._known(op.operands[1]), _number(op.operands[2])
        return None not in (least, held, most) and least <= held <= most  # type: ignore[operator]

    def _let(self, var: Var, same: Var) -> None:
        self._same_as[var] = self._same_as.get(same, same)

    def _tell(self, op: Operation, depth: int, said: dict[str, int]) -> None:
        """Add an op to the form. said: what stands for some of its attributes there."""
        if op.name == "custom_call":
            self.targets.add(text(op.attribute("call_target_name")))
            called = op.attribute("called_computations") if op.has("called_computations") else []
            if not isinstance(called, list):
                raise DamagedError("what a custom_call calls is no list of functions")
            for name in called:
                self._enter(text(name), (), depth)
        # What a function is handed, and hands on, of the number itself is told where it decides.
        read = [var for var in op.operands if op.name not in _HANDING or self._known(var) is None]
        told, types = [self._told(var) for var in read], [var.type for var in op.results]
        if not self._muted:
            self.form.append((op.name, told, op.properties | said, types, len(op.regions)))
        self._count(op.results)
        for region in op.regions:
            self._count(region.arguments)
            self._walk(region.ops, depth + 1)

    def _count(self, made: Sequence[Var]) -> None:
        for var in made:
            self._numbers[var] = _UNTOLD if self._muted else self._next
            self._next += not self._muted

    def _told(self, var: Var) -> Any:
        """Return what stands for a variable: a constant by its number among the attributes, which are all different."""
        found = self._same_as.get(var, var)
        if found is self._platform:
            return "platform", self.index
        if found.op is not None and found.op.name == "constant":
            return "constant", found.op.properties.get("value")
        return self._numbers[found]


def _number(var: Var) -> int | None:
    """Return the number of a constant that is one whole number."""
    if var.op is None or var.op.name != "constant":
        return None
    value = var.op.attribute("value")
    whole = isinstance(value, np.ndarray) and value.shape == () and value.dtype.kind in "iu"
    return int(value) if whole else None
