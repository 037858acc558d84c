"""Reasons for TF ops that no composition of TFLite builtins computes, with the alternatives."""

from __future__ import annotations

from fuseconv.ir.graph import Graph, Module, Op, Value
from fuseconv.ir.op_slices import forward_slice

_FUNCTIONS = (
    "TFLite has no kernel that comes near this function; compute it before the model is run, and feed its result"
)
_LINEAR = (
    "TFLite has no kernel for linear algebra beyond products; "
    "where the matrix is known, compute it when the model is built"
)
_SPECTRAL = (
    "vectors of matrices are defined up to their signs, or turns, of which TensorFlow's algorithm chooses some; "
    "no kernel of TFLite does, so where the matrix is known, compute it when the model is built"
)
_STRINGS = "TFLite's kernels only carry, compare and look up strings; do this before the model is run"
_SPARSE = "TFLite has no sparse or ragged tensors at run time; feed dense ones (tf.sparse.to_dense, to_tensor)"
_FILES = "TFLite neither reads nor decodes files and records; do this before the model is run, and feed its result"
_TRAINING = "it trains, and TFLite has no kernel for it; export a signature that only predicts"
_SEEDED = (
    "TFLite cannot compute the numbers that TensorFlow draws from these seeds, constant or not; use tf.random.uniform "
    "and its like, or tf.random.stateless_uniform and stateless_normal of a constant seed"
)
_SAMPLES = "TFLite draws uniform, normal and categorical numbers only"
_QUANTIZED = (
    "TFLite has no types like TensorFlow 1's quantized ones; "
    "simulate them (tf.quantization.fake_quant_with_min_max_vars)"
)
_STATE = "TFLite keeps no such state from one run to the next; hold it outside, and feed it"
_PYTHON = "it runs Python, which TFLite does not; write it with TensorFlow's own operations"
_XLA = "it is an operation of XLA; export the model without (jit_compile=False, or jax2tf.convert(enable_xla=False))"
_CUDNN = (
    "it packs or unpacks cuDNN's weights, which is done when a model is loaded, not when it runs; save the model with "
    "the packed weights, or of CudnnCompatibleLSTMCell and its like, which load the same checkpoint"
)
_DATASETS = "TFLite has no datasets; feed what the dataset gives"

# Each sentence with the ops that it speaks of.
_FAMILIES = {
    _FUNCTIONS: """
        BesselJ0 BesselJ1 BesselK0 BesselK0e BesselK1 BesselK1e BesselY0 BesselY1 Dawsn Expint FresnelCos FresnelSin
        IgammaGradA RandomGammaGrad Spence""",
    _LINEAR: """
        BatchMatrixSolveLs CholeskyGrad MatrixExponential""",
    _SPECTRAL: "BatchSelfAdjointEig BatchSelfAdjointEigV2 BatchSvd Eig SelfAdjointEig",
    _STRINGS: """
        AsString DecodeBase64 DecodeCompressed DecodeRaw DecodePaddedRaw EncodeBase64 Fingerprint ReduceJoin
        RegexFullMatch RegexReplace StaticRegexFullMatch StaticRegexReplace StringFormat StringJoin StringLength
        StringLower StringNGrams StringSplit StringSplitV2 StringStrip StringToHashBucket StringToHashBucketFast
        StringToHashBucketStrong StringToNumber StringUpper Substr UnicodeDecode UnicodeDecodeWithOffsets UnicodeEncode
        UnicodeScript UnicodeTranscode UnsortedSegmentJoin""",
    _SPARSE: """
        AddSparseToTensorsMap DeserializeManySparse DeserializeSparse RaggedCountSparseOutput RaggedCross
        RaggedFillEmptyRows SerializeManySparse SerializeSparse
        SparseBincount SparseCountSparseOutput SparseCross SparseCrossHashed SparseCrossV2
        SparseReduceMaxSparse SparseReduceSumSparse SparseSparseMaximum SparseSparseMinimum SparseSplit
        DenseToDenseSetOperation DenseToSparseSetOperation SetSize SparseToSparseSetOperation""",
    _FILES: """
        DecodeAndCropJpeg DecodeBmp DecodeCSV DecodeGif DecodeImage DecodeJSONExample DecodeJpeg
        DecodePng DecodeProtoV2 DecodeWav DecodeWebP EncodeJpeg EncodeJpegVariableQuality EncodePng EncodeProto
        EncodeWav ExtractJpegShape MatchingFiles ParseExample ParseExampleV2 ParseSequenceExample
        ParseSequenceExampleV2 ParseSingleExample ParseSingleSequenceExample ParseTensor ReadFile SerializeTensor
        ShardedFilename WriteFile RestoreV2 SaveV2""",
    _TRAINING: """
        Conv2DBackpropFilterV2 Conv3DBackpropFilter CropAndResizeGradBoxes
        CropAndResizeGradImage CTCLoss CTCLossV2 Dilation2DBackpropFilter Dilation2DBackpropInput
        FakeQuantWithMinMaxArgsGradient FakeQuantWithMinMaxVarsGradient FakeQuantWithMinMaxVarsPerChannelGradient
        LRNGrad MaxPool3DGradGrad MaxPoolGradGrad MaxPoolGradGradV2 MaxPoolGradGradWithArgmax
        MaxPoolGradV2 MaxPoolGradWithArgmax QuantizeAndDequantizeV4Grad ResizeBicubicGrad SparseSegmentMeanGrad
        SparseSegmentMeanGradV2 SparseSegmentSqrtNGrad SparseSegmentSqrtNGradV2 SparseSegmentSumGrad
        SparseSegmentSumGradV2""",
    _SEEDED: """
        StatelessParameterizedTruncatedNormal StatelessRandomBinomial StatelessRandomGammaV2
        StatelessRandomGammaV3 StatelessRandomPoisson StatelessSampleDistortedBoundingBox RandomIndexShuffle""",
    _SAMPLES: """
        ParameterizedTruncatedNormal RandomGamma RandomPoisson RandomPoissonV2 SampleDistortedBoundingBox
        SampleDistortedBoundingBoxV2 StatefulRandomBinomial StatefulStandardNormal StatefulStandardNormalV2
        StatefulTruncatedNormal StatefulUniform StatefulUniformFullInt StatefulUniformInt NonDeterministicInts
        LogUniformCandidateSampler UniformCandidateSampler LearnedUnigramCandidateSampler""",
    _QUANTIZED: """
        Dequantize QuantizeDownAndShrinkRange QuantizeV2 QuantizedAdd QuantizedAvgPool
        QuantizedBatchNormWithGlobalNormalization QuantizedBiasAdd QuantizedConcat QuantizedConv2D
        QuantizedInstanceNorm QuantizedMatMul QuantizedMaxPool QuantizedMul QuantizedRelu QuantizedRelu6
        QuantizedReshape QuantizedResizeBilinear Requantize RequantizationRange UniformDequantize UniformQuantize""",
    _STATE: """
        Barrier FIFOQueue FIFOQueueV2 PaddingFIFOQueueV2 PriorityQueueV2 QueueDequeueV2 QueueEnqueueV2
        RandomShuffleQueueV2 StackV2 StackPushV2 StackPopV2 TensorMapErase TensorMapHasKey TensorMapInsert
        TensorMapLookup
        MutableHashTableV2 MutableDenseHashTableV2 LookupTableInsertV2 LookupTableRemoveV2 LookupTableExportV2
        Batch BatchFunction Unbatch RngReadAndSkip RngSkip""",
    _XLA: """
        XlaAllReduce XlaArgMax XlaArgMin XlaBroadcastHelper XlaCustomCallV2 XlaDequantize XlaEinsum XlaHostCompute
        XlaIf XlaLaunch XlaReduce XlaReduceScatter XlaRngBitGenerator XlaScatter XlaSelectAndScatter
        XlaSelfAdjointEig XlaSvd XlaVariadicReduce XlaVariadicReduceV2 XlaVariadicSort XlaWhile""",
    _CUDNN: """
        CudnnRNNCanonicalToParams CudnnRNNCanonicalToParamsV2 CudnnRNNParamsSize CudnnRNNParamsToCanonical
        CudnnRNNParamsToCanonicalV2""",
    _PYTHON: "EagerPyFunc PyFunc PyFuncStateless",
    _DATASETS: """
        IteratorGetNext IteratorGetNextSync IteratorV2 MakeIterator OneShotIterator ReduceDataset TensorSliceDataset
        TensorDataset MapDataset BatchDatasetV2 RangeDataset""",
}
_WHY = {op: why for why, ops in _FAMILIES.items() for op in ops.split()} | {
    "NonMaxSuppressionWithOverlaps": "TFLite's kernel computes the overlaps from boxes; use NonMaxSuppressionV3",
    **dict.fromkeys(("MatrixLogarithm", "MatrixSquareRoot"), (
        "no form is right for all matrices; for symmetric ones of a known size without negative eigenvalues write "
        "e, v = tf.linalg.eigh(x) and (v * tf.sqrt(e)[..., None, :]) @ tf.linalg.matrix_transpose(v), or tf.math.log; "
        "where the matrix is known, compute it when the model is built"
    )),
    "StatelessMultinomial": (
        "what TensorFlow draws from a seed depends on its threads here; use tf.random.categorical, or, where a seed is "
        "to draw the same each time, tf.argmax(logits - tf.math.log(-tf.math.log(tf.random.stateless_uniform("
        "tf.shape(logits), seed))), -1)"
    ),
    "SobolSample": (
        "TFLite has no kernel for Sobol numbers; with a constant number of samples they are computed when the model is "
        "converted, else feed them"
    ),
    **dict.fromkeys(("DrawBoundingBoxes", "DrawBoundingBoxesV2"), (
        "TFLite has no kernel that paints; return the boxes, and draw them when the model has run"
    )),
    "CTCBeamSearchDecoder": "TFLite has no kernel that searches; decode outside the model, or greedily",
    "XlaCallModule": "it holds a StableHLO module, which is read in SavedModels, not in frozen graphs",
}

# Ops whose results can be computed before the model is run, and be fed.
_FED = frozenset({op for why in (_STRINGS, _FILES, _DATASETS) for op in _FAMILIES[why].split()})


def reasons() -> dict[str, str]:
    """Return the sentences that say why ops cannot be converted, each with the ops it applies to."""
    ops: dict[str, list[str]] = {}
    for op, why in _WHY.items():
        ops.setdefault(why, []).append(op)
    return {why: " ".join(names) for why, names in ops.items()}


def unsupported_reason(op: str) -> str:
    """Return the reason why a TF op without a lowering rule cannot be converted."""
    return _WHY.get(op, "no rule lowers this op")


def how_to_feed(op: Op, module: Module) -> str:
    """Return which --inputs cut the model behind an op whose results can be fed; empty if that cannot be said."""
    graphs = [signature for signature in module.signatures if op in signature.graph.ops] if op.type in _FED else []
    results = [result for result in op.results if result.uses]
    if not graphs or op.name not in op.sources or any(v.dtype.is_handle or v.dtype.tflite is None for v in results):
        return ""
    (signature,) = graphs
    others = [n for n, v in zip(signature.inputs, signature.graph.inputs) if _needs(signature.graph, v, op)]
    names = [f"{op.name}:{result.index}" for result in results]
    which = f" --signature {signature.names[0]}" if len(module.signatures) > 1 else ""
    return f"; --inputs {','.join([*names, *others])}{which} cuts the model behind it"


def _needs(graph: Graph, value: Value, fed: Op) -> bool:
    """Return whether the outputs of a graph need an input, though an op's results are fed."""
    return graph.terminator in forward_slice([value], stops={fed})
