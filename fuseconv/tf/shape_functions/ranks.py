"""Rank constraints on the operands of TF ops, as TensorFlow's own shape functions state them.

The table `ranks.txt` beside this file was made by asking these functions, of the TensorFlow that
`python -m fuseconv.tf.shape_functions.ranks` ran with (some minutes), for each operand with each number of dimensions,
all else unknown. It has the ops that have a shape function here. A line is the op's name and a field for each argument,
separated by tabs. A field has the numbers that are allowed ("01"), with the length where only one is ("1=2": a vector
of two). It is "*" if all are, and "..." for an argument of any number of tensors.

`kernel_ranks.txt` says in the same form, and was written by hand, what TensorFlow's kernels refuse besides.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from fuseconv.ir.dims import Shape
from fuseconv.ir.graph import Op
from fuseconv.tf.shape_functions.registry import TABLE

_TABLE = Path(__file__).with_name("ranks.txt")
_KERNELS = Path(__file__).with_name("kernel_ranks.txt")
# Ops that are not asked: those of lists take a scalar of -1 for an unknown shape, and no other; of ragged ones
# TensorFlow never answers.
_NOT_ASKED = ("EmptyTensorList", "Ragged", "TensorList")
_ANY = "*"
_SEVERAL = "..."
# Of more dimensions nothing was asked: whatever is said of the largest holds for them.
_MOST = 6


# Attributes that change what ranks an op takes; the table holds for their defaults, which an op does not carry.
_DECIDING = frozenset({"axis", "batch_dims", "data_format"})


def misfit(op: Op) -> str:
    """Return why the rank of an operand of a TF op is not allowed, naming the operand; empty if all are allowed."""
    for index, (field, operand) in enumerate(zip(_fields(op), op.operands)):
        shape = None if field is None or operand is None else operand.shape
        if shape is not None and not _fits(shape, field):  # type: ignore[arg-type]
            sizes = ",".join(str(dim) if isinstance(dim, int) else "?" for dim in shape)
            return f"its operand {index} has the shape [{sizes}], which the op does not take"
    return ""


def only_ranks(op: Op) -> list[int | None]:
    """Return the only rank that each operand of a TF op may have; None where there are several, or none is known."""
    if op.kind == "tf.Einsum":
        terms = str(op.attrs["equation"]).replace(" ", "").partition("->")[0].split(",")
        return [None if "." in term else len(term) for term in terms]
    ranks = [None if field is None else field[0] for field in _fields(op)]
    return [next(iter(each)) if each is not None and len(each) == 1 else None for each in ranks]


def _fields(op: Op) -> tuple[Any, ...]:
    """Return what is known of each operand of an op; empty if nothing is."""
    fields = _table().get(op.type)
    if fields is None or (op.attrs and _decides(op.attrs)):
        return ()
    if _SEVERAL in fields:
        at = fields.index(_SEVERAL)
        fields = (*fields[:at], *[None] * (len(op.operands) - len(fields) + 1), *fields[at + 1 :])
    return fields


def _decides(attrs: Mapping[str, Any]) -> bool:
    """Return whether attributes change what ranks an op takes. That images have their channels first does not."""
    return not _DECIDING.isdisjoint(attrs) and any(attrs[name] != "NCHW" for name in _DECIDING.intersection(attrs))


def _fits(shape: Shape, field: tuple[frozenset[int], int | None]) -> bool:
    ranks, length = field
    rank = len(shape)
    if (rank if rank < _MOST else _MOST) not in ranks:
        return False
    return length is None or not isinstance(shape[0], int) or shape[0] == length


@functools.cache
def _table() -> dict[str, tuple[Any, ...]]:
    """Return the ranks and the length that each operand of an op may have; None for one that may have any. Where both
    tables have an op, the kernels allow no more than the shape function does."""
    lines = (line.split("\t") for path in (_TABLE, _KERNELS) for line in path.read_text().splitlines())
    return {name: tuple(map(_parsed, fields)) for name, *fields in lines}


def _parsed(field: str) -> Any:
    if field in (_ANY, _SEVERAL):
        return None if field == _ANY else _SEVERAL
    ranks, _, length = field.partition("=")
    return frozenset(map(int, ranks)), int(length) if length else None


def table() -> str:
    """Return the text of the table for the TensorFlow that is installed (which this imports)."""
    return "".join(f"{line}\n" for line in filter(None, map(line_of, sorted(TABLE))))


def line_of(name: str) -> str:
    """Return the line of an op; empty if nothing is known of it, or nothing is forbidden (this imports TensorFlow)."""
    from tensorflow.python.framework import op_def_registry

    op_def = op_def_registry.get(name)
    if op_def is None or name.startswith(_NOT_ASKED):
        return ""
    args = op_def.input_arg
    fields = [_SEVERAL if arg.number_attr or arg.type_list_attr else _field(op_def, at) for at, arg in enumerate(args)]
    if fields.count(_SEVERAL) > 1 or set(fields) <= {_ANY, _SEVERAL}:
        return ""
    return "\t".join((name, *fields))


def _field(op_def: Any, at: int) -> str:
    ranks = [rank for rank in range(_MOST + 1) if _takes(op_def, at, [None] * rank)]
    if len(ranks) in (0, _MOST + 1):
        return _ANY
    text = "".join(map(str, ranks))
    lengths = [n for n in range(1, 6) if ranks == [1] and _takes(op_def, at, [n])]
    return f"{text}={lengths[0]}" if len(lengths) == 1 else text


def _takes(op_def: Any, at: int, shape: list[int | None]) -> bool:
    """Return whether the op takes an operand of this shape, with some attributes."""
    import tensorflow as tf

    for attributes in _attributes(op_def):
        with tf.Graph().as_default() as graph:
            try:
                operands = []
                for index, arg in enumerate(op_def.input_arg):
                    dtype = arg.type or attributes[arg.type_attr].type
                    count = attributes[arg.number_attr].i if arg.number_attr else 1
                    like = [tf.compat.v1.placeholder(dtype, shape if index == at else None) for _ in range(count)]
                    operands += like
                graph.create_op(op_def.name, operands, attrs=attributes, op_def=op_def, name="op")
                return True
            except (ValueError, TypeError, KeyError, tf.errors.OpError):
                continue
    return False


def _attributes(op_def: Any) -> Iterator[dict[str, Any]]:
    """Yield attributes to try an op with: defaults, and several values for those that have none."""
    from tensorflow.core.framework.attr_value_pb2 import AttrValue

    choices: list[list[Any]] = []
    for attr in op_def.attr:
        allowed = attr.allowed_values.list
        if attr.type == "type":
            types = allowed.type or [1, 3, 20, 21]
            choices.append([AttrValue(type=number) for number in types[:1]])
        elif attr.HasField("default_value"):
            choices.append([attr.default_value])
        elif attr.type == "int":
            choices.append([AttrValue(i=number) for number in (0, 1, 2, 4)])
        elif attr.type == "string":
            choices.append([AttrValue(s=text) for text in allowed.s or [b""]])
        elif attr.type == "list(int)":
            choices.append([AttrValue(list=AttrValue.ListValue(i=[1] * count)) for count in (1, 2, 3, 4, 5)])
        elif attr.type == "float":
            choices.append([AttrValue(f=1)])
        elif attr.type == "bool":
            choices.append([AttrValue(b=False)])
        elif attr.type == "shape":
            value = AttrValue()
            value.shape.unknown_rank = True
            choices.append([value])
        else:
            return
    names = [attr.name for attr in op_def.attr]
    for values in itertools.product(*choices):
        yield dict(zip(names, values))


if __name__ == "__main__":
    import fuseconv.tf.shape_functions  # noqa: F401  (fills the table of shape functions)

    _TABLE.write_text(table())
