"""The table of shape functions."""

from __future__ import annotations

import pytest

from fuseconv.tf.shape_functions import registry
from fuseconv.tf.shape_functions.registry import infers


def test_a_function_stands_for_the_ops_that_it_names(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "TABLE", {})

    @infers()
    def Frob(op, x, *, width=1):
        return x

    infers("Grob", "Hrob")(Frob)
    assert [*registry.TABLE] == ["Frob", "Grob", "Hrob"]
    assert registry.TABLE["Grob"].op == "Grob" and registry.TABLE["Frob"].attrs == {"width"}
    with pytest.raises(AssertionError, match="Frob has two shape functions"):
        infers("Frob")(Frob)
