"""The terminal's views, as text that a person has read."""

from __future__ import annotations

import io
import re

import pytest
from rich.console import Console

from fuseconv.ir.graph import Op
from fuseconv.report import tables
from fuseconv.report.records import AGREES, EmittedOp, Report
from fuseconv.tfl.arena import Node, Subgraph
from tests.report.test_json import a_report


def plain(show, *args, **options) -> str:
    return tables.text(lambda out: show(out, *args, **options), io.StringIO())


class Screen(io.StringIO):
    def isatty(self) -> bool:
        return True


CONVERSION = """\
Fused       Count  Into                                     For example
keras_lstm      1  UNIDIRECTIONAL_SEQUENCE_LSTM + 2 others  lstm/call
dense_bias      1  FULLY_CONNECTED                          dense/MatMul

Not fused   Count  Why                          Nodes
keras_lstm      1  TFLite's LSTM takes no mask  mask/call

Removed   2 identity
Ops       7 -> 2  (3 fused, 0 lowered, 1 folded, 2 removed, 0 unsupported)
Made      UNIDIRECTIONAL_SEQUENCE_LSTM · FULLY_CONNECTED
Faster    on a CPU: convert --rnn auto makes loops, or none, of fused recurrent ops
File      build/digits.tflite  4.1 kB
Time      14.3 ms  (load 12.3 ms · fuse 2.0 ms)
"""

VERBOSE = """\
Fused       Count  Nodes  Into                                     For example
keras_lstm      1      1  UNIDIRECTIONAL_SEQUENCE_LSTM + 2 others  lstm/call
dense_bias      1      2  FULLY_CONNECTED                          dense/MatMul

Not fused   Count  Why                          Nodes
keras_lstm      1  TFLite's LSTM takes no mask  mask/call

Folded      Nodes  For example
fold Shape      1  shape

Removed   Nodes  Why                      For example
identity      2  it hands on its operand  identity

Op  Type                          Stands for
 0  UNIDIRECTIONAL_SEQUENCE_LSTM  lstm/call
 1  FULLY_CONNECTED               dense/MatMul, dense/BiasAdd

Ops       7 -> 2  (3 fused, 0 lowered, 1 folded, 2 removed, 0 unsupported)
Made      UNIDIRECTIONAL_SEQUENCE_LSTM · FULLY_CONNECTED
Faster    on a CPU: convert --rnn auto makes loops, or none, of fused recurrent ops
File      build/digits.tflite  4.1 kB
Time      14.3 ms  (load 12.3 ms · fuse 2.0 ms)
"""

UNSUPPORTED = """\
Betainc (1)  head/Betainc
    no rule lowers this op
Cholesky (9)  c/0, c/1, c/2 and 6 more
    no rule lowers this op
"""

VERIFICATION = """\
Signature        Output  Type     Shapes         Largest difference  Relative
serving_default  class   float32  [1,10] [3,10]            1.19e-07  2.38e-07  ok
serving_default  mask    bool     [1]                             0         0  ok
encode           code    float32  [1,4]                           -         -  the shape [1, 5] instead of [1, 4]

Run       serving_default 2 times in a row on x[1,28,28]
Run       encode 2 times in a row on x[], words[3]
Drawn     encode x: normal distribution
Allowed   1e-06 + 0.0001 of the largest expected value
"""


def test_a_conversion() -> None:
    assert plain(tables.show_conversion, a_report()) == CONVERSION


def test_what_activations_take() -> None:
    report = a_report()
    report.subgraphs = [Subgraph([0], [2], [Node([0], [1]), Node([1], [2])], [16, 3200, 16])]
    report.dynamic = True
    line = "Arena     3.2 kB, most at UNIDIRECTIONAL_SEQUENCE_LSTM lstm/call  (unknown sizes as 1)\n"
    assert line in plain(tables.show_conversion, report)


def test_a_conversion_with_every_detail() -> None:
    assert plain(tables.show_conversion, a_report(), verbose=True) == VERBOSE


def test_numbers_with_every_detail_add_up_to_the_totals() -> None:
    report = a_report()
    shown = plain(tables.show_conversion, report, verbose=True)
    for title, kind in (("Fused", "fused"), ("Folded", "folded"), ("Removed", "removed")):
        head, *rows = shown[shown.index(title) :].split("\n\n")[0].splitlines()
        end = head.index("Nodes") + len("Nodes")
        assert sum(int(row[:end].split()[-1]) for row in rows) == report.totals()[kind]


def test_what_was_written_in_other_forms_for_a_target() -> None:
    report = a_report()
    report.target = {"name": "gpu", "refused": [{}], "remarks": []}
    shown = plain(tables.show_conversion, report)
    assert "Target    gpu takes 1 of 2 ops\n" in shown and "Faster" not in shown
    report.target["refused"] = []
    report.rewritten["GELU", ("MUL", "MUL", "TANH")] = 2
    report.arena_for_target = 1000, 2400
    shown = plain(tables.show_conversion, report)
    assert "Target    gpu takes all 2 ops; written for it: 2 GELU as 2 MUL, TANH\n" in shown
    assert "          these forms need 2.4 times the memory: 2.4 kB, not 1.0 kB\n" in shown
    report.arena_for_target, report.arena_of_tiles = None, (2400, 1200)
    shown = plain(tables.show_conversion, report)
    assert "          in tiles it needs 0.50 of the memory: 1.2 kB, not 2.4 kB\n" in shown


def test_names_are_short_unless_every_detail_is_wanted() -> None:
    deep = "/".join(f"layer_{number}" for number in range(9))
    report, name = a_report(), f"StatefulPartitionedCall/{'net/while/' * 2}{deep}/MatMul"
    report.refused("keras_lstm", [name], f"at '{name}' it differs", expected=True)
    assert "  net/…/layer_5/layer_6/layer_7/layer_8/MatMul\n" in plain(tables.show_conversion, report)
    shown = plain(tables.show_conversion, report, verbose=True)
    assert f"at 'net/while/…/{deep}/MatMul' it differs" in shown


def test_a_narrow_terminal_breaks_lines_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "30")
    shown = tables.text(lambda out: tables.show_conversion(out, a_report()), Screen())
    assert "UNIDIRECTIONAL_SEQUENCE_LSTM\x1b" in shown or "UNIDIRECTIONAL_SEQUENCE_LSTM " in shown


def test_a_report_is_text_and_its_repr_a_line() -> None:
    report = a_report()
    report.warnings = ["\x1bbeware"]
    assert str(report) == CONVERSION.rstrip() + "\nwarning: \\x1bbeware"
    assert repr(report) == "<Report of models/digits: 7 nodes -> 2 ops, 2 fusions, 1 warnings>"
    assert report.fusions == {"keras_lstm": 1, "dense_bias": 1}


def test_what_is_quantized() -> None:
    report, op = Report(), Op("tfl.FULLY_CONNECTED", sources=("dense/MatMul",))
    report.quantize(op, "w", "int8", 4000, 1000)
    report.quantize(op, "b", "float32", 40, 40, "it is \x1bsmall")
    report.quantize(op, "", "int8")
    quantized = "1 int8 constants · 1 int8 ops, 3.0 kB saved  (1 stays float: it is \\x1bsmall)"
    assert f"Quantized {quantized}\n" in plain(tables.show_conversion, report)
    report.quantized = report.quantized[1:2]
    quantized = "nothing  (1 stays float: it is \\x1bsmall)"
    assert f"Quantized {quantized}\n" in plain(tables.show_conversion, report)


def test_what_is_removed_adds_up_to_the_total() -> None:
    report = a_report()
    (removed,) = (record for record in report.records if record.kind == "removed")
    report.record("removed", "dead code", [*removed.sources[:1], "dense/MatMul"])
    shown = plain(tables.show_conversion, report)
    assert "Removed   1 identity · 1 dead code\n" in shown
    assert "2 removed" in shown


def test_unsupported_ops() -> None:
    ops = [
        ("Betainc", ["head/Betainc"], "no rule lowers this op"),
        ("Cholesky", [f"c/{n}" for n in range(9)], "no rule lowers this op"),
    ]
    shown = plain(tables.show_unsupported, ops)
    assert shown == UNSUPPORTED
    assert "c/8" in plain(tables.show_unsupported, ops, verbose=True)


def test_a_verification() -> None:
    row = {"type": "float32", "passed": True, "why": ""}
    document = {
        "atol": 1e-6,
        "rtol": 1e-4,
        "runs": [
            {"signature": "serving_default", "inputs": {"x": [1, 28, 28]}, "invokes": 2},
            {"signature": "encode", "inputs": {"x": [], "words": [3]}, "invokes": 2},
        ],
        "drawn": [{"signature": "encode", "input": "x", "how": "normal distribution"}],
        "outputs": [
            {**row, "signature": "serving_default", "output": "class", "shapes": [[1, 10], [3, 10]],
             "absolute": 1.19e-7, "relative": 2.38e-7},
            {**row, "signature": "serving_default", "output": "mask", "shapes": [[1]], "type": "bool",
             "absolute": 0.0, "relative": 0.0},
            {**row, "signature": "encode", "output": "code", "shapes": [[1, 4]], "absolute": None, "relative": None,
             "passed": False, "why": "the shape [1, 5] instead of [1, 4]"},
        ],
    }  # fmt: skip
    assert plain(tables.show_verification, document) == VERIFICATION


def test_layers() -> None:
    error = {"max": 0.5, "relative": 0.25, "cosine": 0.9}
    document = {
        "outputs": [], "runs": [], "drawn": [], "atol": 0, "rtol": 0.1, "grows": "net/b",
        "layers": [{"tensor": name, "op": "ADD", "type": "int8", "error": error} for name in ("net/a", "net/b")],
    }  # fmt: skip
    lines = plain(tables.show_verification, document).splitlines()
    assert [line.endswith("grows here first") for line in lines if line.startswith("ADD")] == [False, True]
    assert [line.partition(" ")[0] for line in lines if line and not line.startswith("ADD")][-2:] == ["Allowed", "Op"]


def test_names_from_a_model_cannot_command_the_terminal() -> None:
    report = a_report()
    report.record("fused", "conv", ["evil\x1b[2J\r[bold]name\u202e"], ["CONV_2D"])
    for stream in (io.StringIO(), Screen()):
        shown = tables.text(lambda out: tables.show_conversion(out, report), stream)
        assert "\x1b[2J" not in shown and "\r" not in shown and "\u202e" not in shown
        assert "evil\\x1b[2J\\r[bold]name\\u202e" in shown


def test_colors_and_wrapping_only_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.delenv("NO_COLOR", raising=False)

    def show(out: Console) -> None:
        tables.show_unsupported(out, [("Betainc", ["n" * 90], "why")])

    assert "\x1b[" not in tables.text(show, io.StringIO())
    assert "n" * 90 in tables.text(show, io.StringIO())
    assert "\x1b[" in tables.text(show, Screen())
    assert "n" * 90 not in tables.text(show, Screen())


@pytest.mark.parametrize(
    ("count", "text"),
    [(0, "0 B"), (999, "999 B"), (1000, "1.0 kB"), (3_400_000, "3.4 MB"), (999_960, "1.0 MB"), (10**13, "10.0 TB")],
)
def test_sizes(count: int, text: str) -> None:
    assert tables.size(count) == text


def test_what_was_switched_off_is_one_row():
    report = Report("model")
    for number in range(9):
        report.record("refused", f"fusion{number}", (), why="it was switched off")
    assert "switched off" not in plain(tables.show_conversion, report)
    shown = plain(tables.show_conversion, report, verbose=True)
    assert shown.count("it was switched off") == 1 and "fusion8" in shown


def test_refusals_that_nobody_expects_otherwise_are_details() -> None:
    report = Report("model")
    report.refused("patches", ["conv"], "the filter is no identity matrix")
    report.refused("keras_lstm", ["lstm"], "it takes no mask", expected=True)
    brief, full = (plain(tables.show_conversion, report, verbose=verbose) for verbose in (False, True))
    assert "patches" not in brief and "patches" in full
    assert "it takes no mask" in brief and "it takes no mask" in full


def test_why_a_composite_was_not_verified() -> None:
    report = Report("model")
    for name, why in (("a", f"{AGREES[0]} to 1e-7"), ("b", "it cannot be verified: no kernel"), ("b", "")):
        report.record("fused", f"acme_{name}", [name], ["ADD"], why)
    shown = plain(tables.show_conversion, report)
    assert "Unchecked acme_b: it cannot be verified: no kernel\n" in shown and "acme_a:" not in shown


def test_types_of_ops_that_are_many() -> None:
    report = Report("model")
    report.emitted = [EmittedOp(0, index, f"OP_{index // 2}", ()) for index in range(40)]
    made = next(text for text in plain(tables.show_conversion, report).splitlines() if text.startswith("Made"))
    assert made.startswith("Made      2 OP_0 · 2 OP_1 · ") and made.endswith("2 OP_11 · 8 more types")


def test_lines_end_at_the_edge_of_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("NO_COLOR", "1")
    report = a_report()
    report.emitted = [EmittedOp(0, index, f"OPERATION_{index}", ()) for index in range(12)]
    report.record("fused", "keras_lstm", ["a/very/long/name/" * 6], ["UNIDIRECTIONAL_SEQUENCE_LSTM", *["FILL"] * 99])
    lines = [re.sub(r"\x1b\[[0-9;]*m", "", line) for line in tables.text(
        lambda out: tables.show_conversion(out, report, verbose=True), Screen()).splitlines()]  # fmt: skip
    assert max(map(len, lines)) <= 80
    made = next(place for place, line in enumerate(lines) if line.startswith("Made"))
    assert lines[made + 1].startswith(" " * 10 + "OPERATION_")
