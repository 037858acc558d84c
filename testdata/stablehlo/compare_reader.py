"""Compare fuseconv's reader of MLIR bytecode with jaxlib's: all ops, attributes, types and constants, bit for bit.

    pip install .[jax]
    PYTHONPATH=. python testdata/stablehlo/compare_reader.py FILE... [--targets 0.9.0,1.0.0,...] [--part N] \\
        [--digests OUT] [--archive OUT.tar.xz]

takes files of bytecode, and archives of such (.tar, .tar.xz: what ends with .mlirbc or .bc). With --targets each module
is written for those versions of StableHLO too, as other exporters do; with --part every Nth. --digests writes a line
for each module of what jaxlib reads, which tests/load/stablehlo compares without JAX; --archive the modules of other
versions. So are versions.tar.xz and digests.txt made:

    ... testdata/stablehlo/ops.tar.xz --targets 0.9.0,0.14.0,1.0.0,1.8.0,1.17.0 --part 16 --archive .../versions.tar.xz
    ... testdata/stablehlo/{ops,models,referee,versions}.tar.xz --digests testdata/stablehlo/digests.txt

Ends with 1 if anything is different.
"""

from __future__ import annotations

import argparse
import itertools
import re
import sys
import tarfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from jax._src.interpreters.mlir import make_ir_context
from jax.errors import JaxRuntimeError
from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo

from fuseconv.errors import InputError
from fuseconv.load.stablehlo.bytecode import read_bytecode
from tests.load.stablehlo.neutral import UNREAD, array_form, digest, neutral

sys.path.insert(0, f"{Path(__file__).parent}")
from make_referee import dense_array, write_archive

# Types that fuseconv does not read, by how VHLO's names of them begin.
_UNREAD_TYPES = re.compile(
    r"(?<![a-wyz])(f8E|f6E|f4E|tf3|i2\b|i4\b|ui2\b|ui4\b|quant|token|tuple|unranked_tensor|witness|buffer|future)"
)
_UNREAD_ATTRIBUTES = re.compile(
    r"unit$|#(?!vhlo)|#vhlo\.(result_accuracy|output_operand_alias|type_ext|replica_group|mesh|axis|sub_axis)"
)
_ESCAPE = re.compile(rb"\\([0-9A-Fa-f]{2}|.)")


def files(paths: list[Path]) -> Iterator[tuple[str, bytes]]:
    """Yield modules by name."""
    for path in paths:
        if ".tar" not in path.name:
            yield path.name, path.read_bytes()
            continue
        with tarfile.open(path) as archive:
            for member in archive.getmembers():
                if member.name.endswith((".mlirbc", ".bc")):
                    yield f"{path.name.partition('.')[0]}/{member.name}", archive.extractfile(member).read()  # type: ignore[union-attr]


def theirs(module: Any) -> list[Any]:
    """Return what jaxlib reads of a module, as `neutral` has it."""
    return [_op(op.operation, {}) for op in module.body.operations]


def _op(op: Any, numbers: dict[Any, int]) -> list[Any]:
    operands = [numbers[value] for value in op.operands]
    for value in op.results:
        numbers[value] = len(numbers)
    attributes = {name: _value(f"{op.attributes[name]}") for name in op.attributes}
    regions = [_region(region, numbers) for region in op.regions]
    return [op.name.removeprefix("vhlo."), attributes, operands, [_type(f"{v.type}") for v in op.results], regions]


def _region(region: Any, numbers: dict[Any, int]) -> list[Any]:
    if not region.blocks:
        return [[], []]
    (block,) = region.blocks
    for value in block.arguments:
        numbers[value] = len(numbers)
    kinds = [_type(f"{value.type}") for value in block.arguments]
    return [kinds, [_op(op.operation, numbers) for op in block.operations]]


def _inside(text: str, name: str) -> str | None:
    """Return what is between the angles of `#vhlo.name_v1<...>`."""
    found = re.match(rf"#vhlo\.{name}_v\d+<(.*)>$", text, re.DOTALL)
    return found[1] if found else None


def _value(text: str) -> Any:
    """Return what an attribute says, from its text."""
    if found := re.match(r"#vhlo<(\w+)_v\d+ (\w+)>$", text):
        return found[2].removeprefix("API_VERSION_") if found[1] == "api_version" else found[2]
    for name, read in _READERS.items():
        if (inner := _inside(text, name)) is not None:
            return read(inner)
    if _UNREAD_ATTRIBUTES.match(text):
        return UNREAD
    raise ValueError(f"an attribute {text[:80]}")


def _string(text: str) -> str:
    raw = _ESCAPE.sub(lambda m: bytes.fromhex(m[1].decode()) if len(m[1]) == 2 else m[1], text[1:-1].encode())
    return raw.decode("utf-8", "backslashreplace")


def _parts(text: str) -> list[str]:
    """Return the items of a list: texts between commas that stand in no parentheses."""
    items, depth, begin = [], 0, 0
    for found in re.finditer(r'"(?:[^"\\]|\\.)*"|->|[\[\]{}<>(),]', text):
        token = found[0]
        depth += token in "[{<(" if len(token) == 1 else 0
        depth -= token in ")>}]" if len(token) == 1 else 0
        if token == "," and depth == 0:
            items.append(text[begin : found.start()].strip())
            begin = found.end()
    last = text[begin:].strip()
    return [*items, last] if last else items


def _pair(text: str) -> tuple[str, Any]:
    key = re.match(r'#vhlo\.string_v1<"(?:[^"\\]|\\.)*">', text)
    assert key is not None, text
    return _value(key[0]), _value(text[key.end() :].partition("=")[2].strip())


def _number(text: str) -> Any:
    number, _, kind = text.partition(" : ")
    if "f" not in kind:
        return int(number)
    return array_form_number(number, kind)


def array_form_number(number: str, kind: str) -> float:
    """Return a float of a type that may have less digits than Python's."""
    return float(dense_array(number, f"tensor<{_type(kind)}>"))


def _tensor(text: str) -> Any:
    found = re.match(r"dense<(.*)> : (tensor<.*>)$", text, re.DOTALL)
    if found is None:
        raise ValueError(f"a tensor {text[:80]}")
    if _UNREAD_TYPES.search(found[2]):
        return UNREAD
    return array_form(dense_array(found[1], found[2]))


_READERS = {
    "array": lambda text: [_value(item) for item in _parts(text[1:-1])],
    "dict": lambda text: dict(_pair(item) for item in _parts(text[1:-1])),
    "string": _string, "type": lambda text: _type(text), "tensor": _tensor,
    "bool": lambda text: text == "true", "integer": _number, "float": _number,
}  # fmt: skip


def _type(text: str) -> str:
    """Return a type without dialect and versions; "?" of what fuseconv does not read."""
    text = text.strip().replace("<(()) ->", "<() ->")
    if (found := re.match(r"!vhlo\.func_v\d+<(.*)>$", text, re.DOTALL)) is not None:
        sides = re.split(r" -> (?![^<]*>\))", found[1], maxsplit=1)
        ends = [_parts(side.strip()[1:-1]) if side.strip().startswith("(") else _parts(side) for side in sides]
        return "func<({}) -> ({})>".format(*(", ".join(map(_type, end)) for end in (*ends, [])[:2]))
    plain = re.sub(r"!vhlo\.|_v\d+", "", text)
    if _UNREAD_TYPES.search(plain):
        return UNREAD
    plain = re.sub(r", #vhlo\.type_extensions.*>", ">", plain)
    return plain.replace("xindex>", "xi64>").replace("<index>", "<i64>").replace("index", "i64")


def difference(ours: Any, other: Any, path: str = "") -> str:
    """Return the first place where two forms are different, and both there."""
    if isinstance(ours, list) and isinstance(other, list) and len(ours) == len(other):
        found = (difference(a, b, f"{path}/{index}") for index, (a, b) in enumerate(zip(ours, other)))
        return next((place for place in found if place), "")
    if isinstance(ours, dict) and isinstance(other, dict) and ours.keys() == other.keys():
        found = (difference(ours[key], other[key], f"{path}/{key}") for key in ours)
        return next((place for place in found if place), "")
    return "" if ours == other and type(ours) is type(other) else f"{path}: {str(ours)[:150]} and {str(other)[:150]}"


def count(form: Any, totals: Counter[str]) -> None:
    """Count the ops, attributes and bytes of constants."""
    for name, attributes, _, _, regions in form:
        totals["ops"] += 1
        totals["attributes"] += len(attributes)
        if name == "constant_v1" and attributes["value"] != UNREAD:
            totals["bytes of constants"] += len(attributes["value"][2]) // 2
        for _, ops in regions:
            count(ops, totals)


def versions(name: str, data: bytes, targets: list[str], totals: Counter[str]) -> Iterator[tuple[str, bytes]]:
    """Yield a module, and the same for other versions."""
    yield name, data
    for target in targets:
        try:
            module = stablehlo.deserialize_portable_artifact(ir.Context.current, data)
            yield f"{name} for {target}", stablehlo.serialize_portable_artifact(module, target)
        except (ValueError, JaxRuntimeError, ir.MLIRError):
            totals["not written for an older version"] += 1


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("files", type=Path, nargs="+")
    parser.add_argument("--targets", default="")
    parser.add_argument("--part", type=int, default=1)
    parser.add_argument("--digests", type=Path)
    parser.add_argument("--archive", type=Path)
    options = parser.parse_args()
    totals: Counter[str] = Counter()
    lines: list[str] = []
    others: dict[str, bytes] = {}
    with make_ir_context() as context:
        context.load_all_available_dialects()
        for base, original in itertools.islice(files(options.files), 0, None, options.part):
            for name, data in versions(base, original, [t for t in options.targets.split(",") if t], totals):
                compare(name, data, totals, lines)
                if name != base:
                    others[f"{name.partition(' for ')[2]}/{base.rpartition('/')[2]}"] = data
    if options.archive:
        write_archive(options.archive, others)
    if options.digests:
        options.digests.write_text("".join(f"{line}\n" for line in lines))
    print(dict(totals))
    return 1 if totals["different"] else 0


def compare(name: str, data: bytes, totals: Counter[str], lines: list[str]) -> None:
    try:
        ours = neutral(read_bytecode(data, name))
    except (InputError, ValueError) as error:
        totals["refused"] += 1
        print(f"{name}: refused: {error}"[:300])
        return
    try:
        other = theirs(ir.Module.parse(data))
    except (ir.MLIRError, ValueError) as error:
        totals["not read by jaxlib"] += 1
        print(f"{name}: not read by jaxlib: {error}"[:200].replace("\n", " "))
        return
    totals["modules"] += 1
    count(other, totals)
    lines.append(f"{digest(other)} {name}")
    if found := difference(ours, other):
        totals["different"] += 1
        print(f"{name}: {found}")


if __name__ == "__main__":
    sys.exit(main())
