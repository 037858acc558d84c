"""The defects that the fuzzer found, as the cases that showed them. Each is run again with the tests.

A case is a recipe: its name makes the same model as long as the mutations of its kind stay as they are. The checksum
tells when it no longer does; then the kind has changed, and the defect needs a case anew or a test where it was.
`python -m tests.fuzz.regressions NAME` prints a row for the table.
"""

from __future__ import annotations

import sys
import tempfile
import zlib
from pathlib import Path

from tests.fuzz.cases import Case, prepare

# Name of the case, checksum of its model, what went wrong.
REGRESSIONS: tuple[tuple[str, int, str], ...] = ()


def checksum(name: str, base: Path) -> int:
    """The CRC-32 of the files of a case's model, which is written under `base`."""
    model = Path(prepare(Case.parse(name), base).model)
    crc = 0
    for file in sorted(path for path in (model, *model.rglob("*")) if path.is_file()):
        crc = zlib.crc32(file.read_bytes(), zlib.crc32(str(file.relative_to(base)).encode(), crc))
    return crc


if __name__ == "__main__":
    for case in sys.argv[1:]:
        with tempfile.TemporaryDirectory() as folder:
            print(f'    ("{case}", {checksum(case, Path(folder)):#010x},\n     ""),')
