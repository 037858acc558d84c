"""Terminal output: tables for a person, drawn from the same data as the JSON.

Names come from the model, which may be anybody's: they are printed without markup and without control characters.
Output that is not a terminal gets neither colors nor wrapped cells, so that it can be searched.
"""

from __future__ import annotations

import contextlib
import io
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, TextIO

from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from fuseconv.report.layers import short, shortened
from fuseconv.report.records import AGREES, Record, Report
from fuseconv.tfl.traits import FUSED_RECURRENT

_NARROWEST = 60  # columns of a terminal below which it breaks lines itself, as no cell could be read
_WIDE = 10_000  # columns: no cell is wrapped
_TITLE = 10  # columns of the title of a line
_NOTABLE = 1.2  # times the memory that is worth a line
_TYPES = 12  # types of ops named before "and 5 more"
_LONGEST = 48  # letters of a name, before its middle is left out
_LONGEST_OF_LAYERS = 40  # where four columns stand beside it
_NAMES = 3  # nodes named in a row before "and 5 more"


def text(draw: Callable[[Console], None], stream: TextIO) -> str:
    """Return the output of `draw` as text for `stream`: with colors and wrapped cells if it is a terminal, else
    plain."""
    terminal = stream.isatty()
    out = Console(
        file=io.StringIO(), force_terminal=terminal, width=None if terminal else _WIDE, markup=False, emoji=False,
        highlight=False,
    )  # fmt: skip
    out.width = max(out.width, _NARROWEST)
    draw(out)
    lines = out.file.getvalue().rstrip().splitlines()  # type: ignore[attr-defined]
    return "".join(f"{line if terminal else line.rstrip()}\n" for line in lines)


@contextlib.contextmanager
def progress(stream: TextIO) -> Iterator[Callable[[str], None]]:
    """Show a stage's name on a terminal while it lasts, and leaves nothing behind."""
    out = Console(file=stream, markup=False, emoji=False, highlight=False)
    with out.status("start") as status:
        yield status.update


def escape_controls(text: str) -> str:
    """Return `text` with everything that could move the cursor or start an escape sequence spelled out."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def show_conversion(out: Console, report: Report, verbose: bool = False) -> None:
    """Print the summary of a conversion: the fusions, removed nodes, totals, size and times; with `verbose` everything
    else."""
    by_kind: dict[str, list[Record]] = defaultdict(list)
    for record in report.records:
        by_kind[record.kind].append(record)
    counted_for = _counted_for(report)
    _show_fused(out, by_kind["fused"], counted_for if verbose else None)
    _show_refused(out, [record for record in by_kind["refused"] if verbose or record.expected], verbose)
    if verbose:
        for kind in ("lowered", "folded", "removed"):
            _show_rules(out, kind.capitalize(), by_kind[kind], counted_for)
        _show_emitted(out, report)
        if report.passes:
            _show_pass_runs(out, report)
    elif removed := [record for record in by_kind["removed"] if counted_for[id(record)]]:
        counts: Counter[str] = Counter()
        for record in removed:
            counts[record.rule] += len(counted_for[id(record)])
        line(out, "Removed", " · ".join(f"{n} {escape_controls(rule)}" for rule, n in counts.most_common()))
    _show_unverified(out, by_kind["fused"])
    cut = {**report.cut.inputs, **report.cut.outputs}
    if cut:
        line(out, "Cut", " · ".join(escape_controls(f"{name} at {tensor}") for name, tensor in cut.items()))
    if report.input_ranges:
        ranges = (f"{name} from {low} to {high}" for name, (low, high) in report.input_ranges.items())
        line(out, "Inputs", " · ".join(map(escape_controls, ranges)))
    if report.quantized:
        line(out, "Quantized", _quantized(report))
    totals = report.totals()
    parts = [f"{totals[fate]} {fate}" for fate in ("fused", "lowered", "folded", "removed", "unsupported")]
    fates = f"{len(report.sources)} -> {len(report.emitted)}  ({', '.join(parts)})"
    line(out, "Ops", fates if report.sources else str(len(report.emitted)))
    if report.emitted:
        line(out, "Made", _types(report))
        if report.target is None and any(op.type in FUSED_RECURRENT for op in report.emitted):
            line(out, "Faster", "on a CPU: convert --rnn auto makes loops, or none, of fused recurrent ops")
    if report.target is not None:
        _show_target(out, report)
    if report.output_bytes:
        told = f", as {size(report.bytes_of_c)} of C" if report.bytes_of_c else ""
        told += f"; names of tensors left out, {size(report.bytes_of_names)}" if report.bytes_of_names else ""
        line(out, "File", f"{escape_controls(report.output)}  {size(report.output_bytes)}{told}".strip(), "bold green")
    if report.arena is not None:
        places = {(op.subgraph, op.index): op for op in report.emitted}
        op = places.get((report.arena.subgraph, report.arena.node))
        where = "" if op is None else f"{op.type} {_names(op.sources[:1])}".strip()
        line(out, "Arena", arena_text(report.arena.size, report.arena.peak, where, report.dynamic))
    if report.seconds:
        stages = " · ".join(f"{stage} {seconds_text(s)}" for stage, s in report.seconds.items())
        line(out, "Time", f"{seconds_text(sum(report.seconds.values()))}  ({stages})")


def conversion_text(report: Report) -> str:
    """Return the summary of a conversion as text without colors, and the warnings."""
    warnings = "".join(f"\nwarning: {escape_controls(warning)}" for warning in report.warnings)
    return text(lambda out: show_conversion(out, report), io.StringIO()).rstrip() + warnings


def _show_target(out: Console, report: Report) -> None:
    """Print how many ops the target takes, and which were written in other forms for it."""
    target, count = report.target or {}, len(report.emitted)
    refused = len(target["refused"])
    taken = f"all {count} ops" if not refused else f"{count - refused} of {count} ops"
    line(out, "Target", f"{escape_controls(target['name'])} takes {taken}{_forms(report)}")
    if report.arena_for_target is not None:
        before, after = report.arena_for_target
        if max(before, after) >= _NOTABLE * min(before, after) > 0:
            line(out, "", f"these forms need {after / before:.1f} times the memory: {size(after)}, not {size(before)}")
    if report.arena_of_tiles is not None:
        before, after = report.arena_of_tiles
        line(out, "", f"in tiles it needs {after / before:.2f} of the memory: {size(after)}, not {size(before)}")


def _forms(report: Report) -> str:
    """Return which ops became which, for a person."""
    if not report.rewritten:
        return ""
    parts = [
        f"{f'{count} ' if count > 1 else ''}{type} as {counted(into) or 'nothing'}"
        for (type, into), count in report.rewritten.most_common()
    ]
    more = [f"{len(parts) - _TYPES} more"] if len(parts) > _TYPES + 1 else []
    return f"; written for it: {' · '.join([*(parts[:_TYPES] if more else parts), *more])}"


def _quantized(report: Report) -> str:
    """Return the types of constants and ops, and the reasons why some stayed float."""
    changed = [item for item in report.quantized if item.type != "float32"]
    counts = Counter(f"{item.type} {'constants' if item.name else 'ops'}" for item in changed)
    parts = [f"{count} {kind}" for kind, count in counts.most_common()] or ["nothing"]
    saved = sum(item.before - item.after for item in report.quantized)
    whys = Counter(item.why for item in report.quantized if item.why)
    reasons = [
        f"{count} {'stay' if count > 1 else 'stays'} float: {escape_controls(why)}"
        for why, count in whys.most_common(_NAMES)
    ]
    text = " · ".join(parts) + (f", {size(saved)} saved" if saved else "")
    return text + (f"  ({'; '.join(reasons)})" if reasons else "")


def _show_pass_runs(out: Console, report: Report) -> None:
    rows = table("Pass", ">Runs", ">Changes", ">Time")
    for name, runs, changes, seconds in report.pass_totals():
        rows.add_row(escape_controls(name), str(runs), str(changes), seconds_text(seconds))
    show(out, rows)


def show_unsupported(out: Console, ops: Sequence[tuple[str, Sequence[str], str]], verbose: bool = False) -> None:
    """Print the ops that stopped a conversion: (op, node names, why) for each. The reasons name options to be copied,
    so that they have the width of the terminal."""
    for op, nodes, why in ops:
        out.print(Text.assemble((escape_controls(op), "bold"), f" ({len(nodes)})  {_names(nodes, verbose)}"))
        out.print(Padding(Text(escape_controls(why), overflow="fold"), (0, 0, 0, 4)))


def show_fusions(out: Console, rows: Iterable[Mapping[str, str]]) -> None:
    """Print the fusions: `{"name", "emits", "summary", "origin"}` for each."""
    _show_rows(out, rows, {"name": "Fusion", "emits": "~Into", "summary": "~What it does", "origin": "~From"})


def show_passes(out: Console, rows: Iterable[Mapping[str, Any]]) -> None:
    """Print the passes of a pipeline: `{"name", "summary", "requires", "ensures"}` for each."""
    lines = (
        {**row, "summary": " · ".join([row["summary"], *(
            f"{key} {', '.join(row[key])}" for key in ("requires", "ensures") if row[key])])}
        for row in rows
    )  # fmt: skip
    _show_rows(out, lines, {"name": "Pass", "summary": "~What it does"})


def show_rules(out: Console, rows: Iterable[Mapping[str, Any]]) -> None:
    """Print the known ops: `{"op", "status", "emits", "summary", "select_tf_ops", "origin"}` for each."""
    lines = (
        {
            **row,
            "emits": ", ".join(row["emits"]) or {"rule": "none", "pass": "by a pass"}.get(row["status"], "unsupported"),
            "flex": "yes" if row["select_tf_ops"] else "",
        }
        for row in rows
    )
    headers = {"op": "TensorFlow op", "emits": "~TFLite ops", "summary": "~How", "flex": "Flex", "origin": "~From"}
    _show_rows(out, lines, headers)


def _show_rows(out: Console, items: Iterable[Mapping[str, str]], headers: Mapping[str, str]) -> None:
    rows = table(*headers.values())
    for item in items:
        rows.add_row(*(escape_controls(item[key]) for key in headers))
    out.print(rows)


def show_verification(out: Console, document: Mapping[str, Any]) -> None:
    """Print the largest differences of each output, from `Verification.to_json`."""
    rows = table("Signature", "~Output", "Type", "~Shapes", ">Largest difference", ">Relative", "~")
    for row in document["outputs"]:
        shapes = " ".join(shape_text(shape) for shape in row["shapes"])
        absolute, relative = (_number(row[key]) for key in ("absolute", "relative"))
        verdict = Text("ok", "green") if row["passed"] else Text(escape_controls(row["why"]), "bold red")
        rows.add_row(
            escape_controls(row["signature"]),
            escape_controls(row["output"]),
            row["type"],
            shapes,
            absolute,
            relative,
            verdict,
        )
    show(out, rows)
    for run in document["runs"]:
        shapes = ", ".join(f"{escape_controls(name)}{shape_text(shape)}" for name, shape in run["inputs"].items())
        line(out, "Run", f"{escape_controls(run['signature'])} {run['invokes']} times in a row on {shapes}".strip())
    for row in document["drawn"]:
        line(out, "Drawn", f"{escape_controls(row['signature'])} {escape_controls(row['input'])}: {row['how']}".strip())
    half = f", as the model computes in {document['half']}" if document.get("half") else ""
    line(out, "Allowed", f"{document['atol']:g} + {document['rtol']:g} of the largest expected value{half}")
    if document.get("layers"):
        out.print()
        _show_layers(out, document)


def _show_layers(out: Console, document: Mapping[str, Any]) -> None:
    rows = table("~Op and tensor", "Type", ">Difference", ">Of range", ">Cosine", "~")
    for row in document["layers"]:
        error = row["error"]
        first = Text("grows here first", "bold red") if row["tensor"] == document["grows"] else Text("")
        numbers = (_number(error["max"]), _number(error["relative"]), _number(error["cosine"]))
        name = f"{row['op']} {short(row['tensor'], _LONGEST_OF_LAYERS)}"
        rows.add_row(escape_controls(name), row["type"], *numbers, first)
    show(out, rows)


def size(count: int) -> str:
    """Return a number of bytes for a person: "512 B", "3.4 kB", "12.0 MB"."""
    value, unit = float(count), "B"
    for larger in ("kB", "MB", "GB", "TB"):
        if value < 999.95:
            break
        value, unit = value / 1000, larger
    return f"{count} B" if unit == "B" else f"{value:.1f} {unit}"


def arena_text(count: int | None, peak: int, where: str, dynamic: bool) -> str:
    """Return what activations take, for a person. count: bytes of the arena, None if only those at the peak are known;
    where: the op there; dynamic: whether unknown sizes counted as 1."""
    told = f"at least {size(peak)}" if count is None else size(count)
    return f"{told}, most at {escape_controls(where)}{'  (unknown sizes as 1)' if dynamic else ''}"


def _show_fused(out: Console, records: Sequence[Record], counted_for: Mapping[int, list[str]] | None) -> None:
    """Print the fusions. counted_for: see `_counted_for`; None leaves the numbers of nodes out."""
    if not records:
        return
    groups: dict[tuple[str, str], list[Record]] = defaultdict(list)
    for record in records:
        groups[record.rule, principal(record.emitted)].append(record)
    rows = table("Fused", ">Count", ">Nodes", "~Into", "~For example")
    for (rule, into), group in groups.items():
        nodes = "" if counted_for is None else str(sum(len(counted_for[id(record)]) for record in group))
        rows.add_row(escape_controls(rule), str(len(group)), nodes, escape_controls(into), _names(group[0].sources[:1]))
    show(out, rows)


def _show_unverified(out: Console, records: Sequence[Record]) -> None:
    """Print why composites were fused without a run of their bodies."""
    reasons = Counter((record.rule, record.why) for record in records if record.why)
    for (rule, why), count in reasons.items():
        if not why.startswith(AGREES):
            times = f" ({count} times)" if count > 1 else ""
            line(out, "Unchecked", escape_controls(f"{rule}{times}: {why}"))


def _types(report: Report) -> str:
    """Return the ops of the file by type, the most frequent first."""
    counts = Counter(op.type for op in report.emitted).most_common()
    shown = counts if len(counts) <= _TYPES + 1 else counts[:_TYPES]
    more = [f"{len(counts) - len(shown)} more types"] if len(shown) < len(counts) else []
    return " · ".join([counted([escape_controls(type)] * count) for type, count in shown] + more)


def _show_refused(out: Console, records: Sequence[Record], verbose: bool) -> None:
    """Show the fusions that were not made, by rule and reason, with their nodes."""
    if not records:
        return
    groups: dict[tuple[str, str], list[str]] = defaultdict(list)
    # What was switched off is no node's affair, and may be all but one.
    off: dict[str, list[str]] = defaultdict(list)
    for record in records:
        if record.sources:
            groups[record.rule, record.why].extend(record.sources[:1])
        else:
            off[record.why].append(record.rule)
    rows = table("Not fused", ">Count", "~Why", "~Nodes")
    for (rule, why), nodes in groups.items():
        rows.add_row(escape_controls(rule), str(len(nodes)), _sentence(why), _names(nodes, verbose))
    for why, rules in off.items():
        rows.add_row(_names(rules, verbose), "", escape_controls(why), "")
    show(out, rows)


def _show_rules(
    out: Console, title: str, records: Sequence[Record], counted_for: Mapping[int, list[str]]
) -> None:
    """Print what rules did to the nodes that have their fate by them, so that the numbers add up to the total."""
    groups: dict[tuple[str, str, str], list[str]] = defaultdict(list)
    for record in records:
        if nodes := counted_for[id(record)]:
            groups[record.rule, counted(record.emitted), record.why].extend(nodes)
    if not groups:
        return
    rows = table(title, ">Nodes", "~Into", "~Why", "~For example")
    for (rule, into, why), nodes in groups.items():
        rows.add_row(
            escape_controls(rule), str(len(nodes)), escape_controls(into), _sentence(why), _names(nodes[:1])
        )
    show(out, rows)


def _show_emitted(out: Console, report: Report) -> None:
    rows = table(">Op", "Type", "~Stands for")
    several = len({op.subgraph for op in report.emitted}) > 1
    for op in report.emitted:
        place = f"{op.subgraph}:{op.index}" if several else str(op.index)
        rows.add_row(place, escape_controls(op.type), _names(op.sources))
    show(out, rows)


def _counted_for(report: Report) -> dict[int, list[str]]:
    """Return by each record's `id` the nodes that have their fate by it. Each node counts once, for the last record of
    the strongest kind, so that the sums are the totals that are shown."""
    fates = report.account()
    last = {name: record for record in report.records for name in record.sources if fates.get(name) == record.kind}
    found: dict[int, list[str]] = {id(record): [] for record in report.records}
    for name, record in last.items():
        found[id(record)].append(name)
    return found


def principal(types: Sequence[str]) -> str:
    """Return the ops of a fusion by the one that it is made for, the first: "CONV_2D + 2 others"."""
    others = len(types) - 1
    return "".join(types[:1]) + (f" + {others} other{'s' if others > 1 else ''}" if others > 0 else "")


def counted(types: Iterable[str]) -> str:
    """Return ops by their number, as "CONV_2D, 2 RESHAPE"."""
    return ", ".join(type if n == 1 else f"{n} {type}" for type, n in Counter(types).items())


def _names(names: Sequence[str], every: bool = False) -> str:
    """Return some of the names, cut where they are long, or all of them."""
    shown = names if every or len(names) <= _NAMES + 1 else names[:_NAMES]
    more = f" and {len(names) - len(shown)} more" if len(shown) < len(names) else ""
    return ", ".join(escape_controls(short(name, None if every else _LONGEST)) for name in shown) + more


def _sentence(why: str) -> str:
    return escape_controls(shortened(why))


def shape_text(shape: Sequence[int]) -> str:
    """Return a shape as "[?,28]": a negative size is one that is not fixed."""
    return "[" + ",".join("?" if n < 0 else str(n) for n in shape) + "]"


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.2e}" if value else "0"


def seconds_text(seconds: float) -> str:
    """Return a time for a person: "0.25 s", "1.3 ms", "4.2 µs"."""
    if seconds >= 0.1:
        return f"{seconds:.2f} s"
    return f"{seconds * 1e3:.1f} ms" if seconds >= 1e-4 else f"{seconds * 1e6:.1f} µs"


def line(out: Console, title: str, text: str, style: str = "bold") -> None:
    """Print a line with a title, aligned with the lines of other titles; where it is too long for a terminal, its words
    go on in further lines under the first."""
    if len(text) + _TITLE <= out.width:
        out.print(Text.assemble((f"{title:<{_TITLE}}", style), text), soft_wrap=True)
        return
    rows = Table.grid()
    rows.add_column(width=_TITLE, style=style)
    rows.add_column(overflow="fold")
    rows.add_row(title, Text(text))
    out.print(rows)


def show(out: Console, rows: Table) -> None:
    """Print a table without its empty columns, and a blank line behind it."""
    columns = [column for column in rows.columns if any(str(cell) for cell in column.cells)]
    shown = _unframed()
    for column in columns:
        shown.add_column(column.header, justify=column.justify, no_wrap=column.no_wrap, overflow=column.overflow)
    for cells in zip(*(column.cells for column in columns)):
        shown.add_row(*cells)
    out.print(shown)
    out.print()


def table(*headers: str) -> Table:
    """Return an unframed table with these columns. ">" before a header aligns its column to the right, "~" lets its
    cells wrap on a narrow terminal."""
    rows = _unframed()
    for header in headers:
        rows.add_column(
            header.lstrip(">~"),
            justify="right" if header.startswith(">") else "left",
            no_wrap=not header.startswith("~"),
            overflow="fold",
        )
    return rows


def _unframed() -> Table:
    return Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
