"""Read MLIR bytecode that holds a module of VHLO, StableHLO's stable form: sections, ops, regions and values.

The format is public (MLIR's "Bytecode Format"); versions up to 6 are read, which is what StableHLO's writers make.
"""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from fuseconv.errors import InputError
from fuseconv.load.stablehlo import vhlo
from fuseconv.load.stablehlo.attributes import BUILTIN, SHARDY, VHLO, Attributes, Entry, Location, UnreadError
from fuseconv.load.stablehlo.cursor import Cursor, DamagedError, decoded

MAGIC = b"ML\xefR"
_NEWEST = 6
# Since which version of the format there is what.
_DIALECT_VERSIONS, _LAZY_REGIONS, _USE_LISTS, _ELIDED_LOCATIONS, _PROPERTIES = 1, 2, 3, 4, 5
_STRINGS, _DIALECTS, _ATTRIBUTES, _OFFSETS, _IR, _RESOURCES, _RESOURCE_OFFSETS, _VERSIONS, _PROPERTY = range(9)
_HAS_ATTRIBUTES, _HAS_RESULTS, _HAS_OPERANDS, _HAS_SUCCESSORS, _HAS_REGIONS, _HAS_USES, _HAS_PROPERTIES = (
    1 << bit for bit in range(7)
)
_MOST_DEPTH = 64
# Shardy's tensors are of MLIR's own types.
_CAST = BUILTIN, "unrealized_conversion_cast"
# What only says where tensors lie, on several devices.
_ANNOTATIONS = frozenset({".".join(_CAST), *(f"{SHARDY}.{name}" for name in (
    "mesh", "propagation_barrier", "reshard", "sharding_constraint", "sharding_group",
))})  # fmt: skip


@dataclass(eq=False, slots=True)
class Var:
    """A result of an op, or an argument of a block."""

    type: Any
    op: Operation | None = None
    index: int = 0
    name: str = ""


@dataclass(eq=False, slots=True)
class Region:
    """The one block of a region: its arguments and ops. Nothing that StableHLO writes has more."""

    arguments: list[Var] = field(default_factory=list)
    ops: list[Operation] = field(default_factory=list)

    @property
    def returned(self) -> list[Var]:
        """Return the operands of the op that ends the block."""
        return self.ops[-1].operands if self.ops else []


@dataclass(eq=False, slots=True)
class Operation:
    """An op. name: without dialect and version ("dot_general"); name_of: gives its `loc` as text."""

    name: str
    version: int
    operands: list[Var]
    results: list[Var]
    regions: list[Region]
    module: Module
    location: int
    properties: dict[str, int]

    def has(self, name: str) -> bool:
        """Return whether this version of the op has an attribute."""
        return name in self.properties

    def attribute(self, name: str) -> Any:
        """Return an attribute. Raises DamagedError if the op has none of this name."""
        if name not in self.properties:
            raise DamagedError(f"{self.name} lacks its attribute {name}")
        return self.module.attributes.attribute(self.properties[name])

    @property
    def place(self) -> str:
        """Return the name that the program gave the op, or its line; empty if it says nothing."""
        found = self.module.attributes.attribute(self.location)
        return found.name if isinstance(found, Location) else ""


@dataclass(eq=False, slots=True)
class Scope:
    """The values that ops of a region may read, by number: those of the regions around it, then its own, each None
    until it is defined. defined: the number of its next one."""

    values: list[Var | None]
    defined: int

    def define(self, made: list[Var]) -> None:
        end = self.defined + len(made)
        if end > len(self.values):
            raise DamagedError("a region makes more values than it has")
        self.values[self.defined : end] = made
        self.defined = end

    def read(self, indices: list[int]) -> list[Var]:
        """Return the values of these numbers."""
        values = self.values
        try:
            found = [values[index] for index in indices]
        except IndexError:
            found = [None]
        if None in found:
            missing = next(index for index in indices if index >= len(values) or values[index] is None)
            raise DamagedError(f"the value {missing} is read before it is made")
        return found  # type: ignore[return-value]


@dataclass
class Module:
    """A module: its attributes, and its functions by name, `main` among them. producer: who wrote it."""

    attributes: Attributes
    producer: str
    functions: dict[str, Operation] = field(default_factory=dict)


def read_bytecode(data: bytes, name: str) -> Module:
    """Return the module that bytes of MLIR bytecode hold. name: of the file or node, for the sentences of errors.

    Raises InputError if they are damaged, or hold what is not read."""
    with told(name):
        return _Reader(data).module()


@contextlib.contextmanager
def told(name: str) -> Iterator[None]:
    """Raise InputError where what stands inside finds that a module is damaged, or holds what is not read."""
    try:
        yield
    except DamagedError as error:
        raise InputError(f"{name} is a damaged StableHLO module: {error}.") from error
    except UnreadError as error:
        raise InputError(f"{name} cannot be read: {error}.") from error


class _Reader:
    """A module in MLIR's bytecode: its sections, and what other sections refer to by number. Raises DamagedError or
    UnreadError."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        cursor = Cursor(data, 0, len(data))
        if cursor.take(4) != MAGIC:
            raise DamagedError("it does not begin as MLIR bytecode does")
        self.version = cursor.varint()
        if self.version > _NEWEST:
            raise UnreadError(f"it is of version {self.version} of MLIR's bytecode, and not of 0 to {_NEWEST}")
        self.producer = cursor.text()
        self.sections = dict(self._sections(cursor))
        self.strings = self._strings(self._section(_STRINGS))
        self.dialects, self.op_names = self._dialects(self._section(_DIALECTS))
        entries = self._entries(self._section(_OFFSETS), self._section(_ATTRIBUTES))
        self.attributes = Attributes(self.strings, data, *entries)
        self.properties = self._properties()
        self._named: dict[Any, dict[str, int]] = {}
        self._kinds: dict[int, tuple[str, str, int]] = {}

    def module(self) -> Module:
        module = Module(self.attributes, self.producer)
        self.made = module
        top = self._block(self._section(_IR), Scope([], 0), 0)
        if len(top.ops) != 1 or top.ops[0].name != "module" or len(top.ops[0].regions) != 1:
            raise DamagedError("it holds no module")
        for op in top.ops[0].regions[0].ops:
            if op.name != "func" or len(op.regions) != 1:
                raise UnreadError(f"its module holds the op {op.name} beside functions, which is not read")
            name = op.attribute("sym_name")
            if not isinstance(name, str) or name in module.functions:
                raise DamagedError("two functions have the same name, or one has none")
            module.functions[name] = op
        return module

    def _sections(self, cursor: Cursor) -> Iterator[tuple[int, Cursor]]:
        while cursor.left:
            yield self._one_section(cursor)

    def _one_section(self, cursor: Cursor) -> tuple[int, Cursor]:
        kind, length = cursor.byte(), cursor.varint()
        if kind & 0x80:
            alignment = cursor.varint()
            if not 1 <= alignment <= 1 << 20:
                raise DamagedError(f"a section is aligned to {alignment} bytes")
            cursor.take(-cursor.at % alignment)
        if kind & 0x7F > _PROPERTY:
            raise UnreadError(f"it has a section of number {kind & 0x7F}, which this version does not know")
        return kind & 0x7F, cursor.part(length)

    def _section(self, kind: int) -> Cursor:
        if kind not in self.sections:
            raise DamagedError(f"it lacks its section of number {kind}")
        return self.sections[kind]

    def _strings(self, cursor: Cursor) -> list[bytes]:
        sizes = cursor.varints()[::-1]
        if sum(sizes) != cursor.left or 0 in sizes:
            raise DamagedError("its texts are longer or shorter than their section")
        return [cursor.take(size)[:-1] for size in sizes]

    def _text(self, index: int) -> str:
        if index >= len(self.strings):
            raise DamagedError(f"the text {index} is named, and there are {len(self.strings)}")
        return decoded(self.strings[index])

    def _dialects(self, cursor: Cursor) -> tuple[list[str], list[tuple[str, str]]]:
        """Return the names of the dialects, and the dialect and name of each kind of op."""
        dialects = []
        for _ in range(cursor.count()):
            index, versioned = cursor.flagged() if self.version >= _DIALECT_VERSIONS else (cursor.varint(), False)
            if versioned:
                self._one_section(cursor)
            dialects.append(self._text(index))
        if self.version >= _ELIDED_LOCATIONS:
            cursor.varint()
        ops = []
        while cursor.left:
            dialect = self._at(dialects, cursor.varint(), "dialect")
            flags = 1 if self.version >= _PROPERTIES else 0
            ops += [(dialect, self._text(index >> flags)) for index in cursor.varints()]
        return dialects, ops

    def _at(self, items: list[Any], index: int, what: str) -> Any:
        if index >= len(items):
            raise DamagedError(f"the {what} {index} is named, and there are {len(items)}")
        return items[index]

    def _entries(self, offsets: Cursor, data: Cursor) -> tuple[list[Entry], list[Entry]]:
        counts = offsets.varint(), offsets.varint()
        if sum(counts) > offsets.left:
            raise DamagedError(f"it claims {sum(counts)} attributes and types, more than their section has")
        lists: tuple[list[Entry], list[Entry]] = ([], [])
        for entries, count in zip(lists, counts):
            while len(entries) < count:
                dialect = self._at(self.dialects, offsets.varint(), "dialect")
                flagged = offsets.varints()
                ends = [*itertools.accumulate([each >> 1 for each in flagged], initial=data.at)]
                entries += zip(itertools.repeat(dialect), flagged, ends, ends[1:])
                data.at = ends[-1]
                if data.at > data.end:
                    raise DamagedError(f"attributes and types take {data.at - data.end} bytes more than their section")
        return lists

    def _properties(self) -> list[Cursor]:
        if _PROPERTY not in self.sections:
            return []
        cursor = self.sections[_PROPERTY]
        return [cursor.part(cursor.varint()) for _ in range(cursor.count())]

    def _region(self, cursor: Cursor, scope: Scope, depth: int) -> Region:
        """Read a region; its values follow all those of the regions around it, and end with it."""
        blocks = cursor.varint()
        if not blocks:
            return Region()
        if blocks > 1:
            raise UnreadError("a function has branches between blocks, which StableHLO does not write")
        if depth > _MOST_DEPTH:
            raise DamagedError(f"regions stand in each other more than {_MOST_DEPTH} deep")
        count = cursor.count()
        scope.values += [None] * count
        inner = Scope(scope.values, len(scope.values) - count)
        made = self._block(cursor, inner, depth)
        if inner.defined != len(scope.values):
            raise DamagedError("a region has more values than it makes")
        del scope.values[len(scope.values) - count :]
        return made

    def _block(self, cursor: Cursor, scope: Scope, depth: int) -> Region:
        count, has_arguments = cursor.flagged()
        region = Region()
        if has_arguments:
            region.arguments = [self._argument(cursor) for _ in range(cursor.count())]
            scope.define(region.arguments)
            if self.version >= _USE_LISTS and cursor.byte():
                self._skip_uses(cursor, len(region.arguments))
        if count > cursor.left:
            raise DamagedError(f"a block of {count} ops stands in a section that has {cursor.left} bytes left")
        ops = [self._operation(cursor, scope, depth) for _ in range(count)]
        region.ops = [op for op in ops if op.name not in _ANNOTATIONS]
        return region

    def _argument(self, cursor: Cursor) -> Var:
        if self.version >= _ELIDED_LOCATIONS:
            kind, located = cursor.flagged()
        else:
            kind, located = cursor.varint(), True
        place = self.attributes.attribute(cursor.varint()) if located else None
        return Var(self.attributes.type(kind), name=place.name if isinstance(place, Location) else "")

    def _operation(self, cursor: Cursor, scope: Scope, depth: int) -> Operation:
        """Read an op, with its regions so deep in others, and define its results in the scope."""
        index, mask, location = cursor.head()
        full_name, name, version = self._kinds.get(index) or self._kind(index)
        held: dict[str, int] = {}
        if mask & _HAS_ATTRIBUTES:
            held = self._dictionary(cursor.varint())
        if mask & _HAS_PROPERTIES:
            own = self._property_names(full_name, cursor.varint())
            held = {**held, **own} if held else own
        op = Operation(name, version, [], [], [], self.made, location, held)
        kinds = cursor.varints() if mask & _HAS_RESULTS else []
        if mask & _HAS_OPERANDS:
            op.operands = scope.read(cursor.varints())
        op.results = [Var(self.attributes.type(kind), op, index) for index, kind in enumerate(kinds)]
        # Where a tensor is to lie changes no element of it.
        scope.define(op.operands if name in _ANNOTATIONS and len(kinds) == len(op.operands) else op.results)
        if mask & _HAS_SUCCESSORS:
            raise UnreadError(f"{name} branches to another block, which StableHLO does not write")
        if mask & _HAS_USES:
            self._skip_uses(cursor, len(kinds))
        if mask & _HAS_REGIONS:
            op.regions = self._regions(cursor, scope, depth)
        return op

    def _kind(self, index: int) -> tuple[str, str, int]:
        """Return the full name, name and version of a kind of ops."""
        dialect, full_name = self._at(self.op_names, index, "op")
        kind = self._kinds[index] = (full_name, *_versioned(dialect, full_name))
        return kind

    def _regions(self, cursor: Cursor, scope: Scope, depth: int) -> list[Region]:
        count, isolated = cursor.flagged()
        if isolated and self.version >= _LAZY_REGIONS:
            kind, cursor = self._one_section(cursor)
            if kind != _IR:
                raise DamagedError("the section of a function is none")
        if count > cursor.left:
            raise DamagedError(f"an op of {count} regions stands in a section that has {cursor.left} bytes left")
        return [self._region(cursor, Scope([], 0) if isolated else scope, depth + 1) for _ in range(count)]

    def _skip_uses(self, cursor: Cursor, values: int) -> None:
        """Skip the order in which ops read values, which says nothing of what they compute."""
        for _ in range(cursor.count() if values > 1 else 1):
            if values > 1:
                cursor.varint()
            count, _ = cursor.flagged()
            for _ in range(min(count, cursor.left + 1)):
                cursor.varint()

    def _dictionary(self, index: int) -> dict[str, int]:
        """Return the numbers of the attributes in a dictionary of MLIR's own, by name, without decoding them."""
        key = "dictionary", index
        if key not in self._named:
            dialect, flagged, at, end = self.attributes.entry(index)
            cursor = Cursor(self.data, at, end)
            if dialect != BUILTIN or not flagged & 1 or cursor.varint() != 1:
                raise DamagedError("the attributes of an op are no dictionary")
            pairs = [(self.attributes.attribute(cursor.varint()), cursor.varint()) for _ in range(cursor.count())]
            self._named[key] = {f"{name}": number for name, number in pairs}
        return self._named[key]

    def _property_names(self, op: str, index: int) -> dict[str, int]:
        """Return the numbers of an op's attributes by name: VHLO stores them in the alphabetical order of these."""
        key = op, index
        if key not in self._named:
            part = self._at(self.properties, index, "list of attributes")
            cursor = Cursor(part.data, part.at, part.end)
            names = vhlo.op_attributes().get(op)
            if names is None:
                return {}
            self._named[key] = dict(zip(names, cursor.numbers(len(names))))
            cursor.done(f"the attributes of {op}")
        return self._named[key]


def _versioned(dialect: str, full_name: str) -> tuple[str, int]:
    """Return the name and version of an op: ("vhlo", "add_v1") -> ("add", 1)."""
    if dialect == BUILTIN and full_name == "module":
        return "module", 1
    if dialect == SHARDY or (dialect, full_name) == _CAST:
        return f"{dialect}.{full_name}", 1
    if dialect != VHLO:
        raise UnreadError(f"it holds the op {dialect}.{full_name}, which is none of StableHLO's portable form")
    if full_name not in vhlo.op_attributes():
        raise UnreadError(f"it holds the op {full_name}, which is newer than this version, or none of StableHLO's")
    name, _, version = full_name.rpartition("_v")
    return name, int(version)
