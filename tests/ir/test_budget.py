"""What a model's bytes justify: totals, whatever the parts are."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from fuseconv.errors import InputError
from fuseconv.ir import budget
from fuseconv.ir.budget import Budget, limited, parse_size, size_on_disk
from fuseconv.ir.graph import constant
from fuseconv.ir.product import Product


def test_all_constants_count_together():
    with limited(Budget(lambda: 0, 1000)):
        for _ in range(2):
            constant(np.zeros(100, np.float32))
        assert budget.has_room(200) and not budget.has_room(201)
        with pytest.raises(InputError, match=r"'big' would take 400 bytes.*1000 bytes in all.*--max-constant-bytes 1G"):
            constant(np.zeros(100, np.float32), name="big")
        constant(np.zeros(50, np.float32))
    constant(np.zeros(100, np.float32))


def test_views_and_products_count_as_what_the_file_holds():
    with limited(Budget(lambda: 0, 10_000)), pytest.raises(InputError, match=r"would take 3.815 MB"):
        constant(np.broadcast_to(np.float32(1), (1000, 1000)))
    with limited(Budget(lambda: 0, 1000)):
        weights = constant(np.ones((10, 20), np.float32))
        with pytest.raises(InputError, match="would take 800 bytes"):
            Product(weights, np.ones(20, np.float32), 1.0)


def test_strings_count_by_what_they_take():
    words = np.full(100, b"x" * 50, object)
    with limited(Budget(lambda: 0, 40_000)):
        constant(words[:10])
        with pytest.raises(InputError, match="would take"):
            constant(words[:100].repeat(2))


def test_arrays_are_refused_before_they_are_made():
    with pytest.raises(InputError, match="'node' would take 8 TB"):
        budget.require_room(1 << 40, 8, "node")
    with limited(Budget(lambda: 0)), pytest.raises(InputError, match="256 MB in all"):
        budget.require_elements((1 << 14, 1 << 13), np.dtype(np.float32), "node")
    with limited(Budget(lambda: 0, 1 << 40)):
        budget.require_elements((1 << 14, 1 << 13), np.dtype(np.float32), "node")


def test_the_limits_grow_with_the_model():
    small, large = Budget(lambda: 0), Budget(lambda: 1 << 30)
    assert small.limit == small.least == 256 << 20 and large.limit == 16 << 30
    assert large.operations > small.operations and large.results > small.results and large.work > small.work
    with limited(small):
        assert budget.most_operations(1 << 22) == small.operations and budget.most_operations(5) == 5
    assert budget.most_operations(1 << 22) == 1 << 22


def test_a_small_model_is_not_measured():
    def measure() -> int:
        raise AssertionError

    with limited(Budget(measure)):
        constant(np.zeros(100, np.float32))
        budget.spend_work(1 << 30)
        assert budget.has_room(1 << 20) and budget.allows_operations(1000, 1 << 22)
        for more in (lambda: budget.has_room(1 << 30), lambda: budget.allows_operations(1 << 16, 1 << 22)):
            with pytest.raises(AssertionError):
                more()


def test_no_more_operations_than_the_caller_allows():
    with limited(Budget(lambda: 1 << 30)):
        assert budget.allows_operations(1 << 16, 1 << 20) and not budget.allows_operations(101, 100)
        assert not budget.allows_operations(1 << 27, 1 << 28)
    assert budget.allows_operations(1 << 27, 1 << 28)


def test_work_ends():
    with limited(Budget(lambda: 0)):
        budget.spend_work(4 << 30)
        with pytest.raises(budget.Exhausted):
            budget.spend_work(1)
        budget.spend_work(0)
    budget.spend_work(1 << 50)


def test_results_count_together():
    with limited(Budget(lambda: 0)):
        budget.spend_results(10_000, "a")
        with pytest.raises(InputError, match="'b' claims 10000 results"):
            budget.spend_results(10_000, "b")
    with pytest.raises(InputError, match="claims"):
        budget.require_results(1 << 40, "c")


@pytest.mark.parametrize(
    ("text", "size"), [("500", 500), ("64M", 64 << 20), ("2G", 2 << 30), ("2GB", 2 << 30), ("1gib", 1 << 30), (7, 7)]
)
def test_sizes(text, size):
    assert parse_size(text) == size


@pytest.mark.parametrize("text", ["", "0", "-1", "G", "1.5G", "1X", 0, -3, True, "9" * 30])
def test_what_is_no_size(text):
    with pytest.raises(InputError, match="--max-constant-bytes takes a number of bytes"):
        parse_size(text)


def test_the_size_on_disk(tmp_path: Path):
    (tmp_path / "model" / "variables").mkdir(parents=True)
    (tmp_path / "model" / "saved_model.pb").write_bytes(b"x" * 10)
    (tmp_path / "model" / "variables" / "variables.index").write_bytes(b"x" * 5)
    assert size_on_disk(tmp_path / "model") == 15
    assert size_on_disk(tmp_path / "model" / "saved_model.pb") == 10
    assert size_on_disk(tmp_path / "nothing") == 0


def test_links_count_where_they_are_followed(tmp_path: Path):
    (tmp_path / "model" / "assets").mkdir(parents=True)
    (tmp_path / "model" / "saved_model.pb").write_bytes(b"x" * 10)
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "large").write_bytes(b"x" * 5)
    (tmp_path / "model" / "variables").symlink_to(tmp_path / "elsewhere")
    (tmp_path / "model" / "assets" / "words").symlink_to(tmp_path / "elsewhere" / "large")
    assert size_on_disk(tmp_path / "model") == 10
    assert size_on_disk(tmp_path / "model", follow_links=True) == 20
