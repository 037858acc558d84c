"""Collecting converter modules."""

from types import ModuleType

import pytest

from fuseconv.errors import InputError
from fuseconv.fuse.match import Fusion
from fuseconv.fuse.pattern import pattern
from fuseconv.fuse.registry import Registry
from fuseconv.lower.rules import lowers


def module(name, fusions=(), **functions):
    made = ModuleType(name)
    made.FUSIONS = [Fusion(fusion, "RELU", pattern(lambda tf, x: tf.Relu(x)), lambda tfl, m: m.x) for fusion in fusions]
    for key, function in functions.items():
        function.__module__ = name
        setattr(made, key, function)
    return made


def rule():
    @lowers("Twice")
    def twice(tfl, x, *, by=2):
        return tfl.add(x, x)

    return twice


def test_fusions_and_rules_know_their_origin():
    registry = Registry(module("one", ["first"]), module("two", twice=rule()))
    assert [fusion.name for fusion in registry.fusions] == ["first"]
    assert list(registry.rules) == ["Twice"]
    assert (registry.origin("first"), registry.origin("Twice")) == ("one", "two")


def test_a_clash_names_both_owners():
    with pytest.raises(InputError, match=r"one.*two"):
        Registry(module("one", ["first"]), module("two", ["first"]))
    with pytest.raises(InputError, match=r"one.*two"):
        Registry(module("one", twice=rule()), module("two", twice=rule()))


def test_a_rule_that_was_imported_is_not_the_importers():
    owner, importer = module("one", twice=rule()), module("two")
    importer.twice = owner.twice
    assert Registry(owner, importer).origin("Twice") == "one"


def test_the_builtin_modules_do_not_clash_and_say_what_they_do():
    registry = Registry.builtin()
    assert len(registry.fusions) > 20 and len(registry.rules) > 100
    for fusion in registry.fusions:
        assert fusion.summary and fusion.emits, fusion.name
