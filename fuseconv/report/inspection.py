"""Terminal output of `fuseconv.inspecting`: the contents of a .tflite file."""

from __future__ import annotations

import itertools
import shlex
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from rich.console import Console

from fuseconv.report.tables import arena_text, escape_controls, line, shape_text, show, size, table
from fuseconv.report.target import show_target

_FEW = 60  # ops: as many are listed without being asked for
# Keys of the metadata -> titles, which leave room for a blank.
_TOLD = {"name": "Name", "description": "About", "version": "Version", "author": "Author", "license": "License"}
# What an option says that was left alone; an option at another value is shown.
_UNSAID: tuple[Any, ...] = (0, False, "NONE", "DEFAULT", [], "")


def show_inspection(out: Console, document: Mapping[str, Any], verbose: bool = False) -> None:
    """Print the header, signatures, and ops by kind with the bytes of their weights; each op if there are few; with
    `verbose` all."""
    file = document["file"]
    line(out, "File", f"{escape_controls(file['path'])}  {size(file['size'])}, schema version {file['version']}")
    if file["description"]:
        line(out, "Made by", escape_controls(file["description"]))
    for entry in document["metadata"]:
        text = entry["text"] if entry["text"] is not None else size(entry["size"])
        line(out, "Metadata", f"{escape_controls(entry['name'])}: {escape_controls(text)}")
    _show_metadata(out, document)
    out.print()
    _show_signatures(out, document)
    _show_counts(out, document)
    if document["arena"] is not None:
        line(out, "Arena", _arena(document))
    for key, needs in (("custom_ops", "the application's own kernels"), ("flex_ops", "TensorFlow's kernels (Flex)")):
        if document[key]:
            line(out, "Needs", f"{needs} for {', '.join(map(escape_controls, document[key]))}")
    if "target" in document:
        show_target(out, document)
    if document["custom_ops"] or document["flex_ops"]:
        out.print()
    if document.get("model_explorer"):
        paths = ",".join(path for path in document["model_explorer"] if not path.endswith("model_graph.json"))
        command = shlex.join(["model-explorer", file["path"], f"--node_data_paths={paths}"])
        line(out, "Open with", escape_controls(command))
        out.print()
    if verbose or sum(document["op_counts"].values()) <= _FEW:
        for number, subgraph in enumerate(document["subgraphs"]):
            _show_ops(out, number, subgraph, verbose)
            if verbose:
                _show_tensors(out, subgraph)


def _show_metadata(out: Console, document: Mapping[str, Any]) -> None:
    """Print what the model's author says of it, and the files that go with it."""
    told = document["model_metadata"] or {"inputs": [], "outputs": []}
    for key, title in _TOLD.items():
        if told.get(key):
            line(out, title, escape_controls(told[key]))
    for tensor in (*told["inputs"], *told["outputs"]):
        numbers = [f"{key} {', '.join(f'{number:g}' for number in tensor[key])}" for key in ("mean", "std")]
        said = [text for text, key in zip(numbers, ("mean", "std")) if tensor[key]] + [
            f"labels {name}" for name in tensor["labels"]
        ]
        if said:
            line(out, "Tensor", escape_controls(f"{tensor['name']}: {' · '.join(said)}"))
    for entry in document["files"]:
        line(out, "Holds", f"{escape_controls(entry['name'])}  {size(entry['size'])}")


def show_resolver(out: Console, document: Mapping[str, Any], verbose: bool = False) -> None:
    """Print the C++ that registers the ops with TFLite Micro's interpreter."""
    found = document["micro_resolver"]
    for text in (*found["lines"], *(f"// TFLite Micro does not have {name}." for name in found["lacks"])):
        out.print(escape_controls(text), soft_wrap=True)


def _arena(document: Mapping[str, Any]) -> str:
    arena = document["arena"]
    op = document["subgraphs"][arena["subgraph"]]["ops"][arena["index"]]
    within = f" of subgraph {arena['subgraph']}" if arena["subgraph"] else ""
    return arena_text(arena["bytes"], arena["peak"], f"op {arena['index']}{within}: {op['op']}", arena["dynamic"])


def _show_signatures(out: Console, document: Mapping[str, Any]) -> None:
    if not document["signatures"]:
        line(out, "Signature", "none")
        return
    rows = table("Signature", ">Subgraph", "", "~Name", "Tensor")
    for signature in document["signatures"]:
        tensors = document["subgraphs"][signature["subgraph"]]["tensors"]
        head = [escape_controls(signature["key"]), str(signature["subgraph"])]
        for way, names in (("in", signature["inputs"]), ("out", signature["outputs"])):
            for name, index in names.items():
                rows.add_row(*head, way, escape_controls(name), type_text(tensors[index]))
                head = ["", ""]
    show(out, rows)


def _show_counts(out: Console, document: Mapping[str, Any]) -> None:
    rows = table("Op", ">Count", ">Weights")
    counts = sorted(document["op_counts"].items(), key=lambda item: (-item[1], item[0]))
    for op, count in counts:
        weights = document["weight_bytes"].get(op, 0)
        rows.add_row(escape_controls(op), str(count), size(weights) if weights else "")
    weights = sum(document["weight_bytes"].values())
    rows.add_row("all", str(sum(document["op_counts"].values())), size(weights) if weights else "")
    show(out, rows)


def _show_ops(out: Console, number: int, subgraph: Mapping[str, Any], verbose: bool) -> None:
    line(out, "Subgraph", f"{number} {escape_controls(subgraph['name'])}".strip())
    rows = table(">", "Op", "~Operands (* constant) -> results  options")
    tensors = subgraph["tensors"]
    for index, op in enumerate(subgraph["ops"]):
        options = {k: v for k, v in op["options"].items() if verbose or v not in _UNSAID}
        ends = (_repeated(_operand(tensors, i, verbose) for i in op[key]) for key in ("operands", "results"))
        text = f"{' -> '.join(ends)}  {' '.join(f'{k}={v}' for k, v in options.items())}".rstrip()
        rows.add_row(
            str(index), escape_controls(op["op"]) + (f" v{op['version']}" if verbose else ""), escape_controls(text)
        )
    show(out, rows)


def _repeated(texts: Iterable[str]) -> str:
    """Return texts in a row, equal neighbors as one: ["a", "b", "b"] -> "a 2x b"."""
    counts = ((text, sum(1 for _ in group)) for text, group in itertools.groupby(texts))
    return " ".join(text if count == 1 else f"{count}x {text}" for text, count in counts)


def _show_tensors(out: Console, subgraph: Mapping[str, Any]) -> None:
    rows = table(">", "~Tensor", "Type", ">Buffer", ">Size", "~Quantization", "")
    for index, tensor in enumerate(subgraph["tensors"]):
        rows.add_row(
            str(index),
            escape_controls(tensor["name"]),
            type_text(tensor),
            str(tensor["buffer"]),
            size(tensor["size"]) if tensor["size"] else "",
            _quantization(tensor["quantisation"]),
            " ".join(word for word in ("variable", "sparse") if tensor[f"is_{word}"]),
        )
    show(out, rows)


def _operand(tensors: Sequence[Mapping[str, Any]], index: int, verbose: bool) -> str:
    if index < 0:
        return "-"
    number = f"{index}:" if verbose else ""
    return number + type_text(tensors[index]) + ("*" if tensors[index]["size"] else "")


def type_text(tensor: Mapping[str, Any]) -> str:
    """Return a type as "float32[?,28]": a dimension that may be resized is a question mark."""
    return tensor["type"].lower() + shape_text(tensor["shape_signature"] or tensor["shape"])


def _quantization(quantization: Mapping[str, Any] | None) -> str:
    if quantization is None:
        return ""
    spans = []
    for name in ("scale", "zero_point"):
        low, high = (f"{value:.6g}" for value in quantization[name])
        spans.append(f"{name.replace('_', ' ')} {low if low == high else f'{low}..{high}'}")
    along = f", {quantization['count']} along axis {quantization['axis']}" if quantization["count"] > 1 else ""
    return ", ".join(spans) + along
