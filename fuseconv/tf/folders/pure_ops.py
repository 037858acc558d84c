"""The ops that TensorFlow's kernels may fold, besides those that have a kernel in numpy.

Data, for `tensorflow.evaluate_with_tensorflow`. Each computes its results from its operands and attributes, and does
nothing else. It uses no file, handle, Python, device or network, and reads no format that unpacks to more than shape
inference foresees. It writes nothing into an operand, and leaves no result as the memory was (as FusedBatchNorm does in
inference). Nor are ops here whose kernels end the process at operands that they do not expect (as
QuantizeAndDequantizeV3's). An op that is not here stays in the graph.
"""

from __future__ import annotations

_BY_KIND = {
    "Element-wise functions, and sums along an axis.": """
        ApproxTopK BesselI0e BesselI1e Betainc CumulativeLogsumexp Digamma Erfinv Igamma Igammac Ndtri Polygamma
        PopulationCount Zeta
    """,
    "Linear algebra and spectra.": """
        Cholesky Cross FFT FFT2D FFT3D IFFT IFFT2D IFFT3D IRFFT IRFFT2D IRFFT3D LogMatrixDeterminant MatrixDeterminant
        MatrixInverse MatrixLogarithm MatrixSolve MatrixSquareRoot MatrixTriangularSolve RFFT RFFT2D RFFT3D
    """,
    "Convolutions, poolings, norms, gradients, and rounding to what fits few bits.": """
        AvgPool AvgPool3D BatchNormWithGlobalNormalization BiasAddGrad Conv Conv2D Conv2DBackpropInput Conv3D
        Conv3DBackpropInputV2 DepthwiseConv2dNative DepthwiseConv2dNativeBackpropInput Dilation2D EluGrad
        InvGrad LRN LeakyReluGrad MaxPool MaxPool3D MaxPoolV2 MaxPoolWithArgmax ReciprocalGrad Relu6Grad ReluGrad
        RsqrtGrad SeluGrad SigmoidGrad SoftmaxCrossEntropyWithLogits SoftplusGrad SoftsignGrad SqrtGrad TanhGrad
    """,
    "Images and boxes.": """
        AdjustContrastv2 AdjustHue AdjustSaturation CombinedNonMaxSuppression CropAndResize ExtractImagePatches HSVToRGB
        ImageProjectiveTransformV2 ImageProjectiveTransformV3 NonMaxSuppression NonMaxSuppressionV2 NonMaxSuppressionV3
        NonMaxSuppressionV4 NonMaxSuppressionV5 NonMaxSuppressionWithOverlaps RGBToHSV ResizeArea ResizeBicubic
        ResizeBilinear ResizeNearestNeighbor ScaleAndTranslate
    """,
    "Arrays: segments, diagonals, parts, places.": """
        AccumulateNV2 BatchMatrixBandPart BatchMatrixDiag BatchMatrixDiagPart BatchMatrixSetDiag BatchToSpace
        BatchToSpaceND Bincount DataFormatDimMap DataFormatVecPermute DenseBincount
        DynamicPartition HistogramFixedWidth InTopK InTopKV2 LowerBound MirrorPadGrad NthElement
        Reverse ReverseSequence ScatterNdNonAliasingAdd SegmentMax SegmentMean SegmentMin SegmentProd SegmentSum
        SpaceToBatch SpaceToBatchND StridedSliceGrad TopK UniqueV2 UniqueWithCounts UniqueWithCountsV2 UnravelIndex
        UnsortedSegmentMax UnsortedSegmentMin UnsortedSegmentProd UnsortedSegmentSum UpperBound
    """,
    "Sparse and ragged tensors as their parts.": """
        RaggedBincount RaggedGather RaggedRange RaggedTensorToSparse RaggedTensorToTensor SparseDenseCwiseAdd
        SparseDenseCwiseDiv SparseDenseCwiseMul SparseFillEmptyRows SparseReduceSum SparseReorder SparseReshape
        SparseSegmentMean SparseSegmentMeanWithNumSegments SparseSegmentSqrtN SparseSegmentSqrtNWithNumSegments
        SparseSegmentSum SparseSegmentSumWithNumSegments SparseSoftmax SparseSoftmaxCrossEntropyWithLogits
        SparseTensorDenseAdd SparseTensorDenseMatMul SparseToDense
    """,
    "Random numbers of a given seed, and others that are the same in every run.": """
        SobolSample StatelessRandomGetKeyCounter StatelessRandomNormal StatelessRandomNormalV2 StatelessRandomUniform
        StatelessRandomUniformFullInt StatelessRandomUniformFullIntV2 StatelessRandomUniformInt
        StatelessRandomUniformIntV2 StatelessRandomUniformV2
        StatelessTruncatedNormal StatelessTruncatedNormalV2
    """,
    "Strings.": """
        DecodeBase64 DecodeRaw EncodeBase64 RegexFullMatch RegexReplace StaticRegexFullMatch StaticRegexReplace
        StringSplitV2 StringToHashBucket StringToHashBucketFast StringToHashBucketStrong StringToNumber Substr
    """,
}
PURE_OPS = frozenset(op for ops in _BY_KIND.values() for op in ops.split())
