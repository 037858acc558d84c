"""The ops that TensorFlow may fold do nothing but compute."""

from __future__ import annotations

from fuseconv.fuse.registry import Registry
from fuseconv.ir.graph import Module, Op
from fuseconv.ir.types import FLOAT32
from fuseconv.tf.folders import TABLE
from fuseconv.tf.folders.pure_ops import PURE_OPS
from fuseconv.tf.side_effects import has_effect, is_idle, is_repeatable


def test_each_is_repeatable_and_has_no_effect() -> None:
    # What its name begins with is the name of ops that write.
    for name in PURE_OPS - {"ScatterNdNonAliasingAdd"}:
        op = Op(f"tf.{name}")
        op.add_result(FLOAT32, None)
        assert is_repeatable(op) and not is_idle(op) and not has_effect(op, Module(), {}), name


def test_none_reads_files_or_has_a_kernel_of_ours() -> None:
    assert not PURE_OPS & TABLE.keys()
    assert not [name for name in PURE_OPS if name.startswith(("Read", "Write", "Py", "Save", "Restore", "Decode"))
                and name not in ("DecodeBase64", "DecodeRaw")]  # fmt: skip
    assert len(PURE_OPS & Registry.builtin().rules.keys()) > 50
