"""What Slice and StridedSlice take, in both dialects: the one place where the masks are read and written."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from fuseconv.ir.dims import Dim, Sym
from fuseconv.ir.graph import Op, Value


@dataclass(frozen=True)
class Take:
    """The elements begin:end:stride of a dimension; None where a mask says "as far as there are any"."""

    begin: Any = None
    end: Any = None
    stride: Any = 1

    def takes_all(self, size: Dim | None = None) -> bool:
        """Return True if a dimension of this size (None: of any size) is taken as it is."""
        to_end = self.end is None or (isinstance(size, int) and isinstance(self.end, int) and self.end >= size)
        return to_end and self.stride == 1 and self.begin in (None, 0)


@dataclass(frozen=True)
class Pick:
    """One element of a dimension, which goes away. TensorFlow wants a positive stride here too."""

    index: Any
    stride: Any = 1

    def takes_all(self, size: Dim | None = None) -> bool:
        return False


@dataclass(frozen=True)
class Insert:
    """A new dimension of size 1."""


@dataclass(frozen=True)
class Rest:
    """The ellipsis: as many whole dimensions as the other entries leave."""


# An entry for one dimension of the operand, or of the result.
Entry = Take | Pick | Insert
WHOLE = Take()
# A bound that is not known. No bound equals it but itself.
UNKNOWN: Any = object()


class Masks(NamedTuple):
    """StridedSlice's masks, by the names of the attributes; bit i speaks of element i of `begin`."""

    begin_mask: int = 0
    end_mask: int = 0
    ellipsis_mask: int = 0
    new_axis_mask: int = 0
    shrink_axis_mask: int = 0

    @classmethod
    def of(cls, op: Op) -> Masks:
        return cls(*(int(op.attrs.get(name, 0)) for name in cls._fields))

    def without_clashes(self) -> Masks:
        """Return masks with one bit for each entry, of the mask that TensorFlow goes by: TFLite's kernel lets the begin
        mask decide which element a shrunk dimension gives."""
        begin, end, ellipsis, new, shrink = self
        new &= ~ellipsis
        shrink &= ~(ellipsis | new)
        return Masks(begin & ~(ellipsis | new | shrink), end & ~(ellipsis | new | shrink), ellipsis, new, shrink)


@dataclass(frozen=True)
class SliceSpec:
    """A slice's entries, one for each element of `begin`. Dimensions behind the last entry are taken whole.

    Bounds are ints, Syms, the scalars (Values) that a Pack made them of, or UNKNOWN.
    """

    entries: tuple[Entry | Rest, ...]

    @classmethod
    def read(cls, bounds: Iterable[Sequence[Any]], masks: Sequence[int]) -> SliceSpec:
        """Read the entries off a StridedSlice's begin, end and strides, and its masks in the order of `Masks`. The
        ellipsis goes before the new axis, that before the shrunk one, and that before open bounds, as TensorFlow has
        it."""
        begins, ends, ellipsis, new_axis, shrink = masks
        entries: list[Entry | Rest] = []
        for i, (first, last, stride) in enumerate(zip(*bounds, strict=True)):
            if ellipsis >> i & 1:
                entries.append(Rest())
            elif new_axis >> i & 1:
                entries.append(Insert())
            elif shrink >> i & 1:
                entries.append(Pick(first, stride))
            else:
                entries.append(Take(None if begins >> i & 1 else first, None if ends >> i & 1 else last, stride))
        return cls(tuple(entries))

    @classmethod
    def of(cls, op: Op | None) -> SliceSpec | None:
        """Read what a Slice or StridedSlice of either dialect takes; None of any other op, or if the number of the
        entries is not known."""
        strided = op is not None and op.kind in ("tf.StridedSlice", "tfl.STRIDED_SLICE")
        if op is None or (not strided and op.kind not in ("tf.Slice", "tfl.SLICE")):
            return None
        masks = Masks.of(op)
        # Two ways of TFLite's alone: an end that counts from the begin, and a begin mask of an element.
        if op.dialect == "tfl" and (op.attrs.get("offset") or masks.begin_mask & masks.shrink_axis_mask):
            return None
        bounds = [_elements(value) for value in op.operands[1:]]
        count = next((len(bound) for bound in bounds if bound is not None), None)
        if count is None:
            return None
        filled = [[UNKNOWN] * count if bound is None else bound for bound in bounds]
        if any(len(bound) != count for bound in filled):
            return None
        return cls.read(filled, masks) if strided else cls(tuple(map(_run, *filled)))

    def unfold(self, rank: int) -> list[Entry] | None:
        """Return the entries for an operand of this rank in the order of its dimensions, whole ones spelled out; None
        if there are more than dimensions, or two ellipses."""
        rests = sum(isinstance(entry, Rest) for entry in self.entries)
        spare = rank - sum(isinstance(entry, (Take, Pick)) for entry in self.entries)
        if spare < 0 or rests > 1:
            return None
        entries: list[Entry] = []
        for entry in self.entries if rests else (*self.entries, Rest()):
            entries += [WHOLE] * spare if isinstance(entry, Rest) else [entry]
        return entries

    def dimensions(self) -> tuple[Take | Pick, ...] | None:
        """Return the entries if each is for a dimension of the operand, and takes it in steps of one; else None."""
        plain = all(isinstance(entry, (Take, Pick)) and entry.stride == 1 for entry in self.entries)
        return self.entries if plain else None  # type: ignore[return-value]

    def takes(self) -> tuple[Take, ...] | None:
        """Return the entries if they are as `dimensions` says, and no dimension goes; else None."""
        plain = all(isinstance(entry, Take) and entry.stride == 1 for entry in self.entries)
        return self.entries if plain else None  # type: ignore[return-value]

    def picked(self) -> tuple[int, Any] | None:
        """Return (axis, index) of a slice x[:, ..., index] that takes one element of one dimension, and masks that say
        so all of the others that it names, but for an ellipsis at the end; else None."""
        named = self.entries[:-1] if self.entries and isinstance(self.entries[-1], Rest) else self.entries
        places = [axis for axis, entry in enumerate(named) if entry != WHOLE]
        entry = self.entries[places[0]] if len(places) == 1 else None
        return (places[0], entry.index) if isinstance(entry, Pick) and entry.stride == 1 else None

    def index(self) -> tuple[Any, ...]:
        """Return the index of a numpy array (which always gives an array) that takes the same."""
        made: list[Any] = []
        for entry in self.entries:
            if isinstance(entry, Take):
                made.append(slice(entry.begin, entry.end, entry.stride))
            else:
                made.append(... if isinstance(entry, Rest) else entry.index if isinstance(entry, Pick) else None)
        return tuple(made) if ... in made else (*made, ...)

    def operands(self) -> tuple[list[Dim], list[Dim], list[Dim], dict[str, int]]:
        """Return begin, end and strides of a StridedSlice that takes this, and those of its masks that are not 0."""
        begins: list[Dim] = []
        ends: list[Dim] = []
        strides: list[Dim] = []
        for entry in self.entries:
            begin, end, stride = 0, 0, 1
            if isinstance(entry, Take):
                begin, end, stride = entry.begin or 0, entry.end or 0, entry.stride
            elif isinstance(entry, Pick):
                begin, end, stride = entry.index, entry.index + 1, entry.stride
            begins.append(begin)
            ends.append(end)
            strides.append(stride)
        masks = Masks(
            _bits(isinstance(entry, Take) and entry.begin is None for entry in self.entries),
            _bits(isinstance(entry, Take) and entry.end is None for entry in self.entries),
            *(_bits(isinstance(entry, kind) for entry in self.entries) for kind in (Rest, Insert, Pick)),
        )
        return begins, ends, strides, {name: mask for name, mask in masks._asdict().items() if mask}


def _run(begin: Any, size: Any) -> Take:
    """Return what a Slice takes of a dimension: `size` elements, all that are left if it is -1."""
    if isinstance(size, int) and size == -1:
        return Take(begin, None)
    known = all(isinstance(number, (int, Sym)) for number in (begin, size))
    return Take(begin, begin + size if known else UNKNOWN)


def _elements(value: Value | None) -> list[Any] | None:
    """Return the elements of a vector: ints and Syms, or the scalars that a Pack makes it of; None if they are not
    known."""
    if value is None:
        return None
    if value.data is None and value.op is not None and value.op.kind == "tf.Pack":
        return [x if x is None or x.data is None or x.rank else x.data.item() for x in value.op.operands]
    known = value.content if value.data is None else value.data
    return None if known is None else known.reshape(-1).tolist()


def _bits(flags: Iterable[bool]) -> int:
    return sum(1 << index for index, flag in enumerate(flags) if flag)
