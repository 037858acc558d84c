"""What a target is: a name, where its rules are told in public, and the ops that it takes, on which conditions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from fuseconv.errors import module_error, suggestion
from fuseconv.targets.signature import CUSTOM, OpSignature
from fuseconv.tfl import schema

# Tells why an op is refused, as the end of a sentence that the op begins; None if the condition holds.
Condition = Callable[[OpSignature], "str | None"]
Rules = Mapping[str, Sequence[Condition]]


@dataclass(frozen=True)
class Target:
    """An accelerator, a delegate or a runtime.

    name: as `--target` has it. rules: their source and its date. ops: the conditions of each builtin operator that the
    target takes. Where `others` is set, it takes those as well that neither `ops` nor `refused` has. every: conditions
    of every op. remarks: conditions of ops that the target takes all the same, and may compute otherwise. is_whole: the
    target runs whole files, and no other runtime what it refuses. on_cpu: what it refuses, LiteRT's own kernels run
    beside it, as fast as ever: there is no need to avoid it.
    """

    name: str
    rules: str
    ops: Rules = field(default_factory=dict)
    every: Sequence[Condition] = ()
    remarks: Sequence[Condition] = ()
    refused: frozenset[str] = frozenset()
    others: bool = False
    is_whole: bool = False
    on_cpu: bool = False

    def __post_init__(self) -> None:
        if not all(isinstance(text, str) and text for text in (self.name, self.rules)):
            raise TypeError(f"a target has a name and tells the source of its rules, which {self.name!r} does not")
        known = schema.enum("BuiltinOperator")
        for type in (*self.ops, *self.refused):
            if type not in known:
                why = f"rules of {type}, which is no op of TFLite{suggestion(type, known)}"
                raise ValueError(f"the target {self.name} has {why}")

    def knows(self, type: str) -> bool:
        """Return whether the target takes some op of this type."""
        return type in self.ops or (self.others and type not in self.refused)

    def refusal(self, op: OpSignature) -> str | None:
        """Return why the target does not take an op; None if it does."""
        if not self.knows(op.type):
            return f"it has no custom op {op.custom_code}" if op.type == CUSTOM else f"it has no {op.type}"
        for condition in (*self.every, *self.ops.get(op.type, ())):
            try:
                why = condition(op)
            except Exception as error:
                # A plug-in's condition is the user's code and may raise anything.
                raise self._wrong(condition, op, error) from error
            if why is not None:
                if not isinstance(why, str):
                    raise self._wrong(condition, op, f"must return why the op is refused, or None, not {why!r}")
                return why
        return None

    def _wrong(self, condition: Condition, op: OpSignature, error: Exception | str) -> Exception:
        """Return what to raise where a condition is wrong."""
        return module_error(f"a condition of the target {self.name} on {op.type}", condition, error)


def takes(types: str, *conditions: Condition) -> Rules:
    """Return a row of a table: ops that are taken on these conditions, their types separated by spaces."""
    return dict.fromkeys(types.split(), conditions)


def table(*rows: Rules) -> Rules:
    """Return a table of ops, made of rows. Raises ValueError for an op that stands in two."""
    rules: dict[str, Sequence[Condition]] = {}
    for row in rows:
        twice = rules.keys() & row.keys()
        if twice:
            raise ValueError(f"a table of ops has two rows of {', '.join(sorted(twice))}")
        rules.update(row)
    return rules
