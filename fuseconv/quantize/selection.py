"""Which ops may be quantized: chosen by globs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from fnmatch import fnmatchcase

from fuseconv.errors import InputError, suggestion
from fuseconv.ir.graph import Module, Op

# Names that a misspelt glob is compared with.
_MOST_COMPARED = 4000


@dataclass(frozen=True)
class Selection:
    """The ops that may be quantized.

    only: globs of these, if there are any. without: globs of what stays float. A glob is matched with the op's type,
    the names of its results, those of the nodes of the model that it stands for, and the parts of these: names of
    layers. kept: ops that stay float, and why."""

    only: tuple[str, ...] = ()
    without: tuple[str, ...] = ()
    kept: dict[Op, str] = field(default_factory=dict, hash=False, compare=False)

    def refusal(self, op: Op) -> str:
        """Return why an op stays float; empty if it may be quantized."""
        if op in self.kept:
            return self.kept[op]
        if not self.only and not self.without:
            return ""
        names = {*_names(op)}
        for glob in self.without:
            if any(fnmatchcase(name, glob) for name in names):
                return f"--no-quantize {glob} leaves it out"
        if self.only and not any(fnmatchcase(name, glob) for name in names for glob in self.only):
            return "no --quantize-only takes it in"
        return ""

    def check(self, module: Module) -> None:
        """Raise InputError for a glob that matches no op."""
        if not self.only and not self.without:
            return
        names = {name for graph in module.graphs() for op in graph.ops for name in _names(op)}
        for option, globs in (("--quantize-only", self.only), ("--no-quantize", self.without)):
            for glob in globs:
                if not any(fnmatchcase(name, glob) for name in names):
                    help = suggestion(glob, sorted(names)[:_MOST_COMPARED]) or "; `fuseconv inspect` lists them"
                    raise InputError(f"{option} {glob} matches no op, tensor or layer{help}")


EVERYTHING = Selection()


def _names(op: Op) -> Iterator[str]:
    yield op.type
    for value in op.results:
        yield value.name
    for source in op.sources:
        yield source
        yield from source.split("/")
