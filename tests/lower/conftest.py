"""Every lowering rule has a row: `rows.txt` names, for each, a test in which the rule lowers an op of a model that is
then run. Each test that is named is held to it when it runs, so that the table cannot claim what is not so."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fuseconv.report.records import Report

HERE = Path(__file__).parent
ROWS = dict(line.split(maxsplit=1) for line in (HERE / "rows.txt").read_text().splitlines())
CLAIMED: dict[str, set[str]] = {}
for _op, _test in ROWS.items():
    CLAIMED.setdefault(_test, set()).add(_op)
COLLECTED = pytest.StashKey[set[str]]()


def row(item: pytest.Item) -> str:
    """Return a test as the table names it: "ops/math/test_bitwise.py::test_invert[uint8]"."""
    return f"{item.path.relative_to(HERE)}::{item.nodeid.partition('::')[2]}"


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    # Before -k and the like take tests away.
    config.stash[COLLECTED] = {row(item) for item in items if HERE in item.path.parents}


@pytest.fixture
def collected(pytestconfig: pytest.Config) -> set[str]:
    """The tests of this directory that pytest knows of."""
    return pytestconfig.stash[COLLECTED]


@pytest.fixture(autouse=True)
def _rules_of_the_table(request: pytest.FixtureRequest) -> Iterator[None]:
    """Fails a test in which no rule lowered what the table says."""
    claimed = CLAIMED.get(row(request.node))
    if not claimed:
        yield
        return
    seen: set[str] = set()
    finish = Report.finish

    def watched(report: Report, *args: Any) -> None:
        finish(report, *args)
        for record in report.records:
            if record.kind in ("lowered", "removed") and record.rule.startswith("lower "):
                seen.add(record.rule.removeprefix("lower "))
            elif record.rule == "forward":  # what hands its operand on is gone before rules are asked
                seen.update(report.sources.get(name, "") for name in record.sources)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(Report, "finish", watched)
        yield
    assert claimed <= seen, f"rows.txt says that this test lowers {sorted(claimed - seen)}"
