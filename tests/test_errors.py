"""Errors, each with its exit code, and sentences that name what is wrong."""

from __future__ import annotations

from fuseconv.errors import (
    DefectError,
    FuseconvError,
    InputError,
    UnsupportedError,
    VerificationError,
    ill_fitting,
    module_error,
    raised,
    suggestion,
    suggestion_or_all,
)


def test_each_error_has_an_exit_code() -> None:
    kinds = (FuseconvError, InputError, DefectError, UnsupportedError, VerificationError)
    assert [kind.exit_code for kind in kinds] == [1, 2, 1, 3, 4]


def test_an_unsupported_error_tells_why_of_the_first_ops() -> None:
    ops = [(name, [f"{name}_1", f"{name}_2"], f"no rule for {name}") for name in "ABCDE"]
    error = UnsupportedError("the model has operations that nothing expresses, no rule for A.", ops)
    assert error.ops == ops
    assert error.sentence == "the model has operations that nothing expresses, no rule for A"
    told = "; B (B_1): no rule for B; C (C_1): no rule for C; D (D_1): no rule for D; and 1 more, in `ops`"
    assert str(error) == error.sentence + told
    nameless = UnsupportedError("no", [("A", ["A_1"], "no rule"), ("B", [], "floats")])
    assert str(nameless) == "no; A (A_1): no rule; B: floats"


def test_what_python_says_of_our_lists_is_not_told() -> None:
    for error in (IndexError("tuple index out of range"), KeyError("axis"), ValueError("not enough values to unpack")):
        assert ill_fitting(error) == "do not fit together"
    told = "cannot reshape array of size 2 into shape ()"
    assert ill_fitting(ValueError(told)) == f"do not fit together ({told})"


def test_a_name_that_is_like_a_known_one() -> None:
    assert suggestion("canonicalise", ["lower", "canonicalize"]) == "; did you mean canonicalize?"
    assert suggestion("zzz", ["lower"]) == ""
    assert suggestion_or_all("lowr", ["lower", "inline"]) == "; did you mean lower?"
    assert suggestion_or_all("zzz", ["lower", "inline", "lower"]) == "; there are lower, inline"
    assert suggestion_or_all("zzz", ["lower"]) == "; there is lower"
    assert suggestion_or_all("zzz", []) == "; there are none"


def test_what_was_raised_names_the_users_line() -> None:
    def fails() -> None:
        raise KeyError("x")

    try:
        fails()
    except KeyError as error:
        assert raised(error).startswith("KeyError: 'x' (") and "test_errors.py:" in raised(error)
        wrong = module_error("the fusion f", fails, error)
    assert isinstance(wrong, InputError) and "the fusion f (" in str(wrong) and "failed: KeyError" in str(wrong)
