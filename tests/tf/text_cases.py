"""Modules written as IR text, for the tests of passes.

The text is that of `fuseconv.ir.text` in a short form. Values may have names in place of numbers, constants stand where
they are read, `@inner` is a function, and an element type is its name. What follows from the rest is left out:

    main {
      input %x: float32[n,2]
      %s: int32[2] = tf.Shape(%x) {'out_type': int32}
      %y: float32[n,2] = tf.PartitionedCall(%x, %s, float32[2] [1.0, 2.0]) {'f': @inner}
      return %y
    }

`short_text` prints a module so, with numbers for names: modules that differ in names of values only have the same text.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from fuseconv.ir.graph import Module
from fuseconv.ir.text import parse_module, print_module
from fuseconv.ir.types import BY_NAME
from fuseconv.ir.verifier import check
from fuseconv.report.records import Report

_DTYPE = "|".join(BY_NAME)
_GRAPH = re.compile(r"\s*([^\s%={][^%={]*?) *\{")
_OP = re.compile(r"(%.*? = )?(\w+\.\w+)\((.*?)\) ?(\{.*?\})?( \".*)?$")
_NAME = re.compile(r"%(\w+)\b(: )?")
_CONSTANT = re.compile(rf"((?:{_DTYPE})\[[\d,]*\](?:<[^>]*>)?) (.*)")
_DECLARED = re.compile(r'%(\d+) "(?:[^"\\]|\\.)*":')
_ATTRS = re.compile(r'(?<=\)) (\{.*\}) "(?:[^"\\]|\\.)*" from \[.*\]$')


def module_of(*graphs: str, inputs: int | None = None, outputs: int | None = None) -> tuple[Module, Report]:
    """The module of these graphs, with a signature of the first; inputs, outputs: how many names that has."""
    lines = [line.strip() for graph in graphs for line in graph.splitlines()]
    texts = "".join(_full_lines(lines))
    first = json_name(next(filter(None, lines)))
    has, returns = 0, 0
    for line in lines[: lines.index("}")]:
        has += line.startswith("input ")
        if line.startswith("return "):
            returns = len(_split(line[7:]))
    inputs, outputs = has if inputs is None else inputs, returns if outputs is None else outputs
    names = [f'"i{i}"' for i in range(inputs)], [f'"o{i}"' for i in range(outputs)]
    signature = f'signature ["serving_default"] {first} [{", ".join(names[0])}] [{", ".join(names[1])}]\n'
    module = parse_module(texts + signature)
    check(module)
    report = Report()
    for op in module.signatures[0].graph.ops:
        report.source(op.name, op.type)
    return module, report


def json_name(line: str) -> str:
    return '"' + line.removesuffix("{").strip() + '"'


def kinds(module: Module, graph: int = 0) -> list[str]:
    """The types of a graph's ops."""
    return [op.type for op in list(module.graphs())[graph].ops]


def short_text(module: Module) -> str:
    """The text of a module with numbers for names and attributes sorted, without functions that nothing refers to."""
    blocks: dict[str, str] = {}
    for block in print_module(module).partition("\nsignature ")[0].split("\n}")[:-1]:
        head, _, body = block.strip().partition("\n")
        name = _short_name(ast.literal_eval(head[6:-2]))
        blocks[name] = f"{name} {{\n" + "".join(_short_lines(body)) + "}\n"
    names = [_short_name(signature.graph.name) for signature in module.signatures]
    for name in names:
        found = re.findall(r"@([\w/'@:.]+)", blocks[name])
        names += [each for each in found if each in blocks and each not in names]
    return "".join(blocks[name] for name in dict.fromkeys(names))


def _full_lines(lines: list[str]) -> Iterator[str]:
    """The lines of graphs in the long form."""
    numbers: dict[str, int] = {}
    for line in lines:
        if line.endswith("{"):
            numbers = {}
            yield f"graph {json_name(line)} {{\n"
        elif line.startswith("return "):
            yield from _with_constants("return ", line[7:], "", numbers)
        elif line.startswith(("input ", "const ", "variable ", "attrs ")) or not (op := _OP.match(line)):
            yield _numbered(_attributes(line) if line.startswith("attrs ") else line, numbers) + "\n"
        else:
            results, kind, operands, attrs, source = op.groups("")
            name = re.match(r'%(\w+)(?: "(.*?)":)?', results)
            if not source:
                text = json_name((name.group(2) or name.group(1)) if name else kind)
                source = f" {text} from [{text}]"
            yield from _with_constants(
                f"{results}{kind}(", operands, f") {_attributes(attrs or '{}')}{source}", numbers
            )


def _with_constants(head: str, operands: str, tail: str, numbers: dict[str, int]) -> Iterator[str]:
    """A line, with the constants among its operands declared before it."""
    read = []
    for operand in _split(operands):
        constant = _CONSTANT.fullmatch(operand)
        if constant is not None:
            operand = f"%constant{len(numbers)}"
            yield _numbered(f"const {operand}: {constant[1]} = {constant[2]}", numbers) + "\n"
        read.append(operand)
    yield _numbered(head, numbers) + _numbered(", ".join(read), numbers) + tail + "\n"


def _numbered(text: str, numbers: dict[str, int]) -> str:
    """Names of values -> numbers, far from those that the text itself may have."""

    def number(match: re.Match) -> str:
        name = match[1]
        number = name if name.isdigit() else numbers.setdefault(name, len(numbers) + 1000)
        return f"%{number}" + (f' "{name}": ' if match[2] else "")

    return _NAME.sub(number, text)


def _split(operands: str) -> list[str]:
    """The operands between the commas that are in no brackets."""
    parts, depth = [""], 0
    for character in operands:
        depth += (character in "[<") - (character in "]>")
        if character == "," and not depth:
            parts.append("")
        else:
            parts[-1] += character
    return [part.strip() for part in parts if part.strip()]


def _attributes(text: str) -> str:
    text = re.sub(r"@([\w/'@:.]+)", lambda match: repr({"function": match[1]}), text)
    return re.sub(rf"(?<=[ \[(])({_DTYPE})(?=[,}}\])])", r"{'dtype': '\1'}", text)


def _short_lines(body: str) -> Iterator[str]:
    names: dict[str, str] = {}
    made = 0
    for line in body.splitlines():
        if line.startswith("  const "):
            number, declared, data = re.match(r'  const %(\d+) "(?:[^"\\]|\\.)*": (.*?) = (.*)$', line).groups()  # type: ignore[union-attr]
            names[number] = f"{declared} {data}"
            continue
        for number in _DECLARED.findall(line):
            names[number] = f"%{made}"
            made += 1
        line = _ATTRS.sub(lambda match: _short_attributes(ast.literal_eval(match[1])), line)
        line = _DECLARED.sub(lambda match: names[match[1]] + ":", line)
        head, equals, tail = line.rpartition(" = ") if " = " in line else ("", "", line)
        yield head + equals + re.sub(r"%(\d+)(?!:|\d)", lambda match: names[match[1]], tail) + "\n"


def _short_attributes(attrs: dict) -> str:
    text = repr({key: attrs[key] for key in sorted(attrs)}) if attrs else ""
    text = re.sub(r"\{'function': '([^']*)'\}", lambda match: "@" + _short_name(match[1]), text)
    text = re.sub(r"\{'dtype': '(\w+)'\}", r"\1", text)
    return f" {text}" if text else ""


def _short_name(function: str) -> str:
    return function.replace(" ", "_")
