"""A converter module as a file, for tests of plug-ins."""

from __future__ import annotations

from pathlib import Path

HEAD = """
from fuseconv.fuse.match import Fusion, composite
from fuseconv.fuse.pattern import pattern
ADD = composite("acme.Add", "x y -> sum")
"""


def write(tmp_path: Path, text: str) -> str:
    """Write mine.py, whose text begins in its fifth line; return its path."""
    path = tmp_path / "mine.py"
    path.write_text(HEAD + text)
    return str(path)
