"""The groups of passes that few conversions run, as the pipeline has them."""

from __future__ import annotations

from fuseconv.pass_manager import Context, Deferred, Pass, Pipeline
from fuseconv.pipeline import CONVERT


def conditions(module: str, context: Context) -> set[bool]:
    """Whether the passes of a module run in this context: each by itself, and wherever the pipeline has them all."""
    groups = [group for group in _groups(CONVERT) if group.module == module]
    alone = [item.condition for group in groups for item in group.spelled_out()]
    assert groups and all(group.passes for group in groups)
    return {bool(condition and condition(context)) for condition in [group.condition for group in groups] + alone}


def _groups(pipeline: Pipeline) -> list[Deferred]:
    found = [item for item in pipeline if isinstance(item, Deferred)]
    nested = [item.passes for item in pipeline if not isinstance(item, (Deferred, Pass))]
    return found + [group for passes in nested for group in _groups(passes)]
