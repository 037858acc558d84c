"""Tell calibration data which inputs it is for."""

from __future__ import annotations

from fuseconv.facts import TFL_ONLY
from fuseconv.ir import types
from fuseconv.ir.graph import Module
from fuseconv.pass_manager import module_pass
from fuseconv.quantize.calibrate import Calibration
from fuseconv.quantize.samples import Samples
from fuseconv.report.records import Report


@module_pass("bind-samples", requires=(TFL_ONLY,))
def bind_samples(module: Module, report: Report, calibration: Calibration) -> bool:
    """Tell calibration data the signatures that it is for: images are resized to what the input takes. Changes
    nothing."""
    samples = calibration.samples
    if isinstance(samples, Samples):
        samples.bind(module.signatures)
        if samples.are_plain_images and module.signatures[0].graph.inputs[0].dtype is not types.UINT8:
            report.warnings.append(
                "images are fed as numbers from 0 to 255; --image-mean and --image-scale tell what the model takes"
            )
    return False
