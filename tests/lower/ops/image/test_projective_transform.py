"""Parity of projections of images."""

import pytest
import tensorflow as tf

from fuseconv.testing import check

raw = tf.raw_ops
TILTED = [[1.1, 0.2, -0.7, -0.15, 0.9, 0.6, 0.01, -0.02], [0.8, 0, 2.3, 0.1, 1.3, -3.2, 0, 0]]
MODES = pytest.mark.parametrize("mode", ["CONSTANT", "NEAREST", "REFLECT", "WRAP"])
KINDS = pytest.mark.parametrize("kind", ["NEAREST", "BILINEAR"])


def spec(*shape, dtype=tf.float32):
    return tf.TensorSpec(shape, dtype)


def counted(rng, shape, dtype):
    return rng.integers(0, 99, shape).astype(dtype)


@MODES
@KINDS
@pytest.mark.parametrize("dtype", [tf.float32, tf.float16, tf.uint8, tf.int64], ids=lambda t: t.name)
def test_one_projection_for_each_image(mode, kind, dtype):
    def project(x):
        return raw.ImageProjectiveTransformV3(
            images=x, transforms=TILTED, output_shape=[6, 9], fill_value=3.0, interpolation=kind, fill_mode=mode
        )

    check(project, spec(2, 5, 7, 3, dtype=dtype), inputs=counted)


@MODES
@KINDS
def test_projections_and_sizes_at_run_time(mode, kind):
    def draw(rng, shape, dtype):
        if shape[1:] == (8,):
            return (rng.uniform(-1.5, 1.5, shape) * [1, 1, 6, 1, 1, 6, 0.05, 0.05]).astype(dtype)
        return rng.standard_normal(shape).astype(dtype)

    def project(x, transforms, fill):
        return raw.ImageProjectiveTransformV3(
            images=x, transforms=transforms, output_shape=[6, 9], fill_value=fill, interpolation=kind, fill_mode=mode
        )

    check(project, spec(None, None, None, 3), spec(None, 8), spec(), inputs=draw, static=False)


@MODES
@KINDS
@pytest.mark.parametrize(
    "projection",
    [[1, 0, -0.5, 0, 1, -1.5, 0, 0], [1, 0, 0, 0, 1, 0, -0.5, 0], [0.3, 0.9, 30, -0.9, 0.3, -40, 0, 0]],
    ids=["halves", "horizon", "far"],
)
def test_one_projection_for_all_images(mode, kind, projection):
    def project(x):
        return raw.ImageProjectiveTransformV2(
            images=x, transforms=[projection], output_shape=[4, 5], interpolation=kind, fill_mode=mode
        )

    check(project, spec(None, 4, 4, 2))
    check(project, spec(None, 1, 3, 1))


@KINDS
def test_a_computed_size(kind):
    def project(x, size):
        return raw.ImageProjectiveTransformV2(images=x, transforms=TILTED[:1], output_shape=size, interpolation=kind)

    check(project, spec(1, 4, 4, 1), spec(2, dtype=tf.int32), inputs=_drawn)
    own = spec(None, None, None, 2)
    check(lambda x: project(x, tf.shape(x)[1:3]), own, static=False)
    check(lambda x: project(x, 2 * tf.shape(x)[1:3] - 1)[:, 1:], own, static=False)


def _drawn(rng, shape, dtype):
    return rng.integers(1, 9, shape).astype(dtype) if dtype.kind == "i" else rng.standard_normal(shape).astype(dtype)


def test_what_reads_a_projection_knows_its_shape():
    def layer(x):
        y = raw.ImageProjectiveTransformV2(
            images=x, transforms=TILTED[:1], output_shape=[5, 5], interpolation="BILINEAR"
        )
        return tf.nn.conv2d(y, tf.ones([2, 2, 3, 1]), 1, "SAME")

    check(layer, spec(None, 4, 4, 3))
