"""What a shell offers behind an option that takes a name."""

from __future__ import annotations

import pytest
from click.shell_completion import ShellComplete

from fuseconv import cli


@pytest.mark.parametrize(("line", "offered", "not_offered"), [
    ("convert model --target m", {"micro", "mediatek"}, {"gpu"}), ("inspect x.tflite --target q", {"qnn"}, {"micro"}),
    ("convert model --fuse keras_", {"keras_lstm"}, {"gelu"}),
    ("convert model --no-fuse gel", {"gelu"}, {"keras_lstm"}),
    ("fusions gel", {"gelu"}, {"rnn"}), ("quantize x.tflite --print-ir-after cano", {"canonicalize"}, {"lower"}),
    ("convert model --print-ir-before a", {"all"}, {"lower"}),
    ("passes low", {"lower"}, {"inline"}), ("passes al", set(), {"all"}),
    ("convert model --rnn a", {"auto"}, {"fused"}),
])  # fmt: skip
def test_names_are_completed(line: str, offered: set[str], not_offered: set[str]) -> None:
    *args, incomplete = line.split()
    completions = ShellComplete(cli.main, {}, "fuseconv", "_FUSECONV_COMPLETE").get_completions(args, incomplete)
    values = [item.value for item in completions]
    assert offered <= {*values} and not not_offered & {*values} and len(values) == len({*values})
