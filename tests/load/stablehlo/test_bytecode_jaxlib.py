"""The reader against jaxlib's: ops, attributes, types and constants of each module, as compare_reader.py noted them."""

from __future__ import annotations

import pytest

from fuseconv.load.stablehlo.bytecode import read_bytecode
from tests.load.stablehlo.modules import FOLDER, archived
from tests.load.stablehlo.neutral import digest, neutral

DIGESTS = dict(line.split(" ", 1)[::-1] for line in (FOLDER / "digests.txt").read_text().splitlines())
# Shardy's annotations, which the reader leaves out.
ANNOTATED = {"ops/devices/sharding_constraint.mlirbc"}
ARCHIVES = ("ops", "models", "referee", "versions")


@pytest.mark.parametrize("archive", ARCHIVES)
def test_it_reads_what_jaxlib_reads(archive: str) -> None:
    found = {
        f"{archive}/{name}": digest(neutral(read_bytecode(data, name)))
        for name, data in archived(f"{archive}.tar.xz").items() if name.endswith(".mlirbc")
    }  # fmt: skip
    compared = {name: text for name, text in found.items() if name not in ANNOTATED}
    assert compared == {name: text for name, text in DIGESTS.items() if name.startswith(f"{archive}/")}
    assert len(found) > 20


def test_other_numbers_have_another_digest() -> None:
    data = archived("ops.tar.xz")["shapes/pad.mlirbc"]
    form = neutral(read_bytecode(data, "it"))
    form[0][4][0][1][1][1]["edge_padding_low"][2] = "00"
    assert digest(form) != DIGESTS["ops/shapes/pad.mlirbc"]
