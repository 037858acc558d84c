"""What is told of errors that TensorFlow raises."""

from __future__ import annotations

import pytest

from fuseconv.runners import first_line


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("Shapes must fit.\nand more", "Shapes must fit"),
        ("\n  indented\n", "indented"),
        ("", "ValueError"),
        ("Graph execution error:\n\nDetected at node x\nshapes differ\n[[{{node x}}]]", "shapes differ"),
    ],
)
def test_the_line_that_says_what_is_wrong(text: str, line: str) -> None:
    assert first_line(ValueError(text)) == line
