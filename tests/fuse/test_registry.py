"""Collecting converter modules."""

import importlib
import pkgutil
from types import ModuleType

import pytest

from fuseconv import fusions
from fuseconv.errors import InputError
from fuseconv.fuse.match import Fusion
from fuseconv.fuse.pattern import pattern
from fuseconv.fuse.registry import Registry
from fuseconv.lower import ops
from fuseconv.lower.rules import lowers
from fuseconv.targets.target import Target
from fuseconv.tf import folders, shape_functions


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


@pytest.mark.parametrize(
    ("package", "mark", "listed"),
    [
        (fusions, "FUSIONS", {module.__name__ for module in fusions.MODULES}),
        (ops, "lowers", {module.__name__ for module in ops.MODULES}),
        (shape_functions, "infers", {*shape_functions.TABLE.owners.values()}),
        (folders, "kernel", {*folders.TABLE.owners.values()}),
    ],
    ids=lambda item: item if isinstance(item, str) else None,
)
def test_files_of_a_folder_are_listed_in_its_init(package, mark, listed):
    """Lists, where a walk through the folders would find the files: that takes each start a millisecond longer."""
    for found in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
        file = importlib.import_module(found.name)
        own = [item for item in vars(file).values() if getattr(item, "__module__", "") == file.__name__]
        if hasattr(file, "FUSIONS") or any(hasattr(item, mark) for item in own):
            assert file.__name__ in listed, f"add {file.__name__} to {package.__name__}/__init__.py"


@pytest.mark.parametrize(("names", "warning"), [
    ({"FUSION": []}, "the plug-in acme has FUSION, which is not read; did you mean FUSIONS?"),
    ({"Custom_Object": {}}, "the plug-in acme has Custom_Object, which is not read; did you mean CUSTOM_OBJECTS?"),
    ({"helper": len}, "the plug-in acme offers nothing: no FUSIONS, CUSTOM_OBJECTS, TARGETS, rule, pass or layer"),
])  # fmt: skip
def test_a_module_that_offers_nothing_is_warned_of(names, warning):
    made = ModuleType("acme")
    vars(made).update(names)
    assert warning in Registry(made).warnings


def test_a_module_that_offers_something_is_not_warned_of():
    # Another name in capitals is alike, too, but what a module imports to write the lists is no misspelt one.
    rules = module("acme", twice=rule())
    rules.Fusion, rules.Target = Fusion, Target
    assert not Registry(rules).warnings
    keras = ModuleType("acme")
    keras.keras = ModuleType("keras")
    assert not Registry(module("one", ["first"]), module("two", twice=rule()), keras).warnings
    assert not Registry(*fusions.MODULES, *ops.MODULES).warnings


def test_an_op_that_is_emitted_and_misspelt_is_warned_of():
    made = module("acme")
    made.FUSIONS = [Fusion("acme", "FULY_CONNECTED", pattern(lambda tf, x: tf.Relu(x)), lambda tfl, m: m.x)]
    warning = "the fusion acme of acme emits FULY_CONNECTED, no op of TFLite; did you mean FULLY_CONNECTED?"
    assert Registry(made).warnings == [warning]


def test_swapped_functions_of_a_fusion_are_named():
    root = pattern(lambda tf, x: tf.Relu(x))
    with pytest.raises(TypeError, match=r"rewrite of the fusion acme takes \(tfl, m\); are rewrite and check swapped"):
        Fusion("acme", "RELU", root, lambda m: None, lambda tfl, m: m.x)
    with pytest.raises(TypeError, match=r"check of the fusion acme takes \(m\)$"):
        Fusion("acme", "RELU", root, lambda tfl, m: m.x, lambda tfl, m: None)
    assert Fusion("acme", "RELU", root, lambda *args: None, lambda m, more=1: None)
