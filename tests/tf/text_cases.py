"""Modules written as IR text, for the tests of passes."""

from __future__ import annotations

from fuseconv.ir.graph import Module
from fuseconv.ir.text import parse_module
from fuseconv.ir.verifier import check
from fuseconv.report.records import Report


def module_of(*graphs: str, inputs: int = 1, outputs: int = 1) -> tuple[Module, Report]:
    """The module of these graphs ("name { ... }", ops without quotes and sources); the first is the signature's."""
    parts = [graph.partition("{") for graph in graphs]
    text = "".join(f'graph "{name.strip()}" {{\n{_lines(body)}}}\n' for name, _, body in parts)
    first = parts[0][0].strip()
    names = [f"i{i}" for i in range(inputs)], [f"o{i}" for i in range(outputs)]
    text += f'signature ["serving_default"] "{first}" {list(names[0])} {list(names[1])}\n'.replace("'", '"')
    module = parse_module(text)
    check(module)
    report = Report()
    for op in module.signatures[0].graph.ops:
        report.source(op.name, op.type)
    return module, report


def kinds(module: Module, graph: int = 0) -> list[str]:
    """The types of a graph's ops."""
    return [op.type for op in list(module.graphs())[graph].ops]


def _lines(body: str) -> str:
    out = []
    for line in body.rpartition("}")[0].splitlines():
        line = line.strip()
        if " = " in line and not line.startswith("const"):
            name = line.partition(":")[0].split()[1].strip('"')
            line += f' "{name}" from ["{name}"]'
        out.append(line + "\n")
    return "".join(out)
