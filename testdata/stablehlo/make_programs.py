"""Make the modules of random programs that the tests convert, with inputs and outputs, by JAX.

    pip install .[jax]
    python -m testdata.stablehlo.make_programs

writes programs.tar.xz: for each seed SEED.mlirbc and SEED.npz, of which RUN/NAME is an input or an output of a run.
"""

from __future__ import annotations

import io
import tarfile
from collections.abc import Iterator
from pathlib import Path

import jax
import numpy as np

from tests.fuzz.jax_programs import exported, program, runs

# Of the first seeds that JAX writes, but for what fuseconv refuses: filters, and gathered slices, of symbolic sizes.
_COUNT = 40
_REFUSED = frozenset({12, 38})


def files() -> Iterator[tuple[str, bytes]]:
    """Yield the files of the archive by name."""
    seed, left = -1, _COUNT
    while left:
        seed += 1
        drawn = program(seed)
        data = exported(drawn)
        if data is None or seed in _REFUSED:
            continue
        left -= 1
        yield f"{seed}.mlirbc", data
        stream = io.BytesIO()
        arrays = {f"{run}/{name}": each for run, given in enumerate(runs(drawn, seed)) for name, each in given.items()}
        np.savez(stream, **arrays)  # type: ignore[arg-type]
        yield f"{seed}.npz", stream.getvalue()


if __name__ == "__main__":
    # Source files by their names alone, as make_modules.py has them.
    jax.config.update("jax_hlo_source_file_canonicalization_regex", ".*/")
    with tarfile.open(Path(__file__).parent / "programs.tar.xz", "w:xz", preset=9) as archive:
        for name, data in sorted(files(), key=lambda file: (file[0].rpartition(".")[2], file[0])):
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
