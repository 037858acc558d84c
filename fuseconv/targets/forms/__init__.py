"""Other forms of ops: what computes the same by other ops, for targets that lack an op or take it in one form only.

A form is a function over a builder and an op of the "tfl" dialect. It returns what stands for the op's results, or None
where the op is not as it must be. `FORMS` lists the forms of an op in the order in which they are tried. The ops that a
form makes may have to take other forms in turn, so a form says one thing only.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from fuseconv.ir.graph import Op, Value
from fuseconv.targets.forms import elementwise, joins, linear, lookups, ranks, reductions, shapes, slices
from fuseconv.tfl.builder import Builder

Form = Callable[[Builder, Op], "Sequence[Value] | None"]

_TABLES: tuple[Mapping[str, Sequence[Form]], ...] = (
    ranks.FORMS, elementwise.FORMS, joins.FORMS, linear.FORMS, lookups.FORMS, reductions.FORMS, shapes.FORMS,
    slices.FORMS,
)  # fmt: skip
FORMS: dict[str, tuple[Form, ...]] = {}
for _table in _TABLES:
    for _type, _forms in _table.items():
        FORMS[_type] = (*FORMS.get(_type, ()), *_forms)
