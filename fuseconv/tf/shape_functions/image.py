"""Shape functions of ops on images, and of those that select boxes in them."""

from __future__ import annotations

from collections.abc import Sequence

from fuseconv.ir import dims
from fuseconv.ir.dims import Dim, Sym
from fuseconv.ir.graph import Op, Value
from fuseconv.tf.operands import UnknownShape, agree, content_of, extents, same, scalar, sizes, with_rank
from fuseconv.tf.shape_functions.nn import windows
from fuseconv.tf.shape_functions.registry import Shapes, infers


@infers("ResizeBilinear", "ResizeNearestNeighbor", "ResizeBicubic", "ResizeArea")
def resize(op: Op, images: Value, size: Value) -> Shapes:
    shape = with_rank(images, 4)
    height, width = sizes(size) if content_of(size) is not None else (dims.fresh("h"), dims.fresh("w"))
    agree(all(isinstance(dim, Sym) or dim > 0 for dim in (height, width)), f"it makes images of {height} x {width}")
    return (shape[0], height, width, shape[3])


@infers("ResizeNearestNeighborGrad")
def resize_nearest_gradient(op: Op, gradient: Value, size: Value) -> Shapes:
    batch, _, _, channels = with_rank(gradient, 4)
    return (batch, *_pair(extents(size, "size")), channels)


@infers("ResizeBilinearGrad")
def resize_bilinear_gradient(op: Op, gradient: Value, image: Value) -> Shapes:
    batch, _, _, channels = with_rank(gradient, 4)
    return (batch, *with_rank(image, 4)[1:3], channels)


@infers("ScaleAndTranslate", "ExtractGlimpse", "ExtractGlimpseV2")
def sampled(op: Op, images: Value, size: Value, *where: Value) -> Shapes:
    batch, _, _, channels = with_rank(images, 4)
    return (batch, *_pair(extents(size, "size")), channels)


@infers("ImageProjectiveTransformV2", "ImageProjectiveTransformV3")
def project(op: Op, images: Value, transforms: Value, size: Value, fill: Value | None = None) -> Shapes:
    return sampled(op, images, size)


def _pair(sizes: Sequence[Dim]) -> Sequence[Dim]:
    if len(sizes) != 2:
        raise UnknownShape
    return sizes


@infers("CropAndResize")
def crop_and_resize(op: Op, image: Value, boxes: Value, box_ind: Value, crop_size: Value) -> Shapes:
    height, width = sizes(crop_size)
    return (with_rank(boxes, 2)[0], height, width, with_rank(image, 4)[3])


@infers("AdjustContrastv2")
def adjust(op: Op, images: Value, factor: Value) -> Shapes:
    return images.shape


@infers("AdjustHue", "AdjustSaturation", "HSVToRGB", "RGBToHSV")
def adjust_colors(op: Op, images: Value, *others: Value) -> Shapes:
    if images.shape:
        same(images.shape[-1], 3)
    return images.shape


@infers("ExtractImagePatches")
def extract_image_patches(
    op: Op, images: Value, *, ksizes: Sequence[int], strides: Sequence[int], rates: Sequence[int], padding: str
) -> Shapes:
    shape = with_rank(images, 4)
    channels = shape[3] * (ksizes[1] * ksizes[2])
    return windows(shape, ksizes[1:3], channels, "NHWC", padding, strides, rates, ())


@infers("ExtractVolumePatches")
def extract_volume_patches(
    op: Op, x: Value, *, ksizes: Sequence[int], strides: Sequence[int], padding: str
) -> Shapes:
    shape, window = with_rank(x, 5), ksizes[1:4]
    channels = shape[4] * (window[0] * window[1] * window[2])
    return windows(shape, window, channels, "NDHWC", padding, strides, (1,) * 5, ())


@infers("NonMaxSuppression", "NonMaxSuppressionV2", "NonMaxSuppressionV3")
def non_max_suppression(op: Op, *operands: Value) -> Shapes:
    return (dims.fresh("boxes"),)


@infers("NonMaxSuppressionV4", "NonMaxSuppressionV5")
def padded_non_max_suppression(
    op: Op, boxes: Value, scores: Value, max_output_size: Value, *others: Value, pad_to_max_output_size: bool = False
) -> Shapes:
    count = scalar(max_output_size, "boxes") if pad_to_max_output_size else dims.fresh("boxes")
    # The indices, in V5 the scores, and how many of them are valid.
    return [*[(count,)] * (len(op.results) - 1), ()]


@infers("CombinedNonMaxSuppression")
def combined_non_max_suppression(
    op: Op,
    boxes: Value,
    scores: Value,
    max_output_size_per_class: Value,
    max_total_size: Value,
    iou_threshold: Value,
    score_threshold: Value,
    *,
    pad_per_class: bool = False,
) -> Shapes:
    batch, _, classes = with_rank(scores, 3)
    count = scalar(max_total_size, "boxes")
    if pad_per_class:
        most = scalar(max_output_size_per_class, "boxes") * classes
        count = min(count, most) if isinstance(count, int) and isinstance(most, int) else dims.fresh("boxes")
    return [(batch, count, 4), (batch, count), (batch, count), (batch,)]
