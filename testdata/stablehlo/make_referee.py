"""Make modules of StableHLO's own tests, each with inputs and the outputs that StableHLO says they have.

    pip install .[jax]; git clone https://github.com/openxla/stablehlo
    python testdata/stablehlo/make_referee.py stablehlo OUT [--testdata PART | --small]

writes the archive OUT, compressed if it ends with .xz: of each function with expectations in stablehlo/tests/interpret
(and of each PARTth module of stablehlo/testdata) FILE/FUNCTION.mlirbc, and .npz with in0, in1, ..., out0, out1, ....
Constants become arguments, so that nothing is computed while it is converted; a second module FUNCTION+const has those
that are no tensors of data (sizes, bounds, paddings, starts of reductions) as they were. What MLIR cannot parse is
counted, by its first sentence. referee.tar.xz is made with --small: a few modules of each op.
`python -m tests.load.stablehlo.referee OUT` converts and runs the modules.
"""

from __future__ import annotations

import argparse
import io
import itertools
import re
import tarfile
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
from jax._src.interpreters.mlir import make_ir_context
from jax.errors import JaxRuntimeError
from jaxlib._jax import mlir as jaxlib_mlir
from jaxlib.mlir import ir
from jaxlib.mlir.dialects import func, stablehlo

# A name, a module, and its inputs and outputs by name.
Case = tuple[str, bytes, dict[str, np.ndarray]]
_TENSOR = r"tensor<(?:[^<>]|<[^<>]*>)*>"
_CONST = re.compile(rf"check\.(expect_\w+_const) (%[\w#]+), (dense<[^>]*>)[^:\n]*:\s*({_TENSOR})")
_VALUES = re.compile(rf"check\.(expect_\w+) (%[\w#]+), (%[\w#]+)[^:\n]*:\s*({_TENSOR})[^\n]*")
# Of a small archive: how many modules of an op it has, which of testdata; and what tests the interpreter itself.
_OF_AN_OP = 2
_CHOSEN = frozenset({
    "scatter_add_float32_1_float32", "select_and_scatter_add_float32_1_3_5_float32_2_4_6",
    "select_and_scatter_add_float32_2_3_4_float32_2_4_6", "select_and_scatter_add_float32_3_5_7_float32_2_4_6",
    "reduce_window_max_int32_4_6", "reduce_window_add_float32_4_6", "random_split_", "random_uniform_",
    "random_randint_", "scatter_mul_float32_1_125_float32_1", "scatter_mul_int32_1_125_int32_1", "sort_bool_5_7",
    "argmax_bool_15", "reduce_window_min_float32_1_1600",
})  # fmt: skip
_NOT_OPS = frozenset({"check", "probe", "printing"})
# What stops a module from being made.
_REFUSED = ValueError, TypeError, KeyError, ir.MLIRError, JaxRuntimeError
_CHECK = "check.expect"
# Kinds of ops of which a module that is converted needs to know operands: all but the first ones.
_DATA = {
    "stablehlo.dynamic_broadcast_in_dim": 1, "stablehlo.dynamic_conv": 2, "stablehlo.dynamic_gather": 2,
    "stablehlo.dynamic_iota": 0, "stablehlo.dynamic_pad": 1, "stablehlo.dynamic_reshape": 1, "stablehlo.pad": 1,
    "stablehlo.real_dynamic_slice": 1,
}  # fmt: skip
_FROM_STARTS = {"stablehlo.reduce", "stablehlo.reduce_window"}
_DTYPES: dict[str, Any] = {
    "bf16": ml_dtypes.bfloat16, "f16": np.float16, "f32": np.float32, "f64": np.float64, "i1": bool, "index": np.int64,
    **{f"i{bits}": f"int{bits}" for bits in (8, 16, 32, 64)},
    **{f"ui{bits}": f"uint{bits}" for bits in (8, 16, 32, 64)},
}  # fmt: skip
_TOKEN = re.compile(r"0x[0-9A-Fa-f]+|true|false|[-+]?[0-9][0-9.eE+-]*")


def _context() -> ir.Context:
    context = make_ir_context()
    context.allow_unregistered_dialects = True  # of the ops that check
    return context


_DENSE = re.compile(rf"dense<([^>]*)> : ({_TENSOR})")


def constant(op: Any) -> np.ndarray:
    """Return the elements of a constant. Raises ValueError if it is none, or NumPy has no such numbers."""
    found = _DENSE.search(f"{op}") if op.name == "stablehlo.constant" else None
    if found is None:
        raise ValueError("what is expected is no constant")
    return dense_array(found[1], found[2])


def dense_array(text: str, kind: str) -> np.ndarray:
    """Return elements from the text of them, "[[1, 2]]", and of their type, "tensor<1x2xi32>". The bindings have no
    elements of many types. Raises ValueError if NumPy has no such numbers."""
    sizes, name = re.fullmatch(r"tensor<((?:\d+x)*)(.*)>", kind).groups()  # type: ignore[union-attr]
    shape, part = tuple(map(int, sizes.split("x")[:-1])), _DTYPES.get(name.removeprefix("complex<").rstrip(">"))
    if part is None:
        raise ValueError(f"constants of {name} have no NumPy type")
    dtype = np.dtype(part if not name.startswith("complex") else {"f32": "complex64", "f64": "complex128"}[name[8:11]])
    if text.startswith('"'):
        flat = _of_hex(bytes.fromhex(text[3:-1]), dtype, int(np.prod(shape)))
    else:
        flat = np.array([_number(token, np.dtype(part)) for token in _TOKEN.findall(text)], part).view(dtype)
    return np.broadcast_to(flat, shape).copy() if flat.size == 1 and shape else flat.reshape(shape)


def _of_hex(data: bytes, dtype: np.dtype, count: int) -> np.ndarray:
    if dtype.kind == "b" and len(data) not in (1, count):
        return np.unpackbits(np.frombuffer(data, np.uint8), bitorder="little")[:count].astype(bool)
    return np.frombuffer(data, dtype)


def _number(token: str, dtype: np.dtype) -> Any:
    if token.startswith("0x"):
        return np.frombuffer(int(token, 16).to_bytes(dtype.itemsize, "little"), dtype)[0]
    if token in ("true", "false"):
        return token == "true"
    return int(token) if dtype.kind in "iu" else dtype.type(float(token))


def chunks(text: str) -> Iterator[str]:
    """Yield the modules of a file, with the check dialect's ops in their generic form."""
    text = re.sub(r"^\s*//(?! -----).*$", "", text, flags=re.MULTILINE)
    for chunk in text.split("// -----"):
        numbers = itertools.count()
        chunk = _CONST.sub(lambda m, n=numbers: _explicit(m, next(n)), chunk)  # type: ignore[misc]
        yield _VALUES.sub(r'"check.\1"(\2, \3) : (\4, \4) -> ()', chunk)


def _explicit(check: re.Match[str], number: int) -> str:
    """check.f_const %x, dense<...> : tensor<...> -> a constant, and the op "check.f" of both."""
    what, value, dense, kind = check.groups()
    name = f"%expected_{number}"
    return f'{name} = stablehlo.constant {dense} : {kind}\n"check.{what}"({value}, {name}) : ({kind}, {kind}) -> ()'


def functions(module: Any) -> list[Any]:
    return [op for op in module.body.operations if op.operation.name == "func.func"]


def name_of(function: Any) -> str:
    return ir.StringAttr(function.attributes["sym_name"]).value


def body(function: Any) -> Any:
    return function.operation.regions[0].blocks[0]


def operations(function: Any) -> list[Any]:
    return [op.operation for op in body(function).operations] if function.operation.regions[0].blocks else []


def take_checks(function: Any) -> list[np.ndarray]:
    """Let a function return what it checks; return what it expects."""
    wanted, expected = [], []
    for op in operations(function):
        if op.name.startswith(_CHECK):
            wanted.append(op.operands[0])
            expected.append(constant(op.operands[1].owner))
    if not wanted:
        raise ValueError("nothing is checked at the level of the function")
    for op in operations(function):
        if op.name.startswith(_CHECK) or op.name == "func.return":
            op.erase()
    with ir.InsertionPoint(body(function)), ir.Location.unknown():
        func.ReturnOp(wanted)
    return expected


def take_constants(function: Any, keep_sizes: bool) -> list[np.ndarray]:
    """Let constants of a function be its arguments; return what they are."""
    inputs = []
    for op in operations(function):
        if op.name != "stablehlo.constant" or (keep_sizes and any(map(_is_size, op.results[0].uses))):
            continue
        if not list(op.results[0].uses):
            op.erase()
            continue
        inputs.append(constant(op))
        op.results[0].replace_all_uses_with(body(function).add_argument(op.results[0].type, ir.Location.unknown()))
        op.erase()
    return inputs


def _is_size(use: Any) -> bool:
    owner = use.owner.operation
    if owner.name in _FROM_STARTS:
        return bool(use.operand_number >= len(owner.operands) // 2)
    return bool(use.operand_number >= _DATA.get(owner.name, 99))


def finish(module: Any, function: Any) -> bytes:
    """Return a module of which a function is `main`."""
    block = body(function)
    returned = operations(function)[-1]
    kind = ir.FunctionType.get([a.type for a in block.arguments], [v.type for v in returned.operands])
    function.attributes["function_type"] = ir.TypeAttr.get(kind)
    for name in ("res_attrs", "arg_attrs"):
        if name in function.attributes:
            del function.attributes[name]
    function.attributes["sym_name"] = ir.StringAttr.get("main")
    if "sym_visibility" in function.attributes:
        del function.attributes["sym_visibility"]
    module.operation.verify()
    stream = io.BytesIO()
    module.operation.write_bytecode(stream)
    return jaxlib_mlir.serialize_portable_artifact(stream.getvalue(), stablehlo.get_current_version())


def interpreted(chunk: str, place: int, keep_sizes: bool) -> tuple[str, bytes, dict[str, np.ndarray]]:
    """Return the module of the function with checks at a place of a chunk: its name, bytes, inputs and outputs."""
    module = ir.Module.parse(chunk)
    function = functions(module)[place]
    name = name_of(function)
    if list(body(function).arguments):
        raise ValueError("the function takes arguments")
    expected = take_checks(function)
    inputs = take_constants(function, keep_sizes)
    for other in functions(module):
        checks = any(op.name.startswith(_CHECK) for op in operations(other))
        if other != function and (checks or name_of(other) == "main"):
            other.operation.erase()
    return name, finish(module, function), named(inputs, expected)


def named(inputs: list[np.ndarray], outputs: list[np.ndarray]) -> dict[str, np.ndarray]:
    return {f"in{i}": a for i, a in enumerate(inputs)} | {f"out{i}": a for i, a in enumerate(outputs)}


def generated(text: str) -> tuple[bytes, dict[str, np.ndarray]]:
    """Return a module of testdata, which takes what @inputs returns and expects what @expected does."""
    module = ir.Module.parse(text)
    by_name = {name_of(function): function for function in functions(module)}
    main = by_name["main"]
    values = {
        name: [constant(value.owner) for value in operations(by_name[name])[-1].operands]
        for name in ("inputs", "expected") if name in by_name
    }  # fmt: skip
    for op in operations(main):
        if op.name == "stablehlo.custom_call" and "check." in f"{op.attributes['call_target_name']}":
            op.erase()
    for op in operations(main):
        if op.name == "func.call" and (callee := f"{op.attributes['callee']}".lstrip("@")) in ("inputs", "expected"):
            if callee == "inputs":
                for result in op.results:
                    result.replace_all_uses_with(body(main).add_argument(result.type, ir.Location.unknown()))
            op.erase()
    for name in ("inputs", "expected"):
        if name in by_name:
            by_name[name].operation.erase()
    return finish(module, main), named(values.get("inputs", []), values["expected"])


def cases_of_tests(folder: Path, skipped: Counter[str]) -> Iterator[Case]:
    for path in sorted((folder / "stablehlo/tests/interpret").rglob("*.mlir")):
        if path.stem in _NOT_OPS:
            continue
        for chunk in chunks(path.read_text()):
            if _CHECK not in chunk:
                continue
            count = len(re.findall(r"^\s*func\.func", chunk, re.MULTILINE))
            for place in range(count):
                made = set()
                for keep_sizes in (False, True):
                    try:
                        name, data, arrays = interpreted(chunk, place, keep_sizes)
                    except _REFUSED as error:
                        if not keep_sizes:
                            skipped[_reason(path, error)] += 1
                        continue
                    if data not in made:
                        made.add(data)
                        yield f"{path.stem}/{name}{'+const' * keep_sizes}", data, arrays


def _reason(path: Path, error: Exception) -> str:
    lines = [line.strip() for line in f"{error}".splitlines() if line.strip()]
    line = [*lines, type(error).__name__][1 if len(lines) > 1 else 0]
    return f"{path.stem.partition('_')[0]}: {line[:100]}"


def testdata(folder: Path) -> list[Path]:
    return sorted((folder / "stablehlo/testdata").glob("*.mlir"))


def cases_of_testdata(paths: Iterable[Path], skipped: Counter[str]) -> Iterator[Case]:
    for path in paths:
        try:
            data, arrays = generated(path.read_text())
        except _REFUSED as error:
            skipped[_reason(path, error)] += 1
            continue
        yield f"{path.stem.partition('_')[0]}/{path.stem}", data, arrays


def small_cases(folder: Path, skipped: Counter[str]) -> Iterator[Case]:
    """Yield two modules of each op, of types that TFLite has, and some of testdata of what the tests have too few."""
    seen: Counter[str] = Counter()
    for name, data, arrays in cases_of_tests(folder, skipped):
        op = name.partition("/")[0]
        wide = any(array.dtype in ("float64", "complex128", "uint64", ml_dtypes.bfloat16) for array in arrays.values())
        if not wide and seen[op] < _OF_AN_OP:
            seen[op] += 1
            yield name, data, arrays
    yield from cases_of_testdata([path for path in testdata(folder) if path.stem in _CHOSEN], skipped)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--testdata", type=int, default=0, metavar="PART")
    parser.add_argument("--small", action="store_true")
    options = parser.parse_args()
    skipped: Counter[str] = Counter()
    if options.small:
        found = small_cases(options.folder, skipped)
    elif options.testdata:
        found = cases_of_testdata(testdata(options.folder)[:: options.testdata], skipped)
    else:
        found = cases_of_tests(options.folder, skipped)
    with _context():
        count = _write(options.out, found)
    print(f"{count} modules")
    for reason, times in sorted(skipped.items()):
        print(f"{times:5} {reason}")


def _write(out: Path, found: Iterable[Case]) -> int:
    """Write an archive of modules; return how many there are. Modules stand before arrays, which packs best."""
    seen: Counter[str] = Counter()
    files: dict[str, bytes] = {}
    for name, data, arrays in found:
        seen[name] += 1
        name = f"{name}.{seen[name]}" if seen[name] > 1 else name
        stream = io.BytesIO()
        plain = {key: a.view(np.uint16) if a.dtype == ml_dtypes.bfloat16 else a for key, a in arrays.items()}
        np.savez(stream, **plain)  # type: ignore[arg-type]
        files |= {f"{name}.mlirbc": data, f"{name}.npz": stream.getvalue()}
    write_archive(out, files)
    return sum(seen.values())


def write_archive(out: Path, files: dict[str, bytes]) -> None:
    """Write files by name, those of a kind together."""
    with tarfile.open(out, "w:xz" if out.suffix == ".xz" else "w") as archive:
        for name, content in sorted(files.items(), key=lambda file: (file[0].rpartition(".")[2], file[0])):
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))


if __name__ == "__main__":
    main()
