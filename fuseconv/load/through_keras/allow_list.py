"""Allow-list of Keras files: classes of both Kerases, functions and ops of TensorFlow, all of which only compute.

Data, for `config_check.check`. A name that is not here is refused, whoever comes to define it: what a later Keras or
TensorFlow adds is added here once somebody has read what it does with its configuration. None of these imports, opens
or runs what its configuration says, but for the keys that `config_check` judges one by one.
"""

from __future__ import annotations


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


# Models, as classes. A subclass is a class of the user's: a plug-in brings it.
MODELS = _names("""
    Functional Model Sequential
""")

# Cells of recurrent layers, and what wraps one. The functions that a wrapper may carry are judged on their own.
CELLS = _names("""
    ConvLSTMCell DeviceWrapper DropoutWrapper GRUCell GRUCellV1 GRUCellV2 LSTMCell LSTMCellV1 LSTMCellV2 ResidualWrapper
    SimpleRNNCell StackedRNNCells
""")

# Layers of Keras 3 and tf-keras, and the names that they had in older releases.
LAYERS = _names("""
    Activation ActivityRegularization AdaptiveAveragePooling1D AdaptiveAveragePooling2D AdaptiveAveragePooling3D
    AdaptiveMaxPooling1D AdaptiveMaxPooling2D AdaptiveMaxPooling3D Add AdditiveAttention AddLoss AddMetric AlphaDropout
    Attention AugMix AutoContrast Average AveragePooling1D AveragePooling2D AveragePooling3D AvgPool1D AvgPool2D
    AvgPool3D BatchNormalization BatchNormalizationV1 BatchNormalizationV2 Bidirectional CategoryEncoding CenterCrop
    Concatenate ContrastLimitedAdaptiveHistogramEqualization Conv1D Conv1DTranspose Conv2D Conv2DTranspose Conv3D
    Conv3DTranspose ConvLSTM1D ConvLSTM2D ConvLSTM3D Convolution1D Convolution1DTranspose Convolution2D
    Convolution2DTranspose Convolution3D Convolution3DTranspose Cropping1D Cropping2D Cropping3D CuDNNGRU CuDNNLSTM
    Custom>CustomScaleLayer CustomScaleLayer CutMix Dense DepthwiseConv1D DepthwiseConv2D Discretization Dot Dropout
    EinsumDense ELU Embedding Equalization Flatten GaussianDropout GaussianNoise GlobalAveragePooling1D
    GlobalAveragePooling2D GlobalAveragePooling3D GlobalAvgPool1D GlobalAvgPool2D GlobalAvgPool3D GlobalMaxPool1D
    GlobalMaxPool2D GlobalMaxPool3D GlobalMaxPooling1D GlobalMaxPooling2D GlobalMaxPooling3D GroupedQueryAttention
    GroupNormalization GroupQueryAttention GRU GRUV1 GRUV2 HashedCrossing Hashing Identity InputLayer IntegerLookup
    LayerNormalization LayerScale LeakyReLU LocallyConnected1D LocallyConnected2D LSTM LSTMV1 LSTMV2 Masking Maximum
    MaxNumBoundingBoxes MaxPool1D MaxPool2D MaxPool3D MaxPooling1D MaxPooling2D MaxPooling3D MelSpectrogram Minimum
    MixUp MultiHeadAttention Multiply Normalization Permute Pipeline PReLU RandAugment RandomBrightness
    RandomColorDegeneration RandomColorJitter RandomContrast RandomCrop RandomElasticTransform RandomErasing RandomFlip
    RandomGaussianBlur RandomGrayscale RandomHeight RandomHue RandomInvert RandomPerspective RandomPosterization
    RandomRotation RandomSaturation RandomSharpness RandomShear RandomTranslation RandomWidth RandomZoom ReLU
    RepeatVector Rescaling Reshape Resizing ReversibleEmbedding RMSNormalization RNN SeparableConv1D SeparableConv2D
    SeparableConvolution1D SeparableConvolution2D SimpleRNN Softmax Solarization SpatialDropout1D SpatialDropout2D
    SpatialDropout3D SpectralNormalization STFTSpectrogram StochasticDepth StringLookup Subtract SyncBatchNormalization
    TextVectorization TFDConcat TFDIdentity ThresholdedReLU TimeDistributed UnitNormalization UpSampling1D UpSampling2D
    UpSampling3D ZeroPadding1D ZeroPadding2D ZeroPadding3D
""")

# Functions of `keras.ops` that stand as layers in Keras 3's functional models. Not those that take functions: Map,
# Scan, Cond, WhileLoop and their like.
OPERATIONS = _names("""
    Abs Absolute AdaptiveAveragePool AdaptiveMaxPool Add AffineTransform All AllClose Amax Amin Angle Any Append Arange
    Arccos Arccosh Arcsin Arcsinh Arctan Arctan2 Arctanh Argmax Argmin Argpartition Argsort Array ArraySplit Average
    AveragePool BatchNorm BinaryCrossentropy Bincount BitwiseAnd BitwiseInvert BitwiseLeftShift BitwiseNot BitwiseOr
    BitwiseRightShift BitwiseXor BroadcastTo Cast CategoricalCrossentropy Cbrt CDist Ceil Celu Cholesky CholeskyInverse
    Clip Concatenate Conj Conjugate Conv ConvertToTensor ConvTranspose Copy Corrcoef Correlate Cos Cosh CountNonzero
    CropImages Cross Cumprod Cumsum Deg2rad DepthToSpace DepthwiseConv Det Diag Diagflat Diagonal Diff Digitize Divide
    DivideNoNan Dot DotProductAttention Dsplit Dstack Eig Eigh Einsum ElasticTransform Elu EmptyLike Equal Erf Erfc
    Erfinv Exp Exp2 ExpandDims Expm1 ExtractPatches ExtractSequences Fabs FFT FFT2 Flip Fliplr Flipud Floor FloorDivide
    Fmax Fmin Fmod Fold Full FullLike GaussianBlur Gcd Gelu Geomspace GetItem Glu Greater GreaterEqual HardShrink
    HardSigmoid HardSilu HardTanh Heaviside Histogram Hsplit Hstack HSVToRGB Hypot I0 IFFT2 Imag Inner InTopK Inv IRFFT
    Isclose Isfinite IsIn Isinf Isnan Isneginf Isposinf Isreal ISTFT Kron LayerNorm Lcm Ldexp LeakyRelu LeftShift Less
    LessEqual Linspace Log Log10 Log1p Log2 Logaddexp Logaddexp2 Logdet LogicalAnd LogicalNot LogicalOr LogicalXor
    LogSigmoid LogSoftmax Logspace Logsumexp Lstsq LuFactor MapCoordinates Matmul MatrixRank Max Maximum MaxPool Mean
    Median Meshgrid Min Minimum Mod Moments Moveaxis MultiHot Multiply Nanargmax Nanargmin Nancumprod Nancumsum Nanmax
    Nanmean Nanmedian Nanmin Nanpercentile Nanprod Nanquantile Nanstd Nansum NanToNum Nanvar Ndim Negative Nextafter
    Nonzero Norm Normalize NotEqual OneHot OnesLike Outer Pad PadImages Percentile PerspectiveTransform Pinv Polar Power
    Prod PSNR Ptp Qr Quantile Rad2deg Ravel Real Rearrange Reciprocal Relu Relu6 Repeat Reshape Resize RFFT
    RGBToGrayscale RGBToHSV RightShift RMSNorm Roll Rot90 Round Rsqrt SaturateCast ScaleAndTranslate Scatter
    ScatterUpdate SearchSorted SegmentMax SegmentMin SegmentProd SegmentSum Select Selu SeparableConv Sigmoid Sign
    Signbit Silu Sin Sinc Sinh Size Slice SliceUpdate Slogdet SobelEdges Softmax Softplus SoftShrink Softsign Solve
    SolveTriangular Sort SpaceToDepth SparseCategoricalCrossentropy Sparsemax SparsePlus SparseSigmoid Split Sqrt Square
    Squareplus Squeeze SSIM Stack Std STFT StopGradient Subtract Sum SVD Swapaxes Take TakeAlongAxis Tan Tanh TanhShrink
    Tensordot Threshold Tile TopK Trace Transpose Trapezoid Tril Triu TrueDivide Trunc Unfold Unique UnravelIndex
    Unstack Vander Var Vdot View ViewAsComplex ViewAsReal Vsplit Vstack Where ZerosLike
""")

# Initializers, regularizers, constraints, dtype policies, quantizers, seed generators.
PARTS = _names("""
    AbsMaxQuantizer AWQDTypePolicy Constant constant DTypePolicy DTypePolicyMap Float8QuantizationConfig
    FloatDTypePolicy glorot_normal glorot_uniform GlorotNormal GlorotUniform GPTQDTypePolicy he_normal he_uniform
    HeNormal HeUniform Identity identity IdentityInitializer Int4DTypePolicy Int4QuantizationConfig
    Int8QuantizationConfig L1 l1 l1_l2 L1L2 l1l2 L2 l2 lecun_normal lecun_uniform LecunNormal LecunUniform
    LossScaleOptimizer max_norm MaxNorm maxnorm min_max_norm MinMaxNorm non_neg NonNeg nonneg normal one Ones ones
    Orthogonal orthogonal orthogonal_regularizer OrthogonalInitializer OrthogonalRegularizer Policy QuantizedDTypePolicy
    QuantizedFloat8DTypePolicy radial_constraint RadialConstraint random_normal random_uniform RandomNormal
    RandomUniform SeedGenerator STFT stft STFTInitializer truncated_normal TruncatedNormal uniform unit_norm UnitNorm
    unitnorm variance_scaling VarianceScaling zero Zeros zeros
""")

# Optimizers, their schedules, losses and metrics. A file that is converted needs none, but a compiled model inside
# another is made with its own.
TRAINING = _names("""
    Accuracy Adadelta Adafactor Adagrad Adam Adamax AdamW AUC BinaryAccuracy BinaryCrossentropy BinaryFocalCrossentropy
    BinaryIoU CategoricalAccuracy CategoricalCrossentropy CategoricalFocalCrossentropy
    CategoricalGeneralizedCrossEntropy CategoricalHinge Circle CompileLoss CompileMetrics ConcordanceCorrelation
    CosineDecay CosineDecayRestarts CosineSimilarity CTC Dice ExponentialDecay F1Score FalseNegatives FalsePositives
    FBetaScore Ftrl Hinge Huber InverseTimeDecay IoU KLDivergence Lamb Lion LogCosh LogCoshError LossFunctionWrapper
    LossScaleOptimizer Mean MeanAbsoluteError MeanAbsolutePercentageError MeanIoU MeanMetricWrapper MeanRelativeError
    MeanSquaredError MeanSquaredLogarithmicError MeanTensor MetricsList MultiOptimizer Muon Nadam OneHotIoU
    OneHotMeanIoU PearsonCorrelation PiecewiseConstantDecay Poisson PolynomialDecay Precision PrecisionAtRecall R2Score
    Recall RecallAtPrecision RMSprop RootMeanSquaredError ScheduleFreeAdamW SensitivityAtSpecificity SGD
    SparseCategoricalAccuracy SparseCategoricalCrossentropy SparseTopKCategoricalAccuracy SpecificityAtSensitivity
    SquaredHinge Sum TopKCategoricalAccuracy TrueNegatives TruePositives Tversky
""")

# Values that JSON has no words for. They hold no class.
MARKERS = _names("__bytes__ __ellipsis__ __keras_tensor__ __numpy__ __slice__ __tensor__ __tuple__ TensorShape")

CLASSES = MODELS | CELLS | LAYERS | OPERATIONS | PARTS | TRAINING | MARKERS

# Functions, by the names in configurations. Advanced activations are layers, and may be named so too.
ACTIVATIONS = _names("""
    celu elu exponential gelu glu hard_shrink hard_sigmoid hard_silu hard_swish hard_tanh leaky_relu linear log_sigmoid
    log_softmax mish relu relu6 selu sigmoid silu soft_shrink softmax softplus softsign sparse_plus sparse_sigmoid
    sparsemax squareplus swish tanh tanh_shrink threshold
""")

# Losses and metrics, by their names and short names.
OBJECTIVES = _names("""
    accuracy AUC auc BCE bce binary_accuracy binary_crossentropy binary_focal_crossentropy binary_io_u
    categorical_accuracy categorical_crossentropy categorical_focal_crossentropy categorical_generalized_cross_entropy
    categorical_hinge circle concordance_correlation cosine_similarity CTC ctc dice f1_score f_beta_score
    false_negatives false_positives hinge huber io_u kl_divergence KLD kld kullback_leibler_divergence log_cosh
    log_cosh_error logcosh MAE mae MAPE mape mean mean_absolute_error mean_absolute_percentage_error mean_io_u
    mean_metric_wrapper mean_squared_error mean_squared_logarithmic_error metric MSE mse MSLE msle one_hot_io_u
    one_hot_mean_io_u pearson_correlation poisson precision precision_at_recall r2_score recall recall_at_precision
    root_mean_squared_error sensitivity_at_specificity sparse_categorical_accuracy sparse_categorical_crossentropy
    sparse_top_k_categorical_accuracy specificity_at_sensitivity squared_hinge sum top_k_categorical_accuracy
    true_negatives true_positives tversky
""")

# Functions of `keras.ops` that an Activation layer may apply.
UNARY_OPS = _names("""
    abs absolute arccos arccosh arcsin arcsinh arctan arctanh cbrt ceil cos cosh erf erfinv exp exp2 expm1 floor
    identity log log10 log1p log2 logical_not negative reciprocal round rsqrt sign sin sinc sinh sqrt square tan trunc
""")

FUNCTIONS = ACTIVATIONS | OBJECTIVES | UNARY_OPS

# Where Keras's own classes and functions live, in any release: the first part of the path behind `keras.` and `src.`.
CLASS_MODULES = _names("""
    activations applications constraints dtype_policies engine initializers layers legacy losses metrics
    mixed_precision models ops optimizers quantizers random regularizers trainers
""")
FUNCTION_MODULES = _names("activations losses metrics ops")

# The layers that stand for a call of TensorFlow's API, with the key that says of what.
CALLS = {
    "TFOpLambda": "function", "SlicingOpLambda": "function", "ClassMethod": "method_name",
    "InstanceMethod": "attr_name", "InstanceProperty": "attr_name", "TensorFlowOpLayer": "node_def",
}  # fmt: skip
# The methods and properties of ragged and sparse tensors that tf-keras writes.
RAGGED_CONSTRUCTORS = _names("""
    from_nested_row_lengths from_nested_row_splits from_nested_value_rowids from_row_lengths from_row_limits
    from_row_splits from_row_starts from_sparse from_tensor from_uniform_row_length from_value_rowids
""")
TENSOR_METHODS = _names("""
    bounding_shape merge_dims nested_row_lengths nested_value_rowids nrows row_lengths row_limits row_starts to_sparse
    to_tensor value_rowids with_flat_values with_row_splits_dtype with_values
""")
TENSOR_PROPERTIES = _names("dense_shape flat_values indices nested_row_splits row_splits values")

# The functions of TensorFlow's API that a TFOpLambda or SlicingOpLambda layer may call, by namespace ("" is `tf`).
# None reads or writes a file, decodes a format, loads a library, takes a function, or changes the process.
_BY_NAMESPACE = {
    "": """
        abs add add_n argmax argmin argsort as_string batch_to_space bitcast boolean_mask broadcast_to cast clip_by_norm
        clip_by_value complex concat convert_to_tensor cumsum depth_to_space divide dynamic_partition dynamic_stitch
        einsum ensure_shape equal exp expand_dims extract_volume_patches eye fill floor floor_div gather gather_nd
        greater greater_equal histogram_fixed_width histogram_fixed_width_bins identity identity_n less less_equal
        linspace logical_and logical_not logical_or matmul maximum meshgrid minimum multiply negative norm not_equal
        one_hot ones ones_like pad pow range rank realdiv reduce_all reduce_any reduce_logsumexp reduce_max reduce_mean
        reduce_min reduce_prod reduce_sum repeat reshape reverse reverse_sequence roll round saturate_cast scalar_mul
        scatter_nd searchsorted sequence_mask shape shape_n sigmoid sign sin size slice sort space_to_batch
        space_to_batch_nd space_to_depth split sqrt square squeeze stack stop_gradient strided_slice subtract tan tanh
        tensor_scatter_nd_add tensor_scatter_nd_max tensor_scatter_nd_min tensor_scatter_nd_sub tensor_scatter_nd_update
        tensordot tile transpose truediv truncatediv truncatemod unique unique_with_counts unravel_index unstack where
        zeros zeros_like
    """,
    "__operators__": """
        add eq getitem ne ragged_getitem
    """,
    "bitwise": """
        bitwise_and bitwise_or bitwise_xor invert left_shift right_shift
    """,
    "dtypes": """
        cast complex saturate_cast
    """,
    "image": """
        adjust_brightness adjust_contrast adjust_gamma adjust_hue adjust_saturation central_crop
        combined_non_max_suppression convert_image_dtype crop_and_resize crop_to_bounding_box extract_glimpse
        extract_patches flip_left_right flip_up_down grayscale_to_rgb hsv_to_rgb image_gradients non_max_suppression
        non_max_suppression_overlaps non_max_suppression_padded non_max_suppression_with_scores pad_to_bounding_box
        per_image_standardization psnr random_brightness random_contrast random_crop random_flip_left_right
        random_flip_up_down random_hue random_saturation resize resize_with_crop_or_pad resize_with_pad rgb_to_grayscale
        rgb_to_hsv rgb_to_yiq rgb_to_yuv rot90 sample_distorted_bounding_box sobel_edges ssim ssim_multiscale
        stateless_random_brightness stateless_random_contrast stateless_random_crop stateless_random_flip_left_right
        stateless_random_flip_up_down stateless_random_hue stateless_random_saturation
        stateless_sample_distorted_bounding_box total_variation transpose yiq_to_rgb yuv_to_rgb
    """,
    "keras.activations": """
        elu exponential gelu hard_sigmoid linear mish relu selu sigmoid softmax softplus softsign swish tanh
    """,
    "keras.backend": """
        abs all any arange argmax argmin batch_dot batch_flatten batch_normalization bias_add cast clip concatenate
        conv1d conv2d conv2d_transpose conv3d cos cumprod cumsum depthwise_conv2d dot elu equal exp expand_dims flatten
        function gather greater greater_equal hard_sigmoid in_test_phase in_top_k in_train_phase l2_normalize
        learning_phase learning_phase_scope less less_equal local_conv1d local_conv2d log manual_variable_initialization
        max maximum mean min minimum ndim normalize_batch_in_training not_equal one_hot ones_like permute_dimensions
        placeholder pool2d pool3d pow print_tensor prod random_binomial relu repeat repeat_elements reset_uids reshape
        resize_images resize_volumes reverse round separable_conv2d set_learning_phase shape sigmoid sign sin softmax
        softplus softsign spatial_2d_padding spatial_3d_padding sqrt square squeeze stack std stop_gradient sum tanh
        temporal_padding tile to_dense transpose var zeros_like
    """,
    "linalg": """
        adjoint band_part banded_triangular_solve cholesky cholesky_solve cross det diag diag_part eig eigh
        eigh_tridiagonal eigvals eigvalsh einsum expm eye global_norm inv l2_normalize logdet logm lstsq lu
        lu_matrix_inverse lu_reconstruct lu_solve matmul matrix_rank matrix_transpose matvec norm normalize pinv qr
        set_diag slogdet solve sqrtm svd tensor_diag tensor_diag_part tensordot trace triangular_solve
        tridiagonal_matmul tridiagonal_solve
    """,
    "math": """
        abs accumulate_n acos acosh add add_n angle approx_max_k approx_min_k argmax argmin asin asinh atan atan2 atanh
        bessel_i0 bessel_i0e bessel_i1 bessel_i1e betainc bincount ceil confusion_matrix conj cos cosh count_nonzero
        cumprod cumsum cumulative_logsumexp digamma divide divide_no_nan equal erf erfc erfcinv erfinv exp expm1 floor
        floordiv floormod greater greater_equal igamma igammac imag in_top_k invert_permutation is_finite is_inf is_nan
        is_non_decreasing is_strictly_increasing l2_normalize lbeta less less_equal lgamma log log1p log_sigmoid
        log_softmax logical_and logical_not logical_or logical_xor maximum minimum mod multiply multiply_no_nan ndtri
        negative nextafter not_equal polygamma polyval pow real reciprocal reciprocal_no_nan reduce_all reduce_any
        reduce_euclidean_norm reduce_logsumexp reduce_max reduce_mean reduce_min reduce_prod reduce_std reduce_sum
        reduce_variance rint round rsqrt scalar_mul segment_max segment_mean segment_min segment_prod segment_sum
        sigmoid sign sin sinh softmax softplus softsign sqrt square squared_difference subtract tan tanh top_k truediv
        unsorted_segment_max unsorted_segment_mean unsorted_segment_min unsorted_segment_prod unsorted_segment_sqrt_n
        unsorted_segment_sum xdivy xlog1py xlogy zero_fraction zeta
    """,
    "nn": """
        approx_max_k approx_min_k atrous_conv2d atrous_conv2d_transpose avg_pool avg_pool1d avg_pool2d avg_pool3d
        batch_norm_with_global_normalization batch_normalization bias_add conv1d conv1d_transpose conv2d
        conv2d_transpose conv3d conv3d_transpose conv_transpose convolution crelu depth_to_space depthwise_conv2d
        depthwise_conv2d_backprop_input dilation2d dropout elu embedding_lookup erosion2d fractional_avg_pool
        fractional_max_pool gelu in_top_k l2_loss l2_normalize leaky_relu local_response_normalization log_poisson_loss
        log_softmax lrn max_pool max_pool1d max_pool2d max_pool3d max_pool_with_argmax moments normalize_moments pool
        relu relu6 selu separable_conv2d sigmoid sigmoid_cross_entropy_with_logits silu softmax
        softmax_cross_entropy_with_logits softplus softsign space_to_batch space_to_depth
        sparse_softmax_cross_entropy_with_logits sufficient_statistics swish tanh top_k
        weighted_cross_entropy_with_logits weighted_moments zero_fraction
    """,
    "quantization": """
        dequantize fake_quant_with_min_max_args fake_quant_with_min_max_args_gradient fake_quant_with_min_max_vars
        fake_quant_with_min_max_vars_gradient fake_quant_with_min_max_vars_per_channel
        fake_quant_with_min_max_vars_per_channel_gradient quantize quantize_and_dequantize quantize_and_dequantize_v2
    """,
    "ragged": """
        boolean_mask cross cross_hashed range row_splits_to_segment_ids segment_ids_to_row_splits stack
        stack_dynamic_partitions
    """,
    "random": """
        categorical fold_in gamma normal poisson shuffle split stateless_binomial stateless_categorical stateless_gamma
        stateless_normal stateless_parameterized_truncated_normal stateless_poisson stateless_truncated_normal
        stateless_uniform truncated_normal uniform
    """,
    "signal": """
        dct fft fft2d fft3d fftnd fftshift frame hamming_window hann_window idct ifft ifft2d ifft3d ifftnd ifftshift
        inverse_mdct inverse_stft irfft irfft2d irfft3d irfftnd kaiser_bessel_derived_window kaiser_window
        linear_to_mel_weight_matrix mdct mfccs_from_log_mel_spectrograms overlap_and_add rfft rfft2d rfft3d rfftnd stft
        vorbis_window
    """,
    "sparse": """
        add bincount concat cross cross_hashed expand_dims eye fill_empty_rows from_dense mask maximum minimum
        reduce_max reduce_sum reorder reset_shape reshape retain sampled_addmm segment_mean segment_sqrt_n segment_sum
        slice softmax sparse_dense_matmul split to_dense to_indicator transpose
    """,
    "strings": """
        as_string bytes_split join length lower ngrams reduce_join regex_full_match regex_replace split strip substr
        to_hash_bucket to_hash_bucket_fast to_hash_bucket_strong to_number unicode_decode unicode_decode_with_offsets
        unicode_encode unicode_script unicode_split unicode_split_with_offsets unicode_transcode unsorted_segment_join
        upper
    """,
}
TENSORFLOW_FUNCTIONS = frozenset(
    f"{namespace}.{name}" if namespace else name for namespace, names in _BY_NAMESPACE.items() for name in names.split()
)

# The ops that a TensorFlowOpLayer may stand for. They take no handle, no function and no name of a file.
TENSORFLOW_OPS = _names("""
    Abs AccumulateNV2 Acos Acosh Add AddN AddV2 AdjustContrastv2 AdjustHue AdjustSaturation All Angle Any
    ApproximateEqual ArgMax ArgMin Asin Asinh AsString Atan Atan2 Atanh AvgPool AvgPool3D BatchMatMul BatchMatMulV2
    BatchMatMulV3 BatchMatrixBandPart BatchMatrixDiag BatchMatrixDiagPart BatchMatrixSetDiag
    BatchNormWithGlobalNormalization BatchToSpace BatchToSpaceND BiasAdd BiasAddGrad BiasAddV1 Bincount Bitcast
    BitwiseAnd BitwiseOr BitwiseXor BroadcastArgs BroadcastGradientArgs BroadcastTo Bucketize Cast Ceil Cholesky
    ClipByValue CombinedNonMaxSuppression Complex ComplexAbs Concat ConcatOffset ConcatV2 Conj ConjugateTranspose Conv2D
    Conv2DBackpropInput Conv3D Conv3DBackpropInputV2 Cos Cosh CropAndResize Cross Cumprod Cumsum CumulativeLogsumexp
    DataFormatDimMap DataFormatVecPermute DenseBincount DepthToSpace DepthwiseConv2dNative Diag DiagPart Dilation2D Div
    DivNoNan DynamicPartition DynamicStitch Einsum Elu EluGrad EnsureShape Equal Erf Erfc Erfinv EuclideanNorm Exp
    ExpandDims Expm1 ExtractImagePatches FakeQuantWithMinMaxArgs FakeQuantWithMinMaxVars
    FakeQuantWithMinMaxVarsPerChannel FFT FFT2D FFT3D Fill Floor FloorDiv FloorMod FusedBatchNorm FusedBatchNormV2
    FusedBatchNormV3 Gather GatherNd GatherV2 Greater GreaterEqual GRUBlockCell HistogramFixedWidth HSVToRGB Identity
    IdentityN IFFT IFFT2D IFFT3D Imag ImageProjectiveTransformV2 ImageProjectiveTransformV3 InTopK InTopKV2 Inv Invert
    InvertPermutation InvGrad IRFFT IRFFT2D IRFFT3D IsFinite IsInf IsNan L2Loss LeakyRelu LeakyReluGrad LeftShift Less
    LessEqual Lgamma LinSpace ListDiff Log Log1p LogicalAnd LogicalNot LogicalOr LogMatrixDeterminant LogSoftmax
    LowerBound LRN LSTMBlockCell MatMul MatrixBandPart MatrixDeterminant MatrixDiag MatrixDiagPart MatrixDiagPartV2
    MatrixDiagPartV3 MatrixDiagV2 MatrixDiagV3 MatrixInverse MatrixSetDiag MatrixSetDiagV2 MatrixSetDiagV3 MatrixSolve
    MatrixTriangularSolve Max Maximum MaxPool MaxPool3D MaxPoolV2 MaxPoolWithArgmax Mean Min Minimum MirrorPad
    MirrorPadGrad Mod Mul MulNoNan Ndtri Neg NextAfter NonMaxSuppression NonMaxSuppressionV2 NonMaxSuppressionV3
    NonMaxSuppressionV4 NonMaxSuppressionV5 NonMaxSuppressionWithOverlaps NotEqual NthElement OneHot OnesLike Pack Pad
    PadV2 PopulationCount Pow PreventGradient Prod QuantizeAndDequantize QuantizeAndDequantizeV2 QuantizeAndDequantizeV3
    QuantizeAndDequantizeV4 Range Rank Real RealDiv Reciprocal ReciprocalGrad Relu Relu6 Relu6Grad ReluGrad Reshape
    ResizeArea ResizeBicubic ResizeBilinear ResizeNearestNeighbor Reverse ReverseSequence ReverseV2 RFFT RFFT2D RFFT3D
    RGBToHSV RightShift Rint Roll Round Rsqrt RsqrtGrad ScaleAndTranslate ScatterNd ScatterNdNonAliasingAdd SegmentMax
    SegmentMean SegmentMin SegmentProd SegmentSum Select SelectV2 Selu SeluGrad Shape ShapeN Sigmoid SigmoidGrad Sign
    Sin Sinh Size Slice Softmax SoftmaxCrossEntropyWithLogits Softplus SoftplusGrad Softsign SoftsignGrad SpaceToBatch
    SpaceToBatchND SpaceToDepth SparseSoftmaxCrossEntropyWithLogits Split SplitV Sqrt SqrtGrad Square SquaredDifference
    Squeeze StopGradient StridedSlice StridedSliceGrad StringJoin StringLength StringLower StringStrip StringUpper Sub
    Sum Tan Tanh TanhGrad TensorScatterAdd TensorScatterMax TensorScatterMin TensorScatterSub TensorScatterUpdate
    TensorStridedSliceUpdate Tile TopK TopKV2 Transpose TruncateDiv TruncateMod Unique UniqueV2 UniqueWithCounts
    UniqueWithCountsV2 Unpack UnravelIndex UnsortedSegmentMax UnsortedSegmentMin UnsortedSegmentProd UnsortedSegmentSum
    UpperBound Where Xdivy Xlog1py Xlogy ZerosLike
""")

# What Keras has and a file may not use, with what it would do.
REFUSED = {
    "Lambda": "whose code would run on this machine",
    "TorchModuleWrapper": "whose code would run on this machine",
    "JaxLayer": "whose code would run on this machine",
    "FlaxLayer": "whose code would run on this machine",
    "TFSMLayer": "which would load a SavedModel from this machine",
    "DenseFeatures": "whose columns may read files",
    "SequenceFeatures": "whose columns may read files",
}
