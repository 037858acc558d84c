"""List the targets that come with fuseconv: a module each, with a list `TARGETS`, as a plug-in may have one."""

from __future__ import annotations

from fuseconv.targets import coreml, google_tensor, gpu, mediatek, micro, openvino, qnn, xnnpack

MODULES = (gpu, coreml, xnnpack, micro, qnn, mediatek, openvino, google_tensor)
