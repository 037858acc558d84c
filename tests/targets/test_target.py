"""Targets, as data, and those that a plug-in brings."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType

import pytest
from click.testing import CliRunner

from fuseconv import targets
from fuseconv.cli import main
from fuseconv.errors import InputError
from fuseconv.fuse.registry import Registry
from fuseconv.targets.conditions import activation, operands, types
from fuseconv.targets.signature import OpSignature
from fuseconv.targets.target import Condition, Target, table, takes
from fuseconv.tfl import schema
from tests.targets.refusals import why

NAMES = ["gpu", "coreml", "xnnpack", "micro", "qnn", "mediatek", "openvino", "google-tensor"]


def _plugin(*targets: object) -> ModuleType:
    module = ModuleType("acme_targets")
    module.TARGETS = list(targets)  # type: ignore[attr-defined]
    return module


def test_there_are_eight() -> None:
    assert list(Registry().targets()) == NAMES, "a new one joins NAMES, the README of targets and the help of --target"


@pytest.mark.parametrize("name", NAMES)
def test_each_is_named_where_users_look(name: str) -> None:
    rows = (Path(targets.__file__).parent / "README.md").read_text()
    help = CliRunner().invoke(main, ["convert", "--help"], terminal_width=10_000).output
    assert f"\n| `{name}` |" in rows
    assert name in help[help.index("--target") :].partition("--strict")[0]


@pytest.mark.parametrize("name", NAMES)
def test_rules_are_of_ops_of_the_schema_and_tell_their_source(name: str) -> None:
    target = Registry().target(name)
    known = schema.enum("BuiltinOperator").keys()
    assert {*target.ops, *target.refused} <= known
    assert target.rules.endswith(("2026-08-21", "2026-08-20"))


@pytest.mark.parametrize("name", NAMES)
def test_each_takes_a_convolution_and_refuses_a_hash_table(name: str) -> None:
    conv = "float32[1,4,4,1] = tfl.CONV_2D(%0, float32[1,1,1,2] [1, 2], float32[1] [5]) {'stride_h': 1, 'stride_w': 1}"
    assert why(name, "float32[1,4,4,2]", conv) is None
    assert why(name, "float32[4]", "float32[4] = tfl.CUSTOM(%0) {'custom_code': 'Acme', 'custom_options': b''}") == (
        "it has no custom op Acme"
    )


def test_a_plugin_brings_one() -> None:
    registry = Registry(_plugin(Target("acme", "our handbook, 2026", takes("RELU", operands(1)))))
    target = registry.target("acme")
    assert target.knows("RELU") and not target.knows("ADD")
    with pytest.raises(InputError, match=r"no target is called acne; did you mean acme\?"):
        registry.target("acne")
    with pytest.raises(InputError, match=r"no target is called zzz; there are gpu, .*, acme"):
        registry.target("zzz")


def test_two_of_one_name_are_told() -> None:
    with pytest.raises(InputError, match="gpu is claimed by both"):
        Registry(_plugin(Target("gpu", "our handbook"))).targets()


def test_a_list_of_something_else_is_refused() -> None:
    with pytest.raises(InputError, match="TARGETS of acme_targets must be a list of targets"):
        Registry(_plugin("gpu"))
    with pytest.raises(TypeError, match="tells the source of its rules"):
        Target("acme", "")


def test_what_is_misspelt_is_told() -> None:
    with pytest.raises(ValueError, match=r"acme has rules of RELUU, which is no op of TFLite; did you mean RELU\?"):
        Target("acme", "our handbook", takes("TANH RELUU"))
    with pytest.raises(TypeError, match="tells the source of its rules"):
        Target("acme", takes("RELU"))  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="no element type is called float; did you mean"):
        types("int8 float")
    with pytest.raises(ValueError, match="'RELU7' is no ActivationFunctionType; there are NONE, RELU,"):
        activation("RELU7")


@pytest.mark.parametrize(("condition", "why"), [
    (lambda op: True, r"on RELU \(.*test_target.py:\d+\) must return why the op is refused, or None, not True"),
    (lambda op: op.shape, r"on RELU \(.*test_target.py:\d+\) failed: AttributeError: .*shape"),
])  # fmt: skip
def test_a_condition_that_is_wrong_is_named(condition: Condition, why: str) -> None:
    target = Target("acme", "our handbook", takes("RELU", condition))
    with pytest.raises(InputError, match=f"a condition of the target acme {why}"):
        target.refusal(OpSignature("RELU", 1, [], [], {}))


def test_an_op_stands_in_one_row() -> None:
    with pytest.raises(ValueError, match="two rows of RELU"):
        table(takes("RELU ADD"), takes("TANH RELU"))


def test_a_target_may_take_all_but_some() -> None:
    target = Target("acme", "our handbook", takes("ADD", operands(2)), refused=frozenset(["SHAPE"]), others=True)
    assert target.knows("ADD") and target.knows("TANH") and not target.knows("SHAPE")
