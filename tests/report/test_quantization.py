"""The report of a quantization, in both forms."""

from __future__ import annotations

import html.parser
import json
from typing import Any

import pytest

from fuseconv.errors import InputError
from fuseconv.report.quantization import check_suffix, quantization_report, to_html
from fuseconv.report.records import Compared, ComparedOp, Report

ERROR = {"max": 0.5, "mean": 0.1, "range": 10.0, "relative": 0.05, "sqnr": None, "cosine": 0.99, "saturated": 0.25}


def report(held_back: bool = True) -> Report:
    made = Report("m<odel.tflite", "out.tflite", warnings=["a & b"])
    made.compared = Compared(7, held_back, [
        ComparedOp("CONV_2D", "net/conv", "int8", 400, 100, "", ERROR, ("conv",)),
        ComparedOp("COS", "net/<b>\x1b", "float32", 8, 8, "COS has no kernel", None, ()),
    ])  # fmt: skip
    return made


def test_json():
    document = json.loads(quantization_report(report(), "r.json"))
    assert document["samples"] == {"count": 7, "held_back": True} and document["bytes"] == {"before": 408, "after": 108}
    first, second = document["ops"]
    assert first["error"] == ERROR and first["sources"] == ["conv"] and second["why"] == "COS has no kernel"
    assert document["schema_version"] == 1 and document["warnings"] == ["a & b"]


class _Page(html.parser.HTMLParser):
    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, Any]] = []
        self.texts: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, Any]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


def test_a_page_that_loads_and_runs_nothing():
    page = _Page(quantization_report(report(), "r.HTML").decode())
    assert page.tags.count("tr") == 3 and page.tags.count("td") == 2 * 12
    assert not {"script", "link", "img", "iframe", "b"} & set(page.tags)
    assert not {"src", "href", "onclick"} & {name for name, _ in page.attributes}
    assert "net/<b> " in page.texts and "m<odel.tflite, quantized" in page.texts and "a & b" in page.texts
    assert "0.05" in page.texts and "400 → 100" in page.texts and "COS has no kernel" in page.texts
    assert ("style", "background-size: 50% 100%") in page.attributes


def test_samples_are_told_apart():
    assert "held back" in to_html(report()) and "none can lie beyond" in to_html(report(held_back=False))
    assert "none were given" in to_html(Report("m"))


def test_a_path_that_tells_no_form():
    check_suffix("a.json")
    with pytest.raises(InputError, match=r"--quantize-report a.txt: end its name with .json or .html"):
        check_suffix("a.txt")
