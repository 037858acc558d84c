"""All cases, of every kind of op."""

from tests.passes import cases_array, cases_linalg, cases_others, cases_ragged  # noqa: F401  (they add to the table)
from tests.passes.cases import CASES

__all__ = ["CASES"]
