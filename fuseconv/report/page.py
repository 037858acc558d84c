"""The report as one HTML page that loads nothing: what came out, what was fused, what was not and why, and both graphs.

Every name in it comes from the model, which may be anybody's. jinja2 escapes what the page shows at once; the graphs
are data that `page.js` shows as text, as far as they are opened. The policy in the page's head lets nothing run but
that script, and nothing be fetched.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from importlib.resources import files
from itertools import accumulate
from typing import Any

from fuseconv.errors import InputError
from fuseconv.report.advice import Place, advice
from fuseconv.report.inspection import type_text
from fuseconv.report.layers import plain
from fuseconv.report.tables import counted, escape_controls, principal, seconds_text, shape_text, size
from fuseconv.targets.multiply_adds import multiply_adds
from fuseconv.targets.signature import signature_in

_PIECES = re.compile(r"(?<=[/_,])")
_LAYERS = 12  # as many of the largest are shown at once


def to_page(document: Mapping[str, Any], inspection: Mapping[str, Any] | None = None) -> str:
    """Return the page of a report. document: what `report.json.to_json` returns, with the error of a conversion that
    failed; inspection: what `fuseconv.inspecting` tells of the file, if there is one.

    Raises InputError without jinja2."""
    script, style = _resource("page.js"), _resource("page.css")
    return page_template().render(_tables(document, inspection) | {
        "report": document, "script": script, "style": style, "script_hash": _hash(script), "style_hash": _hash(style),
        "graphs": _graphs(document, inspection),
    })  # fmt: skip


def page_template() -> Any:
    """Return the template of the page. Raises InputError without jinja2."""
    try:
        import jinja2  # no other report needs it
    except ImportError as error:
        raise InputError("a report as .html needs jinja2: pip install jinja2, or end its name with .json") from error
    environment = jinja2.Environment(autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True)
    environment.policies["json.dumps_kwargs"] = {"separators": (",", ":")}
    environment.filters |= {"size": size, "name": _breakable, "seconds": seconds_text}
    return environment.from_string(_resource("page.html"))


def _breakable(text: str) -> Any:
    """Return a name as HTML that may be broken into lines behind each "/", "_" and ","."""
    from markupsafe import Markup

    return Markup("<wbr>").join(_PIECES.split(escape_controls(text)))  # which escapes the pieces


def _resource(name: str) -> str:
    return files("fuseconv.report").joinpath(name).read_text("utf-8")


def _hash(text: str) -> str:
    """Return what a content security policy calls a script or style by."""
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


def _tables(document: Mapping[str, Any], inspection: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return what the page shows without being asked."""
    work = _work(inspection)
    starts = _starts(inspection)
    return {
        "ends": _ends(document["signatures"]), "types": _types(document, work),
        "layers": _sized_layers(document)[:_LAYERS],
        "fused": _groups(document, "fused", lambda record: (record["rule"], principal(record["emitted"]))),
        "refused": _groups(document, "refused", lambda record: (record["rule"], record["why"])),
        "advice": [
            {"what": item.what, "do": item.do, "ops": [starts[number] + index for number, index in item.ops]}
            for item in (advice(inspection, work) if inspection else ())
        ],
    }  # fmt: skip


def _work(inspection: Mapping[str, Any] | None) -> dict[Place, int]:
    graphs, customs = (inspection["subgraphs"], inspection["custom_ops"]) if inspection else ((), ())
    work = {
        (number, index): multiply_adds(signature_in(graph, op, op["op"] in customs, lambda tensor: None))
        for number, graph in enumerate(graphs) for index, op in enumerate(graph["ops"])
    }  # fmt: skip
    return {place: count for place, count in work.items() if count}


def _starts(inspection: Mapping[str, Any] | None) -> list[int]:
    """Return the place of the first op of each subgraph in the list of all."""
    return [*accumulate((len(graph["ops"]) for graph in inspection["subgraphs"]), initial=0)] if inspection else []


def _sized_layers(document: Mapping[str, Any]) -> list[dict[str, Any]]:
    return sorted(document["layers"], key=lambda layer: -layer["bytes"])


def _types(document: Mapping[str, Any], work: Mapping[Place, int]) -> list[dict[str, Any]]:
    rows: dict[str, dict[str, Any]] = {}
    for op in document["ops"]:
        row = rows.setdefault(op["type"], {"type": op["type"], "count": 0, "bytes": 0, "work": 0})
        row["count"] += 1
        row["bytes"] += op["bytes"]
        row["work"] += work.get((op["subgraph"], op["index"]), 0)
    return sorted(rows.values(), key=lambda row: (-row["count"], row["type"]))


def _groups(document: Mapping[str, Any], kind: str, key: Any) -> list[dict[str, Any]]:
    """Return the records of a kind that have the same key: their rule, what else the key says, and their places."""
    found: dict[tuple[str, str], list[int]] = defaultdict(list)
    for place, record in enumerate(document["records"]):
        if record["kind"] == kind:
            found[key(record)].append(place)
    return [{"rule": rule, "text": text, "records": places} for (rule, text), places in found.items()]


def _graphs(document: Mapping[str, Any], inspection: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return the nodes of the model and the ops of the file, in rows that `page.js` names the columns of."""
    return {
        "nodes": [
            [escape_controls(plain(node["name"])), escape_controls(node["type"]), node["fate"], node.get("inputs", [])]
            for node in document["nodes"]
        ],
        "ops": _op_rows(document, inspection),
        "layers": [
            [escape_controls(layer["layer"]), layer["ops"], layer["bytes"]]
            for layer in _sized_layers(document)[_LAYERS:]
        ],
        "subgraphs": [escape_controls(graph["name"]) for graph in inspection["subgraphs"]] if inspection else [],
        "records": [
            [record["kind"], record["rule"], record["sources"], counted(record["emitted"]),
             escape_controls(record["why"])]
            for record in document["records"]
        ],
    }  # fmt: skip


def _op_rows(document: Mapping[str, Any], inspection: Mapping[str, Any] | None) -> list[list[Any]]:
    starts, reads, results = _starts(inspection), _reads(inspection), _results(inspection)
    rows = []
    for op in document["ops"]:
        place = op["subgraph"], op["index"]
        readers = [starts[place[0]] + index for index in reads.get(place, ())]
        rows.append([
            op["subgraph"], op["index"], escape_controls(op["type"]), escape_controls(op["layer"]), op["bytes"],
            op["fusions"], op["sources"], readers, results.get(place, ""),
        ])  # fmt: skip
    return rows


def _reads(inspection: Mapping[str, Any] | None) -> dict[Place, list[int]]:
    """Return for each op those of its subgraph whose results it reads."""
    found = {}
    for number, graph in enumerate(inspection["subgraphs"] if inspection else ()):
        makers = {result: index for index, op in enumerate(graph["ops"]) for result in op["results"]}
        for index, op in enumerate(graph["ops"]):
            found[number, index] = list(dict.fromkeys(makers[i] for i in op["operands"] if i in makers))
    return found


def _results(inspection: Mapping[str, Any] | None) -> dict[Place, str]:
    """Return the types and names of what each op makes."""
    return {
        (number, index): _told(graph["tensors"][place] for place in op["results"])
        for number, graph in enumerate(inspection["subgraphs"] if inspection else ())
        for index, op in enumerate(graph["ops"])
    }


def _told(tensors: Iterable[Mapping[str, Any]]) -> str:
    return ", ".join(f"{type_text(tensor)} {escape_controls(tensor['name'])}" for tensor in tensors)


def _ends(signatures: Sequence[Mapping[str, Any]]) -> list[tuple[str, str, str, str]]:
    """Return (signatures, "in" or "out", name, type) for each input and output."""
    return [
        (", ".join(signature["names"]), way, tensor["name"], _type(tensor)) for signature in signatures
        for way, tensors in (("in", signature["inputs"]), ("out", signature["outputs"])) for tensor in tensors
    ]  # fmt: skip


def _type(tensor: Mapping[str, Any]) -> str:
    return tensor["type"] + ("[...]" if tensor["shape"] is None else shape_text(tensor["shape"]))
