"""A .tflite file as a C array, whatever the pieces in which it comes."""

from __future__ import annotations

import io
import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from fuseconv.write.c_array import CArray, become_c_array, is_c_array

DATA = np.random.default_rng(0).integers(0, 256, 1003, np.uint8).tobytes()


def _text(data: bytes, name: str = "model.cc", *pieces: int) -> str:
    out = io.BytesIO()
    array = CArray(out, name, ["made by", "", "the test"])
    for start, end in zip((0, *pieces), (*pieces, len(data))):
        assert array.write(data[start:end]) == end - start
    assert array.tell() == len(data)
    array.finish()
    return out.getvalue().decode()


def _bytes(text: str) -> bytes:
    return bytes(int(number, 16) for number in re.findall(r"0x(\w\w),", text))


def test_the_whole_text() -> None:
    assert _text(bytes(range(17)), "dir/my-model.v2.cc") == """\
// made by
//
// the test
#ifndef __cplusplus
#include <stdalign.h>
#endif
extern const unsigned char g_my_model_v2[];
extern const unsigned int g_my_model_v2_len;
alignas(16) const unsigned char g_my_model_v2[] = {
0x00,0x01,0x02,0x03,0x04,0x05,0x06,0x07,0x08,0x09,0x0a,0x0b,0x0c,0x0d,0x0e,0x0f,
0x10,
};
const unsigned int g_my_model_v2_len = 17;
"""


@pytest.mark.parametrize("pieces", [(), (1, 2, 3), (16,), (5, 5, 900), (1003,)])
def test_pieces(pieces: tuple[int, ...]) -> None:
    text = _text(DATA, "model.cc", *pieces)
    assert _bytes(text) == DATA and text == _text(DATA)


def test_a_header_defines_what_others_include() -> None:
    text = _text(DATA, "g_digits.h")
    assert text.startswith("#pragma once\n") and "extern" not in text
    assert "alignas(16) static const unsigned char g_digits[] = {\n" in text
    assert "static const unsigned int g_digits_len = 1003;\n" in text


def test_names() -> None:
    assert [name for name in ("a.cc", "a.CPP", "a.c", "a.h", "a.hpp", "a.tflite", "cc", "a.cc.tflite")
            if is_c_array(Path(name))] == ["a.cc", "a.CPP", "a.c", "a.h", "a.hpp"]  # fmt: skip


def test_a_file_becomes_c_a_piece_at_a_time(tmp_path: Path) -> None:
    path = tmp_path / "model.tflite"
    path.write_bytes(DATA * 2000)
    become_c_array(path, "model.cc")
    assert _bytes(path.read_text()) == DATA * 2000


@pytest.mark.skipif(shutil.which("g++") is None, reason="there is no C++ compiler")
@pytest.mark.parametrize("suffix", ["c", "cc", "h"])
def test_it_compiles(suffix: str, tmp_path: Path) -> None:
    """As C and as C++, seen from another file where it is no header."""
    (tmp_path / f"model.{suffix}").write_text(_text(DATA, f"model.{suffix}"))
    own = '#include "model.h"\n' if suffix == "h" else "extern const unsigned char g_model[];\n" \
        "extern const unsigned int g_model_len;\n"  # fmt: skip
    language = "c" if suffix == "c" else "cc"
    (tmp_path / f"main.{language}").write_text(
        f"{own}int main(void) {{ return g_model_len == 1003 && g_model[0] == {DATA[0]} "
        f"&& (unsigned long)g_model % 16 == 0 && g_model[1002] == {DATA[-1]} ? 0 : 1; }}\n"
    )
    sources = [f"main.{language}"] + ([] if suffix == "h" else [f"model.{suffix}"])
    compiler = ["gcc", "-std=c11"] if suffix == "c" else ["g++", "-std=c++17"]
    subprocess.run([*compiler, "-Wall", "-Werror", *sources, "-o", "main"], cwd=tmp_path, check=True, timeout=60)
    assert subprocess.run([tmp_path / "main"], check=False, timeout=60).returncode == 0
