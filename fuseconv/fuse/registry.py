"""Registry of the fusions, passes and lowering rules of converter modules."""

from __future__ import annotations

import fnmatch
import functools
import reprlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from types import ModuleType
from typing import Any

import fuseconv.tfl.ops  # noqa: F401  fills the table
from fuseconv.collector import importing
from fuseconv.errors import InputError, is_ours, suggestion
from fuseconv.fuse.guard import folder, shape_function
from fuseconv.fuse.match import Fusion
from fuseconv.ir.op_function import OpFunction, op_function
from fuseconv.ir.op_table import OpTable
from fuseconv.pass_manager import Pass
from fuseconv.report.records import Report
from fuseconv.targets.target import Target
from fuseconv.tf import folders, shape_functions
from fuseconv.tfl.opdef import TABLE as TFLITE_OPS

# The lists that a module may offer, and how much alike a misspelt name is: FUSION and FUSIONS are by 0.92.
_LISTS = ("FUSIONS", "CUSTOM_OBJECTS", "TARGETS")
_ALIKE = 0.85
_KERAS = frozenset({"keras", "tf_keras", "tensorflow"})


class Registry:
    """The converter modules of one conversion: `Registry(*modules)`.

    A module offers fusions in a list `FUSIONS`, lowering rules as functions marked with `@lowers`, shape functions with
    `@infers` and folders with `@kernel`. Two that claim one name are an InputError that names both owners.

    passes: those that modules offer, functions marked with `@module_pass(..., before=...)` or `after=`.
    keras_layers: what layers of Keras files compute, functions marked with `@layer`.
    targets: those that modules offer in a list `TARGETS`, besides fuseconv's own.
    offered_ops: ops that modules besides fuseconv's own offer functions for, each with what a sentence calls these.
    custom_objects: the classes and functions that a module offers in a dict `CUSTOM_OBJECTS`, by the names that Keras
    files have for them. (Those that it registers with Keras are found without it.)
    """

    def __init__(self, *modules: ModuleType) -> None:
        self._fusions: OpTable[Fusion] = OpTable()
        self.rules: OpTable[OpFunction] = OpTable("lowers", op_function)
        self._shapes: OpTable[OpFunction] = OpTable("infers", shape_function, shape_functions.TABLE)
        self._folders: OpTable[OpFunction] = OpTable("kernel", folder, folders.TABLE)
        self.keras_layers: OpTable[Any] = OpTable("keras_layers", lambda function, name: function.keras_layers[name])
        self._targets: OpTable[Target] = OpTable()
        self.custom_objects: dict[str, Any] = {}
        self.passes: list[Pass] = []
        self.offered_ops: list[tuple[str, str]] = []
        # What the user should know of the modules.
        self.warnings: list[str] = []
        self._modules: list[ModuleType] = []
        for module in modules:
            self.add(module)

    @classmethod
    def builtin(cls) -> Registry:
        """Return the modules that come with fuseconv, in a registry of the caller's own."""
        registry, shared = cls(), _builtin()
        registry._fusions, registry.rules = shared._fusions.copy(), shared.rules.copy()
        registry._modules = list(shared._modules)
        return registry

    def add(self, module: ModuleType, origin: str = "") -> None:
        """Register the fusions, rules and passes of a module, once. Rules that it has imported from elsewhere are not
        its own.

        origin: how listings call the module, by default by its name. Raises InputError if it offers something else."""
        if module in self._modules:
            return
        self._modules.append(module)
        origin = origin or module.__name__
        if not module.__name__.startswith("fuseconv."):
            self._warn_of_names(module, origin)
        before = self._offered
        for fusion in _listed(module, "FUSIONS", Fusion, origin):
            self._fusions.claim(fusion.name, fusion, origin)
            told = fusion.emits in TFLITE_OPS or is_ours(fusion.rewrite)
            if alike := "" if told else suggestion(fusion.emits, TFLITE_OPS):
                what = f"the fusion {fusion.name} of {origin}"
                self.warnings.append(f"{what} emits {fusion.emits}, no op of TFLite{alike}")
        for target in _listed(module, "TARGETS", Target, origin):
            self._targets.claim(target.name, target, origin)
        for table in (self.rules, self._shapes, self._folders, self.keras_layers):
            table.collect(module, origin)
        if not module.__name__.startswith("fuseconv."):
            tables = {"rule": self.rules, "shape function": self._shapes, "folder": self._folders}
            self.offered_ops += [
                (name, f"the {what} for {name} of {origin}")
                for what, table in tables.items() for name, owner in table.owners.items() if owner == origin
            ]  # fmt: skip
        for item in vars(module).values():
            if isinstance(item, Pass) and item.function.__module__ == module.__name__:
                self._add_pass(item, origin)
        objects = getattr(module, "CUSTOM_OBJECTS", {})
        if not isinstance(objects, Mapping) or not all(isinstance(name, str) for name in objects):
            raise InputError(f"CUSTOM_OBJECTS of {origin} must be a dict of objects by their names, not {objects!r}")
        self.custom_objects |= objects
        if self._offered == before and not objects and not _uses_keras(module):
            what = f"no {', '.join(_LISTS)}, rule, pass or layer"
            self.warnings.append(f"the plug-in {origin} offers nothing: {what}")

    @property
    def _offered(self) -> int:
        """Return how much the modules have offered so far, but for custom objects."""
        tables: list[dict] = [
            self._fusions, self._targets, self.rules, self._shapes, self._folders, self.keras_layers
        ]
        return sum(map(len, tables)) + len(self.passes)

    def _warn_of_names(self, module: ModuleType, origin: str) -> None:
        """Warn of names that look like a misspelt `FUSIONS` or `CUSTOM_OBJECTS`, which nothing would read."""
        from difflib import get_close_matches  # for plug-ins only

        for name, value in vars(module).items():
            # `Fusion` and `Target` are what modules import to write the lists.
            named = name in _LISTS or isinstance(value, type)
            alike = [] if named else get_close_matches(name.upper(), _LISTS, 1, _ALIKE)
            if alike and alike[0] not in vars(module):
                self.warnings.append(f"the plug-in {origin} has {name}, which is not read; did you mean {alike[0]}?")

    def _add_pass(self, item: Pass, origin: str) -> None:
        if bool(item.before) == bool(item.after):
            raise InputError(f"the pass {item.name} of {origin} must say by before=, or by after=, where it stands")
        self.passes.append(item)

    def targets(self) -> OpTable[Target]:
        """Return all targets by their names. Raises InputError for a name that two modules claim."""
        from fuseconv.targets.builtin import builtin_targets  # tables that most conversions do without

        targets = builtin_targets()
        for name, target in self._targets.items():
            targets.claim(name, target, self._targets.owners[name])
        return targets

    def target(self, name: str) -> Target:
        """Return the target of this name. Raises InputError, which names them all, if there is none."""
        from fuseconv.targets.builtin import named_target

        return named_target(name, self.targets())

    @property
    def fusions(self) -> list[Fusion]:
        return list(self._fusions.values())

    def choose_fusions(self, only: Sequence[str], without: Sequence[str], report: Report) -> list[Fusion]:
        """Choose the fusions whose names match the globs of the first argument (all, if there are none) and not those
        of the second; the report notes the excluded ones, and what each does.

        Raises InputError for a glob that fits no fusion."""
        for glob in (*only, *without):
            if not fnmatch.filter(self._fusions, glob):
                alike = suggestion(glob, self._fusions)
                raise InputError(f"no fusion is called {glob}{alike}; `fuseconv fusions` lists them")
        report.summaries |= _summaries(tuple(self._fusions.values()))
        if not only and not without:
            return self.fusions
        chosen: list[Fusion] = []
        for fusion in self.fusions:
            wanted = not only or any(fnmatch.fnmatchcase(fusion.name, glob) for glob in only)
            if wanted and not any(fnmatch.fnmatchcase(fusion.name, glob) for glob in without):
                chosen.append(fusion)
            else:
                report.refused(fusion.name, (), "it was switched off")
        return chosen

    @contextmanager
    def offering(self) -> Iterator[None]:
        """Let the modules' shape functions and folders serve a conversion."""
        with ExitStack() as stack:
            stack.enter_context(shape_functions.TABLE.offering(self._shapes))
            stack.enter_context(folders.TABLE.offering(self._folders))
            yield

    def origin(self, name: str) -> str:
        """Return the module that owns a fusion or a rule."""
        return self._fusions.owners.get(name) or self.rules.owners[name]


def _listed(module: ModuleType, name: str, kind: type, origin: str) -> Sequence[Any]:
    """Read a list that a module may offer. Raises InputError if it holds something else."""
    items = getattr(module, name, ())
    if not isinstance(items, (list, tuple)) or not all(isinstance(item, kind) for item in items):
        raise InputError(f"{name} of {origin} must be a list of {kind.__name__.lower()}s, not {reprlib.repr(items)}")
    return items


def _uses_keras(module: ModuleType) -> bool:
    """Return whether a module may register classes with Keras: it has something of Keras's."""
    origins = (getattr(item, "__module__", None) or getattr(item, "__name__", "") for item in vars(module).values())
    return any(str(origin).partition(".")[0] in _KERAS for origin in origins)


@functools.lru_cache(maxsize=4)
def _summaries(fusions: tuple[Fusion, ...]) -> dict[str, str]:
    """Return what each fusion does, by its name, cached: most conversions have the same ones."""
    return {fusion.name: fusion.summary for fusion in fusions}


@functools.cache
def _builtin() -> Registry:
    with importing():
        from fuseconv import fusions
        from fuseconv.lower import ops

        return Registry(*fusions.MODULES, *ops.MODULES)
