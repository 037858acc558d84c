"""The passes of targets that run whole files and have little memory: fewer bytes at once are worth more ops there."""

from __future__ import annotations

from fuseconv.transforms.tfl.protect_shared_memory import protect_shared_memory
from fuseconv.transforms.tfl.schedule_ops import schedule_ops
from fuseconv.transforms.tfl.tile_and_fuse import tile_and_fuse

PASSES = (tile_and_fuse, schedule_ops, protect_shared_memory)
