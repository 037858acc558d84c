"""The passes of targets that run whole files and have little memory: fewer bytes at once are worth more ops there.

Integers stay as they are: partial sums would be rounded to them."""

from __future__ import annotations

from fuseconv.pass_manager import Context, Pipeline
from fuseconv.transforms.tfl.schedule_ops import schedule_ops
from fuseconv.transforms.tfl.tile_and_fuse import tile_and_fuse


def _applies(context: Context) -> bool:
    return context.target is not None and context.target.is_whole and context.quantize is None


PASSES: Pipeline = (tile_and_fuse.when(_applies), schedule_ops.when(_applies))
