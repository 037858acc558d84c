"""All cases, of every kind of op."""

from tests.tf import cases_array, cases_linalg, cases_ragged, cases_sparse  # noqa: F401  (they add to the table)
from tests.tf.cases import CASES

__all__ = ["CASES"]
