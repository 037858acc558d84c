"""The page of a report, as text; `test_page_browser.py` opens it."""

from __future__ import annotations

import html
import json
import re
import sys

import pytest

from fuseconv.errors import InputError
from fuseconv.report.json import to_json
from fuseconv.report.page import to_page
from tests.report.pages import ATTACK, chain
from tests.report.test_json import a_report


def graphs(page: str) -> dict:
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.S)
    assert found is not None
    return json.loads(found[1])


def text_of(page: str) -> str:
    """Return what the page shows without its script."""
    page = re.sub(r"<style>.*?</style>|<script.*?</script>|<wbr>", "", page, flags=re.S)
    return " ".join(html.unescape(re.sub(r"<[^>]*>", " ", page)).split())


def test_what_came_out_is_shown() -> None:
    shown = text_of(to_page(*chain(3)))
    assert "12 nodes → 3 ops 9 fused" in shown
    assert "CONV_2D 3 3.0 kB 27,648" in shown  # 3 * 8 * 8 * 4 * 3 * 3 * 4 multiply-adds
    assert "net/block_1/conv 1 1.0 kB" in shown
    assert "conv_bias 3 times CONV_2D" in shown
    assert "patches 3 times the filter is no identity matrix" in shown
    assert "One constant takes 400.0 kB, 99% of the file: that of" in shown


def test_the_data_has_both_graphs() -> None:
    data = graphs(to_page(*chain(3)))
    assert data["nodes"][1] == ["net/block_0/conv/BiasAdd", "BiasAdd", "fused", [0]]
    name = "float32[1,8,8,4] net/block_1/conv"
    assert data["ops"][1] == [0, 1, "CONV_2D", "net/block_1/conv", 1000, ["conv_bias"], [4, 5, 6], [0], name]
    assert data["records"][2] == ["refused", "patches", [0], "", "the filter is no identity matrix"]


def test_inputs_and_outputs_and_a_report_without_a_file() -> None:
    shown = text_of(to_page(to_json(a_report())))
    assert "serving_default in x float32[?,28,28]" in shown and "out class float32[...]" in shown


def test_a_failure() -> None:
    entry = {"op": "Svd<b>", "count": 2, "nodes": ["a", "b"], "why": "no rule lowers this op"}
    document = to_json(a_report()) | {"error": {"message": "it cannot be", "exit_code": 3, "ops": [entry]}}
    shown = text_of(to_page(document))
    assert "not converted it cannot be" in shown and "Svd<b> 2 no rule lowers this op" in shown


def test_names_of_the_model_are_text() -> None:
    document, inspection = chain(2, ATTACK + "\x1b[2J/{}")
    document["warnings"] = [ATTACK]
    document |= {"model": ATTACK, "output": {"path": ATTACK, "bytes": 1}}
    tensor = {"name": ATTACK, "type": "float32", "shape": []}
    document["signatures"] = [{"names": [ATTACK], "inputs": [tensor], "outputs": []}]
    page = to_page(document, inspection)
    assert page.count("<script") == 2 and "<img" not in page and "\x1b" not in page
    assert graphs(page)["nodes"][0][0].startswith("</script><script>")


def test_nothing_is_fetched_and_only_our_script_runs() -> None:
    page = to_page(*chain(1))
    policy = re.search(r'Content-Security-Policy" content="(.*?)"', page)
    assert policy is not None
    rules = dict(rule.split(" ", 1) for rule in policy[1].split("; "))
    assert rules["default-src"] == "'none'" and "unsafe" not in policy[1]
    assert rules["script-src"].startswith("'sha256-") and rules["style-src"].startswith("'sha256-")
    assert not re.search(r"""(?:src|href)=["'](?!#)|url\(|@import|https?:""", page)


def test_without_jinja2_a_sentence_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "jinja2", None)
    with pytest.raises(InputError, match="pip install jinja2"):
        to_page(*chain(1))
